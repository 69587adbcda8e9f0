#include "stats_table.h"

#include <inttypes.h>

static void print_row(FILE *to, const char *name, const char *node,
                      const struct morsel_worker_figures *w)
{
    fprintf(to,
            "%6s %4s %14" PRIu64 " %7" PRIu64 " %7" PRIu64 " %14" PRIu64 " %11" PRIu64
            " %11" PRIu64,
            name, node, w->morsels_local, w->morsels_socket, w->morsels_remote, w->rows_local,
            w->rows_socket, w->rows_remote);
    fprintf(to, " %10" PRIu64 " %5" PRIu64 " %5" PRIu64 " %6" PRIu64 " %9.3f %8.3f %8.3f",
            w->steals_smt, w->steals_l3, w->steals_node, w->steals_remote, w->busy_seconds,
            w->search_seconds, w->parked_seconds);
    fprintf(to, " %12" PRIu64 " %8.3f %8" PRIu64 " %8.3f\n", w->credit_waits,
            w->credit_wait_seconds, w->io_waits, w->io_wait_seconds);
}

static void add(struct morsel_worker_figures *all, const struct morsel_worker_figures *w)
{
    all->morsels_local += w->morsels_local;
    all->morsels_socket += w->morsels_socket;
    all->morsels_remote += w->morsels_remote;
    all->rows_local += w->rows_local;
    all->rows_socket += w->rows_socket;
    all->rows_remote += w->rows_remote;
    all->steals_smt += w->steals_smt;
    all->steals_l3 += w->steals_l3;
    all->steals_node += w->steals_node;
    all->steals_remote += w->steals_remote;
    all->busy_seconds += w->busy_seconds;
    all->search_seconds += w->search_seconds;
    all->parked_seconds += w->parked_seconds;
    all->credit_waits += w->credit_waits;
    all->credit_wait_seconds += w->credit_wait_seconds;
    all->io_waits += w->io_waits;
    all->io_wait_seconds += w->io_wait_seconds;
}

void stats_table_print(FILE *to, const struct morsel_worker_figures *workers, uint32_t count)
{
    struct morsel_worker_figures all = {0};

    fputs("worker node  morsels local  socket  remote     rows local      socket      remote"
          " steals smt    l3  node remote    busy s search s   park s credit waits        s"
          " io waits        s\n",
          to);
    for (uint32_t i = 0; i < count; i++) {
        char name[12], node[12];
        snprintf(name, sizeof name, "%" PRIu32, workers[i].worker);
        snprintf(node, sizeof node, "%" PRIu32, workers[i].node);
        print_row(to, name, node, &workers[i]);
        add(&all, &workers[i]);
    }
    print_row(to, "all", "", &all);
}

#ifndef CLIENT_CLI_STATS_TABLE_H
#define CLIENT_CLI_STATS_TABLE_H

#include "morsel.h"

#include <stdio.h>

/* --stats: what every worker did for a job, a row each, and their sum. Morsels and rows by where
 * the rows were, steals by level, seconds of work, search and sleep, and what waited. */
void stats_table_print(FILE *to, const struct morsel_worker_figures *workers, uint32_t count);

#endif

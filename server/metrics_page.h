#ifndef METRICS_PAGE_H
#define METRICS_PAGE_H

#include "metrics.h"

#include "exec/exec.h"

/* The text of /metrics (Prometheus text format 0.0.4). Any thread; takes no lock of the engine or
 * of the loop. Returns malloc'd text, NULL: no memory. */
char *metrics_page_render(const struct metrics *metrics, const struct exec_engine *engine,
                          size_t *size_out);

#endif

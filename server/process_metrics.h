#ifndef PROCESS_METRICS_H
#define PROCESS_METRICS_H

#include <stdio.h>

/* The process_* families every Prometheus client has, read from /proc at each scrape. */
void process_metrics_render(FILE *page);

#endif

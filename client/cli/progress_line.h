#ifndef CLIENT_CLI_PROGRESS_LINE_H
#define CLIENT_CLI_PROGRESS_LINE_H

#include "cli_options.h"
#include "job_source.h"

/* One line on stderr that is drawn over: shown after half a second, ten times a second at most, and
 * wiped before anything else is written. */

struct progress_line {
    bool enabled, drawn;
    uint64_t started_ns, drawn_ns;
};

void progress_line_init(struct progress_line *line, enum cli_when when, bool quiet);
bool progress_line_due(const struct progress_line *line);
void progress_line_draw(struct progress_line *line, const struct source_progress *progress,
                        uint64_t result_rows);
void progress_line_wipe(struct progress_line *line);

#endif

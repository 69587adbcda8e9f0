#include "progress_line.h"
#include "grpc_channel.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_MS = 500, EVERY_MS = 100 };

void progress_line_init(struct progress_line *line, enum cli_when when, bool quiet)
{
    const char *term = getenv("TERM");
    const bool terminal =
        isatty(STDERR_FILENO) != 0 && term != NULL && strcmp(term, "dumb") != 0 && !quiet;

    *line = (struct progress_line){
        .enabled = when == WHEN_ALWAYS || (when == WHEN_AUTO && terminal),
        .started_ns = grpc_clock_ns(),
    };
}

bool progress_line_due(const struct progress_line *line)
{
    const uint64_t now = grpc_clock_ns();

    return line->enabled && now - line->started_ns >= FIRST_MS * UINT64_C(1000000) &&
           now - line->drawn_ns >= EVERY_MS * UINT64_C(1000000);
}

void progress_line_draw(struct progress_line *line, const struct source_progress *progress,
                        uint64_t result_rows)
{
    const double seconds = (double)(grpc_clock_ns() - line->started_ns) / 1e9;
    char share[16] = "";

    if (progress->rows_total > 0) {
        const uint64_t percent = progress->rows_done * 100 / progress->rows_total;
        snprintf(share, sizeof share, "%3" PRIu64 " %%  ", percent > 100 ? 100 : percent);
    }
    fprintf(stderr, "\r\033[K%s%" PRIu64 " rows read, %" PRIu64 " out, %.1f s, %" PRIu64 " MB",
            share, progress->rows_done, result_rows, seconds, progress->memory_bytes >> 20);
    fflush(stderr);
    line->drawn = true;
    line->drawn_ns = grpc_clock_ns();
}

void progress_line_wipe(struct progress_line *line)
{
    if (line->drawn) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
        line->drawn = false;
    }
}

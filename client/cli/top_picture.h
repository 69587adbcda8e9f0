#ifndef CLIENT_CLI_TOP_PICTURE_H
#define CLIENT_CLI_TOP_PICTURE_H

#include "morsel/v1/job_service.pb-c.h"

#include <stdio.h>

/* What `morsel top` shows: a server's figures at two moments. */

struct top_sample {
    Morsel__V1__GetServerStatusResponse *status;
    Morsel__V1__ListJobsResponse *jobs; /* those that run or wait, newest first */
};

void top_sample_free(struct top_sample *sample);

/* Rates are between `before` (all NULL: since the server's start) and `now`. `line_end` ends every
 * line ("\n"; on a terminal what clears the rest of it too). At most rows_max lines, 0: any number.
 */
void top_picture_print(FILE *to, const struct top_sample *before, const struct top_sample *now,
                       const char *line_end, uint32_t rows_max);

#endif

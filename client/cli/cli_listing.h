#ifndef CLIENT_CLI_CLI_LISTING_H
#define CLIENT_CLI_CLI_LISTING_H

#include "cli_error.h"
#include "cli_options.h"
#include "exec/types.h"

/* A short table made here (jobs, tables) in any output format. */

enum { LISTING_COLUMNS_MAX = 8 };

struct listing_cell {
    int64_t number;   /* of an int64 column */
    const char *text; /* of a utf8 column; borrowed until listing_print */
};

struct listing {
    const struct exec_field *fields; /* utf8, int64 or timestamp */
    uint32_t column_count;
    struct listing_cell (*cells)[LISTING_COLUMNS_MAX];
    uint64_t row_count, row_room;
};

void listing_init(struct listing *listing, const struct exec_field *fields, uint32_t column_count);
/* A new row to fill in. */
struct listing_cell *listing_row(struct listing *listing);
/* Writes it as the options ask, and frees it. */
enum cli_exit listing_print(struct listing *listing, const struct cli_options *options);

#endif

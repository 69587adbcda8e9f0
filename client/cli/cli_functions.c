/* morsel help functions: what expressions may use. */
#include "cli_functions.h"
#include "exec/exec.h"
#include "sql/sql_aggregate.h"

static const char operators[] =
    "Operators and forms:\n"
    "  + - * / % ||   = <> < <= > >=   AND OR NOT   LIKE ILIKE   IN (...)   BETWEEN x AND y\n"
    "  IS [NOT] NULL   IS [NOT] TRUE|FALSE   IS [NOT] DISTINCT FROM   CASE WHEN x THEN y ELSE z "
    "END\n"
    "  x::TYPE or cast(x AS TYPE)   nullif(x, y)   extract(year FROM t)   substring(x FROM n FOR "
    "m)\n"
    "  date '2024-01-31'   timestamp '2024-01-31 12:00:00'   'it''s a text'   \"Column With "
    "Blanks\"\n\n";

static void print_aggregates(FILE *to)
{
    fputs("Aggregates (count() counts rows; each takes a FILTER (WHERE ...)):\n ", to);
    for (uint32_t i = 0; sql_aggregate_name(i) != NULL; i++) {
        fprintf(to, " %s", sql_aggregate_name(i));
    }
    fputs("\n\n", to);
}

static void print_types(FILE *to)
{
    fputs("Types (of casts and --types):\n ", to);
    for (int kind = EXEC_TYPE_NONE + 1; kind < EXEC_TYPE_COUNT; kind++) {
        char text[EXEC_TYPE_TEXT_BYTES];
        const struct exec_type type = {.kind = (uint8_t)kind};
        if (kind == EXEC_TYPE_DECIMAL128) {
            fputs(" decimal(DIGITS,SCALE)", to);
        } else if (kind == EXEC_TYPE_TIMESTAMP) {
            fputs(" timestamp[s|ms|us|ns] timestamp[us,UTC]", to);
        } else {
            fprintf(to, " %s", exec_type_text(&type, text));
        }
    }
    fputs("\n", to);
}

void cli_functions_print(FILE *to)
{
    struct exec_function_info info;

    fputs(operators, to);
    print_aggregates(to);
    fputs("Functions (NULL in, NULL out unless told):\n", to);
    for (uint32_t i = 0; exec_function_info(i, &info); i++) {
        char count[32] = "";
        if (info.args_max == 0) {
            snprintf(count, sizeof count, "%u..", info.args_min);
        } else if (info.args_max > info.args_min) {
            snprintf(count, sizeof count, "%u-%u", info.args_min, info.args_max);
        } else {
            snprintf(count, sizeof count, "%u", info.args_min);
        }
        fprintf(to, "  %-20s %-4s %s\n", info.name, count, info.help);
    }
    fputs("\n", to);
    print_types(to);
}

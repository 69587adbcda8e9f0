#ifndef EXEC_EXPR_REGEX_H
#define EXEC_EXPR_REGEX_H

#include "exec/error.h"
#include "expr/expr_node.h"

/* Regular expressions, by PCRE2 (libpcre2-8), which no other file includes: its allocator is ours,
 * so that a compiled pattern lives in the arena of the plan, needs no destructor and is charged to
 * the job, and a search takes its stack from the worker's scratch. Without its just-in-time
 * compiler: the daemon may not make pages executable.
 *
 * Syntax is Perl's without \C; \d, \w and \s are ASCII, '.' does not match a line's end, '$' only
 * the end of the text, as in RE2. Backtracking can take exponential time, so a search is given
 * REGEX_STEPS_MAX steps for a text, wherever it starts, and then fails: same pattern, same text,
 * same answer on every machine. */

enum {
    REGEX_STEPS_MAX = 1000000, /* pattern items tried, some 10 ms */
    REGEX_PATTERN_BYTES_MAX = 10000,
};

enum regex_kind {
    REGEX_SEARCH,  /* matches somewhere in the text */
    REGEX_WHOLE,   /* matches the whole text */
    REGEX_SIMILAR, /* the whole text, in the language of SQL's SIMILAR TO */
};

struct regex;

/* The pattern in the language of `kind`; `options`: any of "i" (either case), "c" (as it is), "s"
 * ('.' matches a line's end), "m" ('^' and '$' match at lines), or for REGEX_SIMILAR its escape
 * character, NULL: the default. EXEC_BAD_SPEC with the byte of the pattern that is wrong, or
 * EXEC_MEMORY_BUDGET. */
enum exec_code regex_compile(struct nu_arena *arena, enum regex_kind kind,
                             const struct string_view *pattern, const struct string_view *options,
                             const struct regex **regex_out, struct exec_error *err);

/* What one worker needs to search with it, in its scratch; NULL: out of memory. */
struct regex_search *regex_search_make(struct nu_arena *scratch, const struct regex *regex);

enum regex_answer { REGEX_NO, REGEX_YES, REGEX_TOO_MANY_STEPS, REGEX_NO_MEMORY };
enum regex_answer regex_search(struct regex_search *search, const char *text, size_t text_bytes);

/* Kernel of regexp_matches and its kin: expr->prepared is the struct regex. */
expr_kernel_fn regex_call;

#endif

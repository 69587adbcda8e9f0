#include "expr/regex.h"
#include "vec/string_view.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>

struct regex {
    const pcre2_code *code;
    uint32_t match_options;
};

struct regex_search {
    const struct regex *regex;
    pcre2_match_data *data;
    pcre2_match_context *context;
    uint32_t steps;
};

enum {
    HEAP_KIB_MAX = 4096, /* of backtracking, for one search */
    PCRE_STEPS_MAX = 2 * REGEX_STEPS_MAX,
};

/* ---- memory: arenas only, nothing is given back alone */

static void *take(PCRE2_SIZE bytes, void *owner)
{
    return nu_arena_alloc(owner, bytes == 0 ? 1 : bytes, 16);
}

static void keep(void *memory, void *owner)
{
    (void)memory;
    (void)owner;
}

static pcre2_general_context *memory_of(struct nu_arena *arena)
{
    return pcre2_general_context_create(take, keep, arena);
}

/* ---- SIMILAR TO as a regular expression */

struct translation {
    char *bytes;
    size_t at;
};

static void put(struct translation *to, const char *text)
{
    const size_t size = strlen(text);

    memcpy(to->bytes + to->at, text, size);
    to->at += size;
}

static void put_char(struct translation *to, char c)
{
    to->bytes[to->at++] = c;
}

static bool is_special(char c)
{
    return c != '\0' && strchr(".^$\\|*+?{}()[]-", c) != NULL;
}

static void put_literally(struct translation *to, char c)
{
    if (is_special(c)) {
        put_char(to, '\\');
    }
    put_char(to, c);
}

/* One character outside of brackets. */
static void put_similar(struct translation *to, char c)
{
    switch (c) {
        case '%': put(to, "(?s:.*)"); break;
        case '_': put(to, "(?s:.)"); break;
        case '(': put(to, "(?:"); break; /* groups capture nothing */
        case '.':
        case '^':
        case '$':
        case '\\': put_literally(to, c); break;
        default: put_char(to, c);
    }
}

/* The escape character as bytes; size 0: none. False: it is more than one character. */
static bool escape_of(const struct string_view *options, struct string_view *escape_out)
{
    *escape_out = string_view_make("\\", 1);
    if (options != NULL) {
        *escape_out = *options;
    }
    return escape_out->size <= 1;
}

static enum exec_code translate(struct nu_arena *arena, const struct string_view *pattern,
                                const struct string_view *options, struct translation *to,
                                struct exec_error *err)
{
    const char *text = string_view_bytes(pattern);
    struct string_view escape;
    bool in_brackets = false;

    if (!escape_of(options, &escape)) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "similar_to: the escape is one ASCII character");
    }
    *to = (struct translation){.bytes = nu_arena_alloc(arena, 8 * (size_t)pattern->size + 8, 1)};
    if (to->bytes == NULL) {
        return expr_no_memory(arena, err);
    }
    for (uint32_t i = 0; i < pattern->size; i++) {
        const char c = text[i];
        if (escape.size == 1 && c == string_view_bytes(&escape)[0]) {
            if (++i == pattern->size) {
                return EXEC_FAIL(err, EXEC_BAD_SPEC, "similar_to: the pattern ends in its escape");
            }
            put_literally(to, text[i]);
        } else if (in_brackets) {
            in_brackets = c != ']';
            if (c == '\\' || (c == '[' && i + 1 < pattern->size && text[i + 1] != ':')) {
                put_char(to, '\\');
            }
            put_char(to, c);
        } else {
            in_brackets = c == '[';
            put_similar(to, c);
        }
    }
    return EXEC_OK;
}

/* ---- compiling */

static enum exec_code read_options(const struct string_view *options, uint32_t *flags,
                                   struct exec_error *err)
{
    const char *text = options == NULL ? "" : string_view_bytes(options);

    for (uint32_t i = 0; options != NULL && i < options->size; i++) {
        switch (text[i]) {
            case 'i': *flags |= PCRE2_CASELESS; break;
            case 'c': *flags &= ~PCRE2_CASELESS; break;
            case 's': *flags |= PCRE2_DOTALL; break;
            case 'm': *flags |= PCRE2_MULTILINE; break;
            default:
                return EXEC_FAIL(err, EXEC_BAD_SPEC,
                                 "regular expression: no option '%c'; i, c, s, m", text[i]);
        }
    }
    return EXEC_OK;
}

enum exec_code regex_compile(struct nu_arena *arena, enum regex_kind kind,
                             const struct string_view *pattern, const struct string_view *options,
                             const struct regex **regex_out, struct exec_error *err)
{
    /* Callouts are what counts steps. */
    uint32_t flags = PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C |
                     PCRE2_NO_AUTO_CAPTURE | PCRE2_AUTO_CALLOUT;
    struct regex *regex = nu_arena_alloc(arena, sizeof *regex, _Alignof(struct regex));
    pcre2_general_context *memory = memory_of(arena);
    const char *text = string_view_bytes(pattern);
    size_t text_bytes = pattern->size;
    enum exec_code code = EXEC_OK;
    PCRE2_SIZE place = 0;
    int failure = 0;

    if (pattern->size > REGEX_PATTERN_BYTES_MAX) {
        return EXEC_FAIL(err, EXEC_LIMIT, "regular expression: a pattern of %u bytes; at most %d",
                         pattern->size, REGEX_PATTERN_BYTES_MAX);
    }
    if (kind == REGEX_SIMILAR) {
        struct translation similar;
        code = translate(arena, pattern, options, &similar, err);
        text = similar.bytes;
        text_bytes = similar.at;
    } else {
        code = read_options(options, &flags, err);
    }
    if (code != EXEC_OK) {
        return code;
    }
    pcre2_compile_context *context = memory == NULL ? NULL : pcre2_compile_context_create(memory);
    if (regex == NULL || context == NULL) {
        return expr_no_memory(arena, err);
    }
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    pcre2_set_parens_nest_limit(context, 100);
    *regex = (struct regex){
        .code = pcre2_compile((PCRE2_SPTR)text, text_bytes, flags, &failure, &place, context),
        .match_options =
            PCRE2_NO_UTF_CHECK | (kind == REGEX_SEARCH ? 0 : PCRE2_ANCHORED | PCRE2_ENDANCHORED),
    };
    if (regex->code == NULL) {
        PCRE2_UCHAR message[120];
        if (failure == PCRE2_ERROR_HEAP_FAILED || failure == PCRE2_ERROR_NOMEMORY) {
            return expr_no_memory(arena, err);
        }
        pcre2_get_error_message(failure, message, sizeof message);
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "regular expression '%.*s': %s at byte %zu",
                         (int)(pattern->size > 80 ? 80 : pattern->size), string_view_bytes(pattern),
                         (const char *)message, (size_t)place + 1);
    }
    *regex_out = regex;
    return EXEC_OK;
}

/* ---- searching */

static int count_step(pcre2_callout_block *block, void *owner)
{
    struct regex_search *search = owner;

    (void)block;
    return ++search->steps > REGEX_STEPS_MAX ? PCRE2_ERROR_CALLOUT : 0;
}

struct regex_search *regex_search_make(struct nu_arena *scratch, const struct regex *regex)
{
    struct regex_search *search = nu_arena_alloc(scratch, sizeof *search, 16);
    pcre2_general_context *memory = memory_of(scratch);

    if (search == NULL || memory == NULL) {
        return NULL;
    }
    *search = (struct regex_search){.regex = regex,
                                    .data = pcre2_match_data_create(1, memory),
                                    .context = pcre2_match_context_create(memory)};
    if (search->data == NULL || search->context == NULL) {
        return NULL;
    }
    pcre2_set_callout(search->context, count_step, search);
    pcre2_set_match_limit(search->context, PCRE_STEPS_MAX);
    pcre2_set_heap_limit(search->context, HEAP_KIB_MAX);
    return search;
}

enum regex_answer regex_search(struct regex_search *search, const char *text, size_t text_bytes)
{
    search->steps = 0;
    const int result = pcre2_match(search->regex->code, (PCRE2_SPTR)text, text_bytes, 0,
                                   search->regex->match_options, search->data, search->context);

    switch (result) {
        case PCRE2_ERROR_NOMATCH: return REGEX_NO;
        case PCRE2_ERROR_NOMEMORY: return REGEX_NO_MEMORY;
        default: return result >= 0 ? REGEX_YES : REGEX_TOO_MANY_STEPS;
    }
}

enum exec_code regex_call(struct expr_call *call, struct exec_error *err)
{
    struct regex_search *search = regex_search_make(call->scratch, call->expr->prepared);
    uint8_t *out = call->out;

    if (search == NULL) {
        return expr_no_memory(call->scratch, err);
    }
    for (uint32_t p = 0; p < call->count; p++) {
        const uint32_t row = expr_call_row(call, p);
        const struct string_view *text = expr_arg_view(&call->args[0], row);
        enum regex_answer answer;
        if (!expr_call_present(call, row)) {
            continue;
        }
        answer = regex_search(search, string_view_bytes(text), text->size);
        if (answer == REGEX_NO_MEMORY) {
            return expr_no_memory(call->scratch, err);
        }
        if (answer == REGEX_TOO_MANY_STEPS) {
            char value[EXPR_VALUE_TEXT_BYTES], pattern[EXPR_VALUE_TEXT_BYTES];
            return EXEC_FAIL(
                err, EXEC_LIMIT, "%s: the pattern %s takes more than %d steps on the text %s",
                expr_function_name(call->expr->function), expr_arg_text(call, 1, row, pattern),
                REGEX_STEPS_MAX, expr_arg_text(call, 0, row, value));
        }
        out[row] = answer == REGEX_YES;
    }
    return EXEC_OK;
}

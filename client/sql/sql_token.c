#include "sql_token.h"

#include <string.h>
#include <strings.h>

static bool is_space(char c)
{
    return c != '\0' && strchr(" \t\n\r\f\v", c) != NULL;
}

bool sql_token_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
}

const char *sql_token_spaces(const char *at)
{
    while (is_space(*at)) {
        at++;
    }
    return at;
}

const char *sql_token_quoted(const char *at, bool backslash)
{
    const char quote = *at++;

    for (; *at != '\0'; at++) {
        if (backslash && at[0] == '\\' && at[1] != '\0') {
            at++;
        } else if (at[0] == quote && at[1] == quote) {
            at++;
        } else if (at[0] == quote) {
            return at + 1;
        }
    }
    return at;
}

const char *sql_token_identifier(const char *at)
{
    while (sql_token_is_letter(*at) || (*at >= '0' && *at <= '9') || *at == '$') {
        at++;
    }
    return at;
}

/* $tag$ ... $tag$; `at`: no such text starts here. */
static const char *skip_dollars(const char *at)
{
    const char *tag_end = sql_token_is_letter(at[1]) ? at + 1 : at;

    while (tag_end > at && *tag_end != '$' && sql_token_is_letter(*tag_end)) {
        tag_end++;
    }
    tag_end = tag_end == at ? at + 1 : tag_end;
    if (*tag_end != '$') {
        return at;
    }
    const size_t tag_bytes = (size_t)(tag_end - at) + 1;
    for (const char *end = tag_end + 1; *end != '\0'; end++) {
        if (strncmp(end, at, tag_bytes) == 0) {
            return end + tag_bytes;
        }
    }
    return at + strlen(at);
}

const char *sql_token_skip(const char *at)
{
    if (*at == '\'' || *at == '"') {
        return sql_token_quoted(at, false);
    }
    if ((*at == 'e' || *at == 'E') && at[1] == '\'') {
        return sql_token_quoted(at + 1, true);
    }
    if (sql_token_is_letter(*at)) {
        return sql_token_identifier(at);
    }
    if (at[0] == '-' && at[1] == '-') {
        return at + strcspn(at, "\n");
    }
    if (at[0] == '/' && at[1] == '*') {
        const char *end = strstr(at + 2, "*/");
        return end == NULL ? at + strlen(at) : end + 2;
    }
    return *at == '$' ? skip_dollars(at) : at;
}

static const char try_word[] = "try_cast";
enum { TRY_BYTES = 4, WORD_BYTES = sizeof try_word - 1 };

void sql_token_hide_try(char *text)
{
    for (const char *at = text; *at != '\0';) {
        const char *end = sql_token_skip(at);
        if (end - at == WORD_BYTES && strncasecmp(at, try_word, WORD_BYTES) == 0 &&
            *sql_token_spaces(end) == '(') {
            memset(text + (at - text), ' ', TRY_BYTES);
        }
        at = end == at ? at + 1 : end;
    }
}

bool sql_token_was_try(const char *text, unsigned offset)
{
    return offset >= TRY_BYTES && strncasecmp(text + offset - TRY_BYTES, try_word, WORD_BYTES) == 0;
}

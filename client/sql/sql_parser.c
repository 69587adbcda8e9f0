#include "sql_parser.h"
#include "sql_token.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TREE_BYTES_MAX = 64 << 20, PATH_BYTES = 4096 };

uint32_t sql_offset(const struct sql_text *text, long location)
{
    const long prefix = (long)strlen(text->prefix), size = (long)strlen(text->text);
    const long offset = location < prefix ? 0 : location - prefix;

    return (uint32_t)(offset < size ? offset : size);
}

enum exec_code sql_fail_at(const struct sql_text *text, long location, enum exec_code code,
                           struct exec_error *err, const char *fmt, ...)
{
    const uint32_t offset = sql_offset(text, location);
    char message[400];
    va_list args;

    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    EXEC_FAIL(err, code, "%s, byte %u: %s", text->option, offset + 1, message);
    err->column = offset + 1;
    return code;
}

/* Beside our own program, or where packages put helpers. MORSEL_SQLPARSE names another one, for
 * tests and unusual installations. */
static bool helper_path(char path_out[PATH_BYTES])
{
    static const char *const places[] = {"morsel-sqlparse", "../libexec/morsel/morsel-sqlparse"};
    const char *named = getenv("MORSEL_SQLPARSE");
    char self[PATH_BYTES - 64];

    if (named != NULL) {
        snprintf(path_out, PATH_BYTES, "%s", named);
        return access(path_out, X_OK) == 0;
    }
    const ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    if (size <= 0) {
        return false;
    }
    self[size] = '\0';
    char *slash = strrchr(self, '/');
    slash[1] = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(path_out, PATH_BYTES, "%s%s", self, places[i]);
        if (access(path_out, X_OK) == 0) {
            return true;
        }
    }
    return false;
}

/* Starts the helper with a socket as its stdin and stdout. A socket, so that a helper that dies
 * early is an error of send() and not a signal. */
static int helper_start(const char *path, pid_t *pid_out)
{
    char *const argv[] = {(char *)(uintptr_t)path, NULL};
    char *const envp[] = {NULL};
    posix_spawn_file_actions_t actions;
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        return -1;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pair[1], 0);
    posix_spawn_file_actions_adddup2(&actions, pair[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    const int failed = posix_spawn(pid_out, path, &actions, NULL, argv, envp);
    posix_spawn_file_actions_destroy(&actions);
    close(pair[1]);
    if (failed != 0) {
        close(pair[0]);
        errno = failed;
        return -1;
    }
    return pair[0];
}

static void send_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        const ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent <= 0) {
            return; /* the answer, or its absence, tells */
        }
        bytes += sent;
        size -= (size_t)sent;
    }
}

static char *receive_all(int fd, size_t *size_out)
{
    size_t room = 65536, size = 0;
    char *bytes = malloc(room);

    while (bytes != NULL && size < TREE_BYTES_MAX) {
        if (size == room) {
            char *moved = realloc(bytes, room *= 2);
            if (moved == NULL) {
                break;
            }
            bytes = moved;
        }
        const ssize_t got = recv(fd, bytes + size, room - size, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            break;
        }
        size += (size_t)got;
    }
    *size_out = size;
    return bytes;
}

/* libpg_query counts characters; everything else here counts bytes. */
static long byte_of_character(const char *prefix, const char *text, long character)
{
    const char *parts[2] = {prefix, text};
    long byte = 0, seen = 0;

    for (int part = 0; part < 2; part++) {
        for (const char *at = parts[part]; *at != '\0'; at++, byte++) {
            seen += ((unsigned char)*at & 0xc0) != 0x80;
            if (seen > character) {
                return byte;
            }
        }
    }
    return byte;
}

static json_t *select_of_tree(const struct sql_text *text, json_t *tree, struct exec_error *err)
{
    json_t *error = json_object_get(tree, "error");
    json_t *statements = json_object_get(tree, "stmts");

    if (error != NULL) {
        const long character = (long)json_integer_value(json_object_get(error, "cursorpos")) - 1;
        sql_fail_at(text, byte_of_character(text->prefix, text->text, character), EXEC_BAD_SPEC,
                    err, "%s", json_string_value(json_object_get(error, "message")));
        return NULL;
    }
    if (json_array_size(statements) != 1) {
        EXEC_FAIL(err, EXEC_BAD_SPEC, "%s: one statement is expected, not %zu", text->option,
                  json_array_size(statements));
        return NULL;
    }
    json_t *select =
        json_object_get(json_object_get(json_array_get(statements, 0), "stmt"), "SelectStmt");
    if (select == NULL) {
        EXEC_FAIL(err, EXEC_BAD_SPEC,
                  "%s: only SELECT is run (morsel load, upload and drop change tables)",
                  text->option);
    }
    return select;
}

json_t *sql_parse(const struct sql_text *text, struct exec_error *err)
{
    char path[PATH_BYTES];
    pid_t pid = 0;
    int status = 0;
    size_t size = 0;

    json_t *utf8 = json_string(text->text);
    if (utf8 == NULL) {
        EXEC_FAIL(err, EXEC_BAD_SPEC, "%s: the text is not valid UTF-8", text->option);
        return NULL;
    }
    json_decref(utf8);
    if (strlen(text->text) > SQL_TEXT_BYTES_MAX) {
        EXEC_FAIL(err, EXEC_LIMIT, "%s: the text has more than %d bytes", text->option,
                  SQL_TEXT_BYTES_MAX);
        return NULL;
    }
    if (!helper_path(path)) {
        EXEC_FAIL(err, EXEC_INTERNAL, "the program morsel-sqlparse is missing beside morsel");
        return NULL;
    }
    const int fd = helper_start(path, &pid);
    if (fd < 0) {
        EXEC_FAIL_ERRNO(err, EXEC_INTERNAL, errno, "cannot run %.300s: %s", path, strerror(errno));
        return NULL;
    }
    send_all(fd, text->prefix, strlen(text->prefix));
    char *sent = strdup(text->text);
    if (sent != NULL) { /* else the answer, a syntax error, tells */
        sql_token_hide_try(sent);
        send_all(fd, sent, strlen(sent));
        free(sent);
    }
    shutdown(fd, SHUT_WR);
    char *bytes = receive_all(fd, &size);
    close(fd);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    json_error_t why = {0};
    json_t *tree = bytes == NULL ? NULL : json_loadb(bytes, size, 0, &why);
    free(bytes);
    if (WIFSIGNALED(status) || json_error_code(&why) == json_error_stack_overflow) {
        json_decref(tree);
        EXEC_FAIL(err, EXEC_LIMIT, "%s: the expression is nested too deeply to parse",
                  text->option);
        return NULL;
    }
    if (tree == NULL) {
        EXEC_FAIL(err, EXEC_LIMIT, "%s: the parser gave no usable answer (exit status %d)",
                  text->option, WEXITSTATUS(status));
        return NULL;
    }
    json_t *select = json_incref(select_of_tree(text, tree, err));
    json_decref(tree);
    return select;
}

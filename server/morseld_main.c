#include "config.h"
#include "daemon.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* morseld: flags and settings; everything else is in the library. Exit codes: 0 stopped as asked,
 * 1 could not start, 2 a flag or a setting is wrong. */

enum { EXIT_USAGE = 2 };

static const char main_default_file[] = "/etc/morseld/morseld.conf";

struct main_arguments {
    int count;
    char **values;
};

static void main_help(void)
{
    puts("usage: morseld [--config FILE] [--KEY VALUE]... [--set KEY=VALUE]...\n"
         "       morseld --check-config | --help | --version\n"
         "\n"
         "Serves joins and aggregations over gRPC. Settings come from FILE (or, when it exists,\n"
         "/etc/morseld/morseld.conf: lines of KEY = VALUE), then from the command line, where "
         "every\n"
         "key is also a flag: --data-root DIR is --set data_root=DIR. Yes/no keys need no value.\n"
         "SIGTERM drains and stops, a second signal stops at once, SIGHUP reads the settings "
         "again.\n"
         "With port 0 --port-file FILE tells which ports were taken: the gRPC port and the admin "
         "port,\n"
         "a line each.\n"
         "\n"
         "keys:");
    config_print_keys();
}

/* "--data-root" becomes "data_root". */
static bool main_key_of(const char *flag, char *key_out, size_t size)
{
    if (strncmp(flag, "--", 2) != 0 || strlen(flag + 2) >= size) {
        return false;
    }
    for (size_t i = 0; (key_out[i] = flag[i + 2]) != '\0'; i++) {
        if (key_out[i] == '-') {
            key_out[i] = '_';
        }
    }
    return true;
}

/* One setting from the command line; *used_out tells how many arguments it took. */
static enum exec_code main_take_flag(struct config *config, const struct main_arguments *arguments,
                                     int at, int *used_out, struct exec_error *err)
{
    const char *flag = arguments->values[at];
    const char *value = at + 1 < arguments->count ? arguments->values[at + 1] : NULL;
    char key[64];
    bool is_flag = false;

    *used_out = 2;
    if (strcmp(flag, "--config") == 0 || strcmp(flag, "--set") == 0) {
        if (value == NULL) {
            return EXEC_FAIL(err, EXEC_BAD_SPEC, "%s needs a value", flag);
        }
        return strcmp(flag, "--set") == 0 ? config_set_pair(config, "--set", value, err) : EXEC_OK;
    }
    if (strcmp(flag, "--check-config") == 0) {
        *used_out = 1;
        return EXEC_OK;
    }
    if (!main_key_of(flag, key, sizeof key) || !config_key_known(key, &is_flag)) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "unknown flag %s (see --help)", flag);
    }
    if (is_flag) {
        const bool has_value = value != NULL && strncmp(value, "--", 2) != 0;
        *used_out = has_value ? 2 : 1;
        return config_set(config, "command line", key, has_value ? value : "true", err);
    }
    if (value == NULL) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "%s needs a value", flag);
    }
    return config_set(config, "command line", key, value, err);
}

static const char *main_config_file(const struct main_arguments *arguments)
{
    const char *path = NULL;

    for (int i = 1; i + 1 < arguments->count; i++) {
        if (strcmp(arguments->values[i], "--config") == 0) {
            path = arguments->values[i + 1];
        }
    }
    return path != NULL || access(main_default_file, R_OK) != 0 ? path : main_default_file;
}

/* Everything from the start: built-in values, file, command line. Also what SIGHUP runs. */
static enum exec_code main_settings(void *owner, struct config *config_out, struct exec_error *err)
{
    const struct main_arguments *arguments = owner;
    const char *path = main_config_file(arguments);

    config_init(config_out);
    enum exec_code code = path != NULL ? config_read_file(config_out, path, err) : EXEC_OK;
    for (int at = 1, used = 0; code == EXEC_OK && at < arguments->count; at += used) {
        code = main_take_flag(config_out, arguments, at, &used, err);
    }
    return code == EXEC_OK ? config_check(config_out, err) : code;
}

static bool main_has(const struct main_arguments *arguments, const char *flag)
{
    for (int i = 1; i < arguments->count; i++) {
        if (strcmp(arguments->values[i], flag) == 0) {
            return true;
        }
    }
    return false;
}

/* A stream the caller closed gets /dev/null: left free, its number would go to the next socket or
 * file, and the log be written into that. */
static void main_open_missing_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0) {
            _exit(EXIT_FAILURE);
        }
    }
}

int main(int argc, char **argv)
{
    struct main_arguments arguments = {.count = argc, .values = argv};
    struct daemon_options options = {
        .signals = true, .reload = main_settings, .reload_owner = &arguments};
    struct daemon *daemon = NULL;
    struct exec_error err = {0};

    main_open_missing_streams();
    if (main_has(&arguments, "--help")) {
        main_help();
        return EXIT_SUCCESS;
    }
    if (main_has(&arguments, "--version")) {
        puts("morseld " MORSEL_VERSION);
        return EXIT_SUCCESS;
    }
    if (main_settings(&arguments, &options.config, &err) != EXEC_OK) {
        fprintf(stderr, "morseld: %s\n", err.detail);
        return EXIT_USAGE;
    }
    if (main_has(&arguments, "--check-config")) {
        char warning[CONFIG_WARNING_BYTES];
        if (config_warning(&options.config, warning)) {
            fprintf(stderr, "morseld: warning: %s\n", warning);
        }
        puts("the settings are valid");
        return EXIT_SUCCESS;
    }
    if (daemon_create(&options, &daemon, &err) != EXEC_OK) {
        fprintf(stderr, "morseld: %s\n", err.detail);
        return EXIT_FAILURE;
    }
    daemon_run(daemon);
    daemon_destroy(daemon);
    return EXIT_SUCCESS;
}

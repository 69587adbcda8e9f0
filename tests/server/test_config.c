#include "config.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Goal:   every source of settings is read right, and what is wrong is named with file, line and
 * key. Method: small files and pairs; the whole message is compared. */

static struct config config;
static struct exec_error err;

static void setup(void)
{
    config_init(&config);
}

static const char *read_text(const char *text)
{
    static char message[512];
    char path[] = "/tmp/test_config_XXXXXX";
    const int fd = mkstemp(path);

    cr_assert(fd >= 0);
    cr_assert(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    err = (struct exec_error){0};
    config_read_file(&config, path, &err);
    unlink(path);
    /* The name is random: only what follows it is compared. */
    const char *tail = strchr(err.detail, ':');
    snprintf(message, sizeof message, "%s", tail != NULL ? tail : err.detail);
    return message;
}

Test(config, built_in_values, .init = setup)
{
    cr_assert_str_eq(config.listen, "127.0.0.1:7432");
    cr_assert_eq(config.drain_timeout, 30000000000ull);
    cr_assert_eq(config.upload_batch_max, 256u << 20);
    cr_assert(!config.insecure);
    cr_assert_eq(config_check(&config, &err), EXEC_OK);
}

Test(config, file, .init = setup)
{
    cr_assert_str_eq(
        read_text("# comment\n; another\n\n[morseld]\n  workers = 3 \r\nmemory_limit=2G\n"
                  "insecure = yes\ndrain_timeout = 1500ms\ndata_root = /a b/c\n"),
        "");
    cr_assert_eq(config.workers, 3);
    cr_assert_eq(config.memory_limit, 2ull << 30);
    cr_assert(config.insecure);
    cr_assert_eq(config.drain_timeout, 1500000000ull);
    cr_assert_str_eq(config.data_root, "/a b/c");
}

Test(config, faults_name_line_and_key, .init = setup)
{
    cr_assert_str_eq(read_text("workers = 1\nwrokers = 2\n"), ":2: unknown key 'wrokers'");
    cr_assert_str_eq(read_text("\nworkers = x\n"), ":2: workers: 'x' is not a whole number");
    cr_assert_str_eq(read_text("workers = -1\n"), ":1: workers: '-1' is not a whole number");
    cr_assert_str_eq(read_text("drain_timeout = 5\n"),
                     ":1: drain_timeout: '5' is not a duration such as 500ms or 30s");
    cr_assert_str_eq(read_text("memory_limit = 99999999999T\n"),
                     ":1: memory_limit: '99999999999T' is not a size such as 512M or 4G");
    cr_assert_str_eq(read_text("insecure = maybe\n"),
                     ":1: insecure: 'maybe' is neither true nor false");
    cr_assert_str_eq(read_text("policy = fast\n"),
                     ":1: policy: 'fast' is none of numa, steal, shared, static");
    cr_assert_str_eq(read_text("probe_mode = best\n"),
                     ":1: probe_mode: 'best' is none of auto, shared, replicated, routed");
    cr_assert_str_eq(read_text("[other]\n"), ":1: unknown section [other]");
    cr_assert_str_eq(read_text("workers\n"), ":1: 'workers' is not KEY = VALUE");
    cr_assert_eq(config_read_file(&config, "/nonexistent/x", &err), EXEC_FILE_NOT_FOUND);
}

Test(config, addresses, .init = setup)
{
    char host[CONFIG_TEXT_BYTES];
    uint16_t port = 1;

    cr_assert(config_split_address("127.0.0.1:0", host, &port));
    cr_assert_eq(port, 0);
    cr_assert(config_split_address("[::1]:7432", host, &port));
    cr_assert_str_eq(host, "::1");
    cr_assert(!config_split_address("::1:7432", host, &port));
    cr_assert(!config_split_address("127.0.0.1", host, &port));
    cr_assert(!config_split_address(":80", host, &port));
    cr_assert(!config_split_address("a:65536", host, &port));
    cr_assert(!config_split_address("a:12x", host, &port));
}

Test(config, an_open_bind_needs_insecure, .init = setup)
{
    cr_assert_eq(config_set_pair(&config, "--set", "listen=0.0.0.0:7432", &err), EXEC_OK);
    cr_assert_eq(config_check(&config, &err), EXEC_BAD_SPEC);
    cr_assert(strstr(err.detail, "insecure = true") != NULL);
    cr_assert_eq(config_set_pair(&config, "--set", "insecure=true", &err), EXEC_OK);
    cr_assert_eq(config_check(&config, &err), EXEC_OK);
    cr_assert_eq(config_set_pair(&config, "--set", "listen", &err), EXEC_BAD_SPEC);
}

Test(config, reload_takes_what_it_may, .init = setup)
{
    struct config fresh;

    config_init(&fresh);
    fresh.drain_timeout = 7;
    strcpy(fresh.log_level, "debug");
    cr_assert_null(config_reload(&config, &fresh));
    cr_assert_eq(config.drain_timeout, 7);
    cr_assert_str_eq(config.log_level, "debug");
    fresh.workers = 9;
    cr_assert_str_eq(config_reload(&config, &fresh), "workers");
    cr_assert_eq(config.workers, 0);
}

Test(config, data_root_that_is_no_folder)
{
    static const struct {
        const char *path, *message;
    } cases[] = {
        {"/nonexistent", "data_root: /nonexistent: no such folder, so that no file can be read"},
        {"/dev/null", "data_root: /dev/null: not a folder, so that no file can be read"},
        {"/tmp", ""},
        {"", ""}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char warning[CONFIG_WARNING_BYTES] = "";
        config_init(&config);
        strcpy(config.data_root, cases[i].path);
        cr_expect_eq(config_warning(&config, warning), cases[i].message[0] != '\0');
        cr_expect_str_eq(warning, cases[i].message);
    }
}

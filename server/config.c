#include "config.h"

#include "proto/job_setting.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum config_type { CONFIG_text, CONFIG_count, CONFIG_size, CONFIG_duration, CONFIG_flag };

struct config_key {
    const char *name;
    enum config_type type;
    size_t offset;
    const char *fallback;
    bool reload;
    const char *help;
};

static const struct config_key config_keys[] = {
#define CONFIG_KEY(name, type, fallback, reload, help) \
    {#name, CONFIG_##type, offsetof(struct config, name), fallback, reload, help},
#include "config_keys.def"
};
enum { CONFIG_KEY_COUNT = sizeof config_keys / sizeof config_keys[0] };

/* A suffix and what it multiplies by. */
struct config_unit {
    const char *suffix;
    uint64_t factor;
};

static const struct config_unit config_size_units[] = {
    {"", 1},
    {"K", 1ull << 10},
    {"KiB", 1ull << 10},
    {"M", 1ull << 20},
    {"MiB", 1ull << 20},
    {"G", 1ull << 30},
    {"GiB", 1ull << 30},
    {"T", 1ull << 40},
    {"TiB", 1ull << 40},
    {NULL, 0},
};
static const struct config_unit config_duration_units[] = {
    {"s", 1000000000ull},  {"ms", 1000000ull},      {"us", 1000ull}, {"ns", 1},
    {"m", 60000000000ull}, {"h", 3600000000000ull}, {NULL, 0},
};
static const struct config_unit config_count_units[] = {{"", 1}, {NULL, 0}};

static bool config_parse_number(const char *text, const struct config_unit *units, uint64_t *out)
{
    char *end = NULL;

    if (!isdigit((unsigned char)text[0])) {
        return false;
    }
    errno = 0;
    const unsigned long long number = strtoull(text, &end, 10);
    if (errno != 0) {
        return false;
    }
    while (*end == ' ') {
        end++;
    }
    if (number == 0 && *end == '\0') {
        *out = 0; /* zero needs no unit */
        return true;
    }
    for (const struct config_unit *unit = units; unit->suffix != NULL; unit++) {
        if (strcasecmp(end, unit->suffix) == 0) {
            return !__builtin_mul_overflow((uint64_t)number, unit->factor, out);
        }
    }
    return false;
}

static bool config_parse_flag(const char *text, bool *out)
{
    static const char *const yes[] = {"true", "yes", "on", "1"};
    static const char *const no[] = {"false", "no", "off", "0"};

    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++) {
        if (strcasecmp(text, yes[i]) == 0 || strcasecmp(text, no[i]) == 0) {
            *out = strcasecmp(text, yes[i]) == 0;
            return true;
        }
    }
    return false;
}

static const struct config_key *config_find(const char *name)
{
    for (size_t i = 0; i < CONFIG_KEY_COUNT; i++) {
        if (strcmp(config_keys[i].name, name) == 0) {
            return &config_keys[i];
        }
    }
    return NULL;
}

bool config_key_known(const char *key, bool *is_flag_out)
{
    const struct config_key *found = config_find(key);

    if (found == NULL) {
        return false;
    }
    *is_flag_out = found->type == CONFIG_flag;
    return true;
}

void config_init(struct config *config)
{
    struct exec_error err;

    memset(config, 0, sizeof *config);
    for (size_t i = 0; i < CONFIG_KEY_COUNT; i++) {
        config_set(config, "built-in", config_keys[i].name, config_keys[i].fallback, &err);
    }
}

static enum exec_code config_check_word(const char *where, const char *name, const char *value,
                                        const char *const *words, struct exec_error *err)
{
    char all[CONFIG_TEXT_BYTES] = "";

    for (size_t used = 0; *words != NULL; words++) {
        if (strcmp(value, *words) == 0) {
            return EXEC_OK;
        }
        used +=
            (size_t)snprintf(all + used, sizeof all - used, "%s%s", used == 0 ? "" : ", ", *words);
    }
    return EXEC_FAIL(err, EXEC_BAD_SPEC, "%s: %s: '%s' is none of %s", where, name, value, all);
}

/* NULL: the key takes any text. */
static const char *const *config_words(const char *name)
{
    static const char *const levels[] = {"error", "warning", "info", "debug", NULL};
    const struct job_setting *setting = job_setting_find(name, strlen(name));

    if (setting != NULL && setting->words != NULL) {
        return setting->words + 1; /* the first stands for nothing set */
    }
    return strcmp(name, "log_level") == 0 ? levels : NULL;
}

static enum exec_code config_set_text(struct config *config, const struct config_key *key,
                                      const char *where, const char *value, struct exec_error *err)
{
    const char *const *words = config_words(key->name);

    if (strlen(value) >= CONFIG_TEXT_BYTES) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "%s: %s: longer than %d bytes", where, key->name,
                         CONFIG_TEXT_BYTES - 1);
    }
    if (words != NULL && config_check_word(where, key->name, value, words, err) != EXEC_OK) {
        return err->code;
    }
    memcpy((char *)config + key->offset, value, strlen(value) + 1);
    return EXEC_OK;
}

enum exec_code config_set(struct config *config, const char *where, const char *name,
                          const char *value, struct exec_error *err)
{
    const struct config_key *key = config_find(name);
    uint64_t number = 0;
    bool flag = false;

    if (key == NULL) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "%s: unknown key '%s'", where, name);
    }
    void *slot = (char *)config + key->offset;
    switch (key->type) {
        case CONFIG_text: return config_set_text(config, key, where, value, err);
        case CONFIG_count:
            if (!config_parse_number(value, config_count_units, &number) || number > UINT32_MAX) {
                return EXEC_FAIL(err, EXEC_BAD_SPEC, "%s: %s: '%s' is not a whole number", where,
                                 name, value);
            }
            break;
        case CONFIG_size:
            if (!config_parse_number(value, config_size_units, &number)) {
                return EXEC_FAIL(err, EXEC_BAD_SPEC,
                                 "%s: %s: '%s' is not a size such as 512M or 4G", where, name,
                                 value);
            }
            break;
        case CONFIG_duration:
            if (!config_parse_number(value, config_duration_units, &number)) {
                return EXEC_FAIL(err, EXEC_BAD_SPEC,
                                 "%s: %s: '%s' is not a duration such as 500ms or 30s", where, name,
                                 value);
            }
            break;
        case CONFIG_flag:
            if (!config_parse_flag(value, &flag)) {
                return EXEC_FAIL(err, EXEC_BAD_SPEC, "%s: %s: '%s' is neither true nor false",
                                 where, name, value);
            }
            memcpy(slot, &flag, sizeof flag);
            return EXEC_OK;
    }
    memcpy(slot, &number, sizeof number);
    return EXEC_OK;
}

enum exec_code config_set_pair(struct config *config, const char *where, const char *pair,
                               struct exec_error *err)
{
    char key[64];
    const char *equals = strchr(pair, '=');

    if (equals == NULL || equals == pair || (size_t)(equals - pair) >= sizeof key) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "%s: '%s' is not KEY=VALUE", where, pair);
    }
    memcpy(key, pair, (size_t)(equals - pair));
    key[equals - pair] = '\0';
    return config_set(config, where, key, equals + 1, err);
}

/* Cuts white space off both ends, in place. */
static char *config_trim(char *text)
{
    while (isspace((unsigned char)*text)) {
        text++;
    }
    for (size_t size = strlen(text); size > 0 && isspace((unsigned char)text[size - 1]); size--) {
        text[size - 1] = '\0';
    }
    return text;
}

static enum exec_code config_read_line(struct config *config, const char *where, char *line,
                                       struct exec_error *err)
{
    char *text = config_trim(line);

    if (*text == '\0' || *text == '#' || *text == ';') {
        return EXEC_OK;
    }
    if (*text == '[') {
        if (strcmp(text, "[morseld]") == 0) {
            return EXEC_OK;
        }
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "%s: unknown section %s", where, text);
    }
    char *equals = strchr(text, '=');
    if (equals == NULL) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "%s: '%s' is not KEY = VALUE", where, text);
    }
    *equals = '\0';
    return config_set(config, where, config_trim(text), config_trim(equals + 1), err);
}

enum exec_code config_read_file(struct config *config, const char *path, struct exec_error *err)
{
    char line[1024];
    char where[512];
    unsigned line_number = 0;
    enum exec_code code = EXEC_OK;
    FILE *file = fopen(path, "re");

    if (file == NULL) {
        return EXEC_FAIL_ERRNO(err, errno == ENOENT ? EXEC_FILE_NOT_FOUND : EXEC_IO, errno,
                               "%s: %s", path, strerror(errno));
    }
    while (code == EXEC_OK && fgets(line, sizeof line, file) != NULL) {
        snprintf(where, sizeof where, "%s:%u", path, ++line_number);
        if (strchr(line, '\n') == NULL && !feof(file)) {
            code = EXEC_FAIL(err, EXEC_BAD_SPEC, "%s: the line is longer than %zu bytes", where,
                             sizeof line - 2);
            break;
        }
        code = config_read_line(config, where, line, err);
    }
    if (code == EXEC_OK && ferror(file)) {
        code = EXEC_FAIL_ERRNO(err, EXEC_IO, errno, "%s: %s", path, strerror(errno));
    }
    fclose(file);
    return code;
}

bool config_split_address(const char *address, char host_out[CONFIG_TEXT_BYTES], uint16_t *port_out)
{
    const char *colon = strrchr(address, ':');
    char *end = NULL;

    if (colon == NULL || colon == address || !isdigit((unsigned char)colon[1])) {
        return false;
    }
    const unsigned long port = strtoul(colon + 1, &end, 10);
    if (*end != '\0' || port > UINT16_MAX) {
        return false;
    }
    const char *begin = address;
    size_t size = (size_t)(colon - address);
    if (*begin == '[') {
        if (size < 3 || begin[size - 1] != ']') {
            return false;
        }
        begin++;
        size -= 2;
    } else if (memchr(begin, ':', size) != NULL) {
        return false; /* an IPv6 address needs its brackets */
    }
    if (size >= CONFIG_TEXT_BYTES) {
        return false;
    }
    memcpy(host_out, begin, size);
    host_out[size] = '\0';
    *port_out = (uint16_t)port;
    return true;
}

static bool config_is_loopback(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;

    if (inet_pton(AF_INET, host, &v4) == 1) {
        return (ntohl(v4.s_addr) >> 24) == 127;
    }
    if (inet_pton(AF_INET6, host, &v6) == 1) {
        return IN6_IS_ADDR_LOOPBACK(&v6);
    }
    return strcmp(host, "localhost") == 0;
}

static enum exec_code config_check_address(const struct config *config, const char *key,
                                           const char *address, struct exec_error *err)
{
    char host[CONFIG_TEXT_BYTES];
    uint16_t port = 0;

    if (!config_split_address(address, host, &port)) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC, "%s: '%s' is not HOST:PORT", key, address);
    }
    if (!config->insecure && !config_is_loopback(host)) {
        return EXEC_FAIL(err, EXEC_BAD_SPEC,
                         "%s: %s is not a loopback address: without TLS anyone who reaches it can "
                         "run jobs; set insecure = true if that is meant",
                         key, address);
    }
    return EXEC_OK;
}

enum exec_code config_check(const struct config *config, struct exec_error *err)
{
    enum exec_code code = config_check_address(config, "listen", config->listen, err);

    if (code == EXEC_OK && config->admin_listen[0] != '\0') {
        code = config_check_address(config, "admin_listen", config->admin_listen, err);
    }
    if (code == EXEC_OK && config->jobs_running_max == 0) {
        code = EXEC_FAIL(err, EXEC_BAD_SPEC, "jobs_running_max: 0 would let no job run");
    }
    if (code == EXEC_OK && config->connections_max == 0) {
        code = EXEC_FAIL(err, EXEC_BAD_SPEC, "connections_max: 0 would let nobody in");
    }
    return code;
}

bool config_warning(const struct config *config, char text_out[CONFIG_WARNING_BYTES])
{
    const char *path = config->data_root;
    struct stat folder;

    if (path[0] == '\0' || (stat(path, &folder) == 0 && S_ISDIR(folder.st_mode))) {
        return false;
    }
    snprintf(text_out, CONFIG_WARNING_BYTES, "data_root: %s: %s, so that no file can be read", path,
             access(path, F_OK) == 0 ? "not a folder" : "no such folder");
    return true;
}

static size_t config_type_bytes(enum config_type type)
{
    switch (type) {
        case CONFIG_text: return sizeof(config_text);
        case CONFIG_flag: return sizeof(config_flag);
        case CONFIG_count:
        case CONFIG_size:
        case CONFIG_duration: break;
    }
    return sizeof(uint64_t);
}

/* Texts are zero behind their end only after config_init, so they are compared as texts. */
static bool config_same(const struct config_key *key, const void *a, const void *b)
{
    return key->type == CONFIG_text ? strcmp(a, b) == 0
                                    : memcmp(a, b, config_type_bytes(key->type)) == 0;
}

const char *config_reload(struct config *config, const struct config *fresh)
{
    const char *needs_restart = NULL;

    for (size_t i = 0; i < CONFIG_KEY_COUNT; i++) {
        const struct config_key *key = &config_keys[i];
        void *slot = (char *)config + key->offset;
        const void *value = (const char *)fresh + key->offset;
        if (config_same(key, slot, value)) {
            continue;
        }
        if (key->reload) {
            memcpy(slot, value, config_type_bytes(key->type));
        } else {
            needs_restart = key->name;
        }
    }
    return needs_restart;
}

void config_print_keys(void)
{
    for (size_t i = 0; i < CONFIG_KEY_COUNT; i++) {
        const struct config_key *key = &config_keys[i];
        printf("  %-28s %s", key->name, key->help);
        if (key->fallback[0] != '\0' && strcmp(key->fallback, "0") != 0) {
            printf(" [%s]", key->fallback);
        }
        printf("%s\n", key->reload ? " (SIGHUP)" : "");
    }
}

#ifndef CONFIG_H
#define CONFIG_H

#include "exec/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The settings of one daemon: a plain value. Later sources win: built-in, file, flags and --set. */

enum { CONFIG_TEXT_BYTES = 256 };

typedef char config_text[CONFIG_TEXT_BYTES];
typedef uint64_t config_count;
typedef uint64_t config_size;
typedef uint64_t config_duration; /* nanoseconds */
typedef bool config_flag;

struct config {
#define CONFIG_KEY(name, type, fallback, reload, help) config_##type name;
#include "config_keys.def"
};

void config_init(struct config *config);

/* Sets one key from text. `where` names the source for the message ("morseld.conf:3", "--set").
 * EXEC_OK or EXEC_BAD_SPEC: "<where>: <key>: <what is wrong>". */
enum exec_code config_set(struct config *config, const char *where, const char *key,
                          const char *value, struct exec_error *err);

/* KEY=VALUE. */
enum exec_code config_set_pair(struct config *config, const char *where, const char *pair,
                               struct exec_error *err);

/* INI: one `key = value` a line, # and ; start a comment line, an optional [morseld] section.
 * EXEC_FILE_NOT_FOUND, EXEC_IO or EXEC_BAD_SPEC naming file, line and key. */
enum exec_code config_read_file(struct config *config, const char *path, struct exec_error *err);

/* What no single key can say: both addresses parse, and one that is not loopback needs insecure. */
enum exec_code config_check(const struct config *config, struct exec_error *err);

/* What is allowed, but hardly meant: a data_root that is no folder (yet). False: nothing. */
enum { CONFIG_WARNING_BYTES = CONFIG_TEXT_BYTES + 64 };
bool config_warning(const struct config *config, char text_out[CONFIG_WARNING_BYTES]);

/* Takes the reloadable keys of `fresh`. Returns the name of a key that differs but needs a restart,
 * NULL when there is none. */
const char *config_reload(struct config *config, const struct config *fresh);

/* True when `key` exists; *is_flag_out tells whether it is a yes/no setting. */
bool config_key_known(const char *key, bool *is_flag_out);

/* Writes the table of keys for --help to stdout. */
void config_print_keys(void);

/* Splits "host:port" or "[v6]:port". False when it is neither. */
bool config_split_address(const char *address, char host_out[CONFIG_TEXT_BYTES],
                          uint16_t *port_out);

#endif

#ifndef EXEC_ERROR_H
#define EXEC_ERROR_H

#include <stdint.h>

#define EXEC_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

enum exec_code {
#define CODE(name, text) EXEC_##name,
#include "exec/codes.def"
    EXEC_CODE_COUNT
};

/* What went wrong, owned by the caller. Written once, by the function that first saw the failure;
 * functions above it pass the code on and leave the text alone (they may fill in a place that is
 * still 0). */
struct exec_error {
    enum exec_code code;
    int sys_errno;    /* 0 when the kernel was not involved */
    const char *func; /* static storage */
    uint32_t rel;     /* 1-based relation of the plan; 0: none */
    uint32_t expr;    /* 1-based expression of the plan; 0: none */
    uint64_t line;    /* 1-based line of an input file; 0: none */
    uint32_t column;  /* 1-based field of that line; 0: none */
    char detail[496]; /* always NUL-terminated; names the field, file, line or limit */
};

const char *exec_code_text(enum exec_code code);
const char *exec_code_name(enum exec_code code); /* "BAD_SPEC" */

/* Fills *err and returns `code`, so a failing function reads: return EXEC_FAIL(err, ...); */
enum exec_code exec_fail(struct exec_error *err, enum exec_code code, int sys_errno,
                         const char *func, const char *fmt, ...) EXEC_PRINTF(5, 6);

#define EXEC_FAIL(err, code, ...) exec_fail((err), (code), 0, __func__, __VA_ARGS__)
#define EXEC_FAIL_ERRNO(err, code, sys_errno, ...) \
    exec_fail((err), (code), (sys_errno), __func__, __VA_ARGS__)

#endif

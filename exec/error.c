#include "exec/error.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

static const char *const code_text[] = {
#define CODE(name, text) [EXEC_##name] = (text),
#include "exec/codes.def"
};

static const char *const code_name[] = {
#define CODE(name, text) [EXEC_##name] = #name,
#include "exec/codes.def"
};

const char *exec_code_text(enum exec_code code)
{
    return (size_t)code < EXEC_CODE_COUNT ? code_text[code] : "unknown error code";
}

const char *exec_code_name(enum exec_code code)
{
    return (size_t)code < EXEC_CODE_COUNT ? code_name[code] : "UNKNOWN";
}

enum exec_code exec_fail(struct exec_error *err, enum exec_code code, int sys_errno,
                         const char *func, const char *fmt, ...)
{
    va_list args;
    *err = (struct exec_error){.code = code, .sys_errno = sys_errno, .func = func};
    va_start(args, fmt);
    vsnprintf(err->detail, sizeof err->detail, fmt, args);
    va_end(args);
    return code;
}

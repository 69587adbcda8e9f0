/* morsel-sqlparse: SQL on stdin, PostgreSQL's parse tree as JSON on stdout, or
 * {"error":{"message":...,"cursorpos":n}} with n counted in characters from 1. Started by morsel
 * for each text. libpg_query may crash on hostile text, so it runs here with nothing to lose: no
 * more descriptors, little memory and time, and only the system calls a parser needs. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pg_query.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    TEXT_BYTES_MAX = 65536,
    MEMORY_BYTES_MAX = 256 << 20,
    CPU_SECONDS_MAX = 5,
};

#if defined(__x86_64__)
#define SANDBOX_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define SANDBOX_ARCH AUDIT_ARCH_AARCH64
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(SANDBOX_ARCH)
/* Sanitizers reserve terabytes and make calls of their own. */
static int sandbox_enter(void)
{
    return 0;
}
#else
#define ALLOW(call)                                         \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##call, 0, 1), \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int sandbox_enter(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SANDBOX_ARCH, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(read),
        ALLOW(write),
        ALLOW(brk),
        ALLOW(mmap),
        ALLOW(munmap),
        ALLOW(mremap),
        ALLOW(mprotect),
        ALLOW(madvise),
        ALLOW(futex),
        ALLOW(rt_sigreturn),
        ALLOW(rt_sigprocmask),
        ALLOW(clock_gettime),
        ALLOW(exit),
        ALLOW(exit_group),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
    const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    const struct rlimit memory = {MEMORY_BYTES_MAX, MEMORY_BYTES_MAX};
    const struct rlimit cpu = {CPU_SECONDS_MAX, CPU_SECONDS_MAX};
    const struct rlimit none = {0, 0}, core = {0, 0};

    if (setrlimit(RLIMIT_AS, &memory) != 0 || setrlimit(RLIMIT_CPU, &cpu) != 0 ||
        setrlimit(RLIMIT_NOFILE, &none) != 0 || setrlimit(RLIMIT_CORE, &core) != 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return -1;
    }
    /* A kernel without seccomp still has the limits above. */
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0 && errno != EINVAL) {
        return -1;
    }
    return 0;
}
#endif

static size_t read_all(char *text, size_t room)
{
    size_t size = 0;

    while (size < room) {
        const ssize_t got = read(0, text + size, room - size);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            break;
        }
        size += (size_t)got;
    }
    return size;
}

static int write_all(const char *text, size_t size)
{
    while (size > 0) {
        const ssize_t put = write(1, text, size);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            return -1;
        }
        text += put;
        size -= (size_t)put;
    }
    return 0;
}

static int write_error(const char *message, int cursor)
{
    char text[2048];
    size_t at =
        (size_t)snprintf(text, sizeof text, "{\"error\":{\"cursorpos\":%d,\"message\":\"", cursor);

    for (; *message != '\0' && at < sizeof text - 16; message++) {
        const unsigned char byte = (unsigned char)*message;
        if (byte < 0x20 || byte == '"' || byte == '\\') {
            at += (size_t)snprintf(text + at, sizeof text - at, "\\u%04x", byte);
        } else {
            text[at++] = (char)byte;
        }
    }
    at += (size_t)snprintf(text + at, sizeof text - at, "\"}}");
    return write_all(text, at) == 0 ? 1 : 2;
}

int main(void)
{
    static char text[TEXT_BYTES_MAX + 1];

    if (sandbox_enter() != 0) {
        return 2;
    }
    const size_t size = read_all(text, TEXT_BYTES_MAX);
    if (strlen(text) != size) {
        return write_error("a NUL byte in the text", 1);
    }
    /* Nothing is freed: the process ends here. */
    const PgQueryParseResult result = pg_query_parse(text);
    if (result.error != NULL) {
        return write_error(result.error->message, result.error->cursorpos);
    }
    return write_all(result.parse_tree, strlen(result.parse_tree)) == 0 ? 0 : 2;
}

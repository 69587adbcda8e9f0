#include "stdin_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char file_path[32];

/* A file without a name; a file system that has none such leaves memory. */
static int open_nameless(void)
{
    const char *folder = getenv("TMPDIR");
    const int fd = open(folder != NULL ? folder : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    return fd >= 0 ? fd : memfd_create("stdin", MFD_CLOEXEC);
}

/* 0, or an errno. */
static int copy(int to)
{
    static char bytes[1 << 16];
    ssize_t got;

    while ((got = read(STDIN_FILENO, bytes, sizeof bytes)) != 0) {
        if (got < 0 && errno != EINTR) {
            return errno;
        }
        for (ssize_t done = 0; done < got;) {
            const ssize_t put = write(to, bytes + done, (size_t)(got - done));
            if (put < 0 && errno != EINTR) {
                return errno;
            }
            done += put > 0 ? put : 0;
        }
    }
    return 0;
}

const char *stdin_file_path(struct exec_error *err)
{
    if (file_path[0] != '\0') {
        EXEC_FAIL(err, EXEC_BAD_SPEC, "'-' is given twice, but stdin holds one input");
        return NULL;
    }
    const int fd = open_nameless();
    const int failure = fd < 0 ? errno : copy(fd);
    if (failure != 0) {
        EXEC_FAIL_ERRNO(err, EXEC_IO, failure, "copying stdin: %s", strerror(failure));
        if (fd >= 0) {
            close(fd);
        }
        return NULL;
    }
    snprintf(file_path, sizeof file_path, "/proc/self/fd/%d", fd);
    return file_path;
}

bool stdin_file_is(const char *path)
{
    return file_path[0] != '\0' && strcmp(path, file_path) == 0;
}

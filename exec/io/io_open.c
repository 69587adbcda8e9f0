#include "io/io_open.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* O_NONBLOCK: opening a fifo must not wait for its writer. */
enum { OPEN_FLAGS = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK };

static int open_beneath(const char *root, const char *path)
{
    struct open_how how = {.flags = OPEN_FLAGS, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    const int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    long fd;
    uint32_t tries = 0;

    if (root_fd < 0) {
        return -errno;
    }
    do { /* EAGAIN: something on the way was renamed meanwhile */
        fd = syscall(SYS_openat2, root_fd, path, &how, sizeof how);
    } while (fd < 0 && (errno == EAGAIN || errno == EINTR) && tries++ < IO_RETRIES_MAX);
    const int failure = fd < 0 ? -errno : 0;
    close(root_fd);
    return fd < 0 ? failure : (int)fd;
}

static int open_anywhere(const char *path)
{
    int fd;
    uint32_t tries = 0;

    do {
        fd = open(path, OPEN_FLAGS);
    } while (fd < 0 && errno == EINTR && tries++ < IO_RETRIES_MAX);
    return fd < 0 ? -errno : fd;
}

/* Regular files only; anything else could block a reader or has no size. */
static int open_check(int fd, uint64_t *file_bytes_out)
{
    struct stat status;

    if (fstat(fd, &status) != 0) {
        return -errno;
    }
    if (!S_ISREG(status.st_mode)) {
        return S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL;
    }
    /* A ring takes O_NONBLOCK as "do not wait for the disk" and answers EAGAIN. */
    if (fcntl(fd, F_SETFL, 0) != 0) {
        return -errno;
    }
    *file_bytes_out = (uint64_t)status.st_size;
    return 0;
}

static int64_t open_file(struct io_request *request)
{
    const int fd = request->root != NULL ? open_beneath(request->root, request->path)
                                         : open_anywhere(request->path);
    if (fd < 0) {
        return fd;
    }
    const int failure = open_check(fd, &request->file_bytes);
    if (failure != 0) {
        close(fd);
        return failure;
    }
    request->fd = fd;
    return 0;
}

void io_open_run(void *io, struct io_request *request)
{
    (void)io;
    if (request->path != NULL) {
        request->result = open_file(request);
    }
    request->complete(request);
}

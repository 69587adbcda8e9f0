#include "output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_ROOM = 32 }; /* for what follows the path in the name of a temporary */

/* A file without a name in the folder of `path`, so that nothing stays behind however we end. -1
 * and errno: the file system has none such, or another failure. */
static int open_nameless(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL   ? strdup(".")
                   : slash == path ? strdup("/")
                                   : strndup(path, (size_t)(slash - path));
    const int fd = folder == NULL ? -1 : open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    const int failure = errno;

    free(folder);
    errno = failure;
    return fd;
}

/* A file with a name beside `path`, with the access that umask leaves. */
static int open_named(char *name)
{
    const int fd = mkostemp(name, O_CLOEXEC);

    if (fd >= 0) {
        const mode_t mask = umask(0);
        umask(mask);
        fchmod(fd, 0666 & ~mask);
    }
    return fd;
}

/* Gives the file without a name one beside `path`: no link replaces a file, only a rename does. */
static int name_it(const struct output_file *output)
{
    char source[NAME_ROOM];

    snprintf(source, sizeof source, "/proc/self/fd/%d", output->fd);
    snprintf(output->temporary, strlen(output->path) + NAME_ROOM, "%s.%ld.part", output->path,
             (long)getpid());
    unlink(output->temporary);
    return linkat(AT_FDCWD, source, AT_FDCWD, output->temporary, AT_SYMLINK_FOLLOW);
}

static enum exec_code open_path(struct output_file *output, const char *path,
                                struct exec_error *err)
{
    struct stat status;

    output->path = path;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        output->fd = open(path, O_WRONLY | O_CLOEXEC);
    } else {
        const size_t room = strlen(path) + NAME_ROOM;
        output->temporary = malloc(room);
        if (output->temporary == NULL) {
            return EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "out of memory");
        }
        output->fd = open_nameless(path);
        output->nameless = output->fd >= 0;
        if (!output->nameless) {
            snprintf(output->temporary, room, "%s.XXXXXX", path);
            output->fd = open_named(output->temporary);
        }
    }
    if (output->fd < 0) {
        const int failure = errno;
        free(output->temporary);
        output->temporary = NULL;
        return EXEC_FAIL_ERRNO(err, EXEC_BAD_SPEC, failure, "--out %.300s: %s", path,
                               strerror(failure));
    }
    return EXEC_OK;
}

enum exec_code output_open(struct output_file *output, const char *path, struct exec_error *err)
{
    *output = (struct output_file){.fd = STDOUT_FILENO, .buffer = malloc(OUTPUT_BUFFER_BYTES)};
    if (output->buffer == NULL) {
        return EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "out of memory");
    }
    if (path != NULL && strcmp(path, "-") != 0 && open_path(output, path, err) != EXEC_OK) {
        free(output->buffer);
        output->buffer = NULL;
        return err->code;
    }
    return EXEC_OK;
}

static void write_through(struct output_file *output, const char *bytes, size_t size)
{
    while (size > 0 && output->failure == 0) {
        const ssize_t put = write(output->fd, bytes, size);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put < 0) {
            output->failure = errno;
            return;
        }
        output->flushed_bytes += (uint64_t)put;
        bytes += put;
        size -= (size_t)put;
    }
}

void output_flush(struct output_file *output)
{
    write_through(output, output->buffer, output->used);
    output->used = 0;
}

void output_write(struct output_file *output, const void *bytes, size_t size)
{
    if (size > OUTPUT_BUFFER_BYTES - output->used) {
        output_flush(output);
    }
    if (size > OUTPUT_BUFFER_BYTES) {
        write_through(output, bytes, size);
        return;
    }
    if (size > 0) {
        memcpy(output->buffer + output->used, bytes, size);
        output->used += size;
    }
}

void output_text(struct output_file *output, const char *text)
{
    output_write(output, text, strlen(text));
}

enum exec_code output_commit(struct output_file *output, struct exec_error *err)
{
    output_flush(output);
    if (output->failure == 0 && output->temporary != NULL) {
        if (fsync(output->fd) != 0 || (output->nameless && name_it(output) != 0)) {
            output->failure = errno;
        } else if (rename(output->temporary, output->path) != 0) {
            output->failure = errno;
            output->nameless = false;
        } else {
            free(output->temporary);
            output->temporary = NULL;
        }
    }
    if (output->failure != 0) {
        return EXEC_FAIL_ERRNO(err, EXEC_IO, output->failure, "cannot write %.300s: %s",
                               output->path == NULL ? "stdout" : output->path,
                               strerror(output->failure));
    }
    return EXEC_OK;
}

void output_close(struct output_file *output)
{
    if (output->temporary != NULL) {
        if (!output->nameless) {
            unlink(output->temporary);
        }
        free(output->temporary);
    }
    if (output->path != NULL && output->fd >= 0) {
        close(output->fd);
    }
    free(output->buffer);
    *output = (struct output_file){.fd = -1};
}

bool output_is_partial(const struct output_file *output)
{
    return output->path == NULL && output->flushed_bytes > 0;
}

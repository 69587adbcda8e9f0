/* Goal:   both ways of reading files keep io.h's contract: whole reads, short only at the end of
 * the file, errors as negative errnos, paths confined to the root, figures that add up. Method: a
 * temporary directory with files, links and a fifo; every test runs with io_uring (skipped where
 * the kernel refuses it) and with the pread fallback. */
#include "io/io.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BYTES = 1000003, STORM_THREADS = 4, STORM_READS = 400 };

struct waited {
    struct io_request request; /* first */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool done;
};

static char root[64];
static char log_line[512];

static unsigned char content_at(uint64_t offset)
{
    return (unsigned char)((offset * UINT64_C(2654435761)) >> 13);
}

static void path_in_root(char *path, size_t size, const char *name)
{
    snprintf(path, size, "%s/%s", root, name);
}

static void make_files(void)
{
    char path[128];
    strcpy(root, "/tmp/test_io_XXXXXX");
    cr_assert_not_null(mkdtemp(root));
    path_in_root(path, sizeof path, "numbers");
    FILE *file = fopen(path, "wb");
    for (uint64_t i = 0; i < FILE_BYTES; i++) {
        putc(content_at(i), file);
    }
    fclose(file);
    path_in_root(path, sizeof path, "empty");
    fclose(fopen(path, "wb"));
    path_in_root(path, sizeof path, "folder");
    cr_assert_eq(mkdir(path, 0700), 0);
    path_in_root(path, sizeof path, "fifo");
    cr_assert_eq(mkfifo(path, 0600), 0);
    path_in_root(path, sizeof path, "leads_out");
    cr_assert_eq(symlink("/etc/passwd", path), 0);
    path_in_root(path, sizeof path, "stays_in");
    cr_assert_eq(symlink("folder/../numbers", path), 0);
}

static void remove_files(void)
{
    const char *names[] = {"numbers", "empty", "fifo", "leads_out", "stays_in"};
    char path[128];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        path_in_root(path, sizeof path, names[i]);
        unlink(path);
    }
    path_in_root(path, sizeof path, "folder");
    rmdir(path);
    rmdir(root);
}

static void keep_line(void *owner, enum exec_log_level level, const char *line)
{
    (void)owner;
    (void)level;
    strncat(log_line, line, sizeof log_line - strlen(log_line) - 1);
}

/* NULL: this kernel has no io_uring and the test of it is void. */
static struct io *start(bool uring)
{
    struct io *io = NULL;
    const struct io_config config = {.node_count = 2, .no_io_uring = !uring, .log = keep_line};
    log_line[0] = '\0';
    cr_assert_eq(io_create(&config, &io), 0);
    if (uring && !io_uses_uring(io)) {
        io_destroy(io);
        return NULL;
    }
    cr_assert_eq(io_uses_uring(io), uring);
    return io;
}

static void wake(struct io_request *request)
{
    struct waited *waited = (struct waited *)request;
    pthread_mutex_lock(&waited->lock);
    waited->done = true;
    pthread_cond_signal(&waited->changed);
    pthread_mutex_unlock(&waited->lock);
}

static void waited_init(struct waited *waited)
{
    *waited = (struct waited){.request.complete = wake};
    pthread_mutex_init(&waited->lock, NULL);
    pthread_cond_init(&waited->changed, NULL);
}

static void waited_wait(struct waited *waited)
{
    pthread_mutex_lock(&waited->lock);
    while (!waited->done) {
        pthread_cond_wait(&waited->changed, &waited->lock);
    }
    waited->done = false;
    pthread_mutex_unlock(&waited->lock);
}

static int64_t open_result(struct io *io, const char *below, const char *path)
{
    struct waited waited;
    waited_init(&waited);
    io_open(io, &waited.request, below, path);
    waited_wait(&waited);
    if (waited.request.result == 0) {
        io_close(io, waited.request.fd);
    }
    return waited.request.result;
}

static int open_numbers(struct io *io)
{
    struct waited waited;
    waited_init(&waited);
    io_open(io, &waited.request, root, "numbers");
    waited_wait(&waited);
    cr_assert_eq(waited.request.result, 0);
    cr_assert_eq(waited.request.file_bytes, FILE_BYTES);
    return waited.request.fd;
}

static void check_opens(struct io *io)
{
    char absolute[128];
    path_in_root(absolute, sizeof absolute, "numbers");
    cr_expect_eq(open_result(io, root, "numbers"), 0);
    cr_expect_eq(open_result(io, root, "stays_in"), 0);
    cr_expect_eq(open_result(io, NULL, absolute), 0);
    cr_expect_eq(open_result(io, root, "missing"), -ENOENT);
    cr_expect_eq(open_result(io, NULL, "/tmp/no/such/file"), -ENOENT);
    cr_expect_eq(open_result(io, "/tmp/no/such/root", "numbers"), -ENOENT);
    cr_expect_eq(open_result(io, root, "folder"), -EISDIR);
    cr_expect_eq(open_result(io, root, "fifo"), -EINVAL);
    cr_expect_eq(open_result(io, root, "leads_out"), -EXDEV);
    cr_expect_eq(open_result(io, root, "../etc/passwd"), -EXDEV);
    cr_expect_eq(open_result(io, root, absolute), -EXDEV);
    const int64_t magic = open_result(io, "/proc/self", "fd/0");
    cr_expect(magic == -ELOOP || magic == -EXDEV);
}

static void check_reads(struct io *io)
{
    const struct {
        uint64_t offset;
        size_t size;
        int64_t result;
    } cases[] = {
        {0, 1, 1},
        {0, FILE_BYTES, FILE_BYTES},
        {12345, 65536, 65536},
        {FILE_BYTES - 10, 4096, 10},
        {FILE_BYTES, 4096, 0},
        {FILE_BYTES + 5, 1, 0},
    };
    unsigned char *buffer = malloc(FILE_BYTES);
    const int fd = open_numbers(io);

    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct waited waited;
        waited_init(&waited);
        io_read(io, &waited.request, fd, cases[c].offset, buffer, cases[c].size, (uint32_t)c);
        waited_wait(&waited);
        cr_assert_eq(waited.request.result, cases[c].result, "case %zu", c);
        for (int64_t i = 0; i < cases[c].result; i++) {
            cr_assert_eq(buffer[i], content_at(cases[c].offset + (uint64_t)i));
        }
    }
    io_close(io, fd);
    free(buffer);
}

static void check_bad_descriptor(struct io *io)
{
    struct waited waited;
    char byte;
    waited_init(&waited);
    io_read(io, &waited.request, 1000000, 0, &byte, 1, 0);
    waited_wait(&waited);
    cr_expect_eq(waited.request.result, -EBADF);
}

struct storm {
    struct io *io;
    int fd;
    uint32_t seed;
};

/* One buffer a request, all of a thread's requests under way at once. */
static void *storm_main(void *argument)
{
    struct storm *storm = argument;
    struct waited *waits = calloc(STORM_READS, sizeof *waits);
    unsigned char(*buffers)[257] = calloc(STORM_READS, sizeof *buffers);

    for (uint32_t i = 0; i < STORM_READS; i++) {
        waited_init(&waits[i]);
        const uint64_t offset = (storm->seed * 7919u + i * 104729u) % (FILE_BYTES - 257);
        io_read(storm->io, &waits[i].request, storm->fd, offset, buffers[i], 257, i);
    }
    for (uint32_t i = 0; i < STORM_READS; i++) {
        waited_wait(&waits[i]);
        cr_assert_eq(waits[i].request.result, 257);
        for (uint32_t b = 0; b < 257; b++) {
            cr_assert_eq(buffers[i][b], content_at(waits[i].request.offset + b));
        }
    }
    free(buffers);
    free(waits);
    return NULL;
}

static void check_storm(struct io *io, bool uring)
{
    pthread_t threads[STORM_THREADS];
    struct storm storms[STORM_THREADS];
    struct io_counters before;
    struct io_counters after;
    const int fd = open_numbers(io);

    io_counters(io, &before);
    for (uint32_t t = 0; t < STORM_THREADS; t++) {
        storms[t] = (struct storm){.io = io, .fd = fd, .seed = t};
        pthread_create(&threads[t], NULL, storm_main, &storms[t]);
    }
    for (uint32_t t = 0; t < STORM_THREADS; t++) {
        pthread_join(threads[t], NULL);
    }
    io_counters(io, &after);
    const uint64_t reads =
        uring ? after.reads_uring - before.reads_uring : after.reads_pread - before.reads_pread;
    cr_expect_eq(reads, STORM_THREADS * STORM_READS);
    cr_expect_eq(after.read_bytes - before.read_bytes, STORM_THREADS * STORM_READS * 257);
    cr_expect_eq(uring ? after.reads_pread : after.reads_uring, 0);
    io_close(io, fd);
}

static void check_all(bool uring)
{
    struct io *io = start(uring);
    if (io == NULL) {
        cr_skip_test("the kernel refuses io_uring");
    }
    cr_expect_not_null(strstr(log_line, uring ? "io_uring, one ring" : "switched off"));
    make_files();
    check_opens(io);
    check_reads(io);
    check_bad_descriptor(io);
    check_storm(io, uring);
    io_destroy(io);
    remove_files();
}

Test(io, ring)
{
    check_all(true);
}

Test(io, pread)
{
    check_all(false);
}

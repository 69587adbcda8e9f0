/* What the machine itself takes to carry a question and an answer: two processes, one TCP
 * connection over loopback, each waiting in epoll for the whole of what the other sends.
 *
 *   bench_pingpong REQUEST_BYTES ANSWER_BYTES SECONDS
 *
 * prints the percentiles of the round trip as one JSON object. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WARM_ROUNDS = 200, BYTES_MAX = 1 << 20, ROUNDS_MAX = 4000000 };

static char bytes[BYTES_MAX];

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int epoll_of(int fd)
{
    const int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    const int on = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        fail("epoll");
    }
    return epoll;
}

/* False: the other side has left. */
static int receive(int epoll, int fd, size_t size)
{
    while (size > 0) {
        struct epoll_event event;
        if (epoll_wait(epoll, &event, 1, -1) < 0) {
            fail("epoll_wait");
        }
        const ssize_t got = recv(fd, bytes, size, MSG_DONTWAIT);
        if (got == 0) {
            return 0;
        }
        size -= got > 0 ? (size_t)got : 0;
    }
    return 1;
}

static void say(int fd, size_t size)
{
    if (send(fd, bytes, size, 0) != (ssize_t)size) {
        fail("send");
    }
}

static int by_size(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

static void serve(int listener, size_t request_bytes, size_t answer_bytes)
{
    const int fd = accept(listener, NULL, NULL);
    const int epoll = epoll_of(fd);

    while (receive(epoll, fd, request_bytes)) {
        say(fd, answer_bytes);
    }
    exit(0);
}

int main(int argc, char **argv)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t address_bytes = sizeof address;
    const size_t request_bytes = argc == 4 ? strtoul(argv[1], NULL, 10) : 0;
    const size_t answer_bytes = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
    uint64_t *rounds_ns = malloc(ROUNDS_MAX * sizeof *rounds_ns);
    size_t count = 0;

    if (request_bytes == 0 || request_bytes > BYTES_MAX || answer_bytes == 0 ||
        answer_bytes > BYTES_MAX || rounds_ns == NULL) {
        fprintf(stderr, "usage: bench_pingpong REQUEST_BYTES ANSWER_BYTES SECONDS\n");
        return 2;
    }
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (const struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &address_bytes) != 0) {
        fail("listen");
    }
    const pid_t server = fork();
    if (server == 0) {
        serve(listener, request_bytes, answer_bytes);
    }
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (server < 0 || connect(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        fail("connect");
    }
    const int epoll = epoll_of(fd);
    uint64_t end_ns = UINT64_MAX;
    for (uint64_t then_ns = clock_ns(), i = 0; then_ns < end_ns && count < ROUNDS_MAX; i++) {
        say(fd, request_bytes);
        if (!receive(epoll, fd, answer_bytes)) {
            fail("receive");
        }
        const uint64_t now_ns = clock_ns();
        if (i > WARM_ROUNDS) {
            rounds_ns[count++] = now_ns - then_ns;
        } else if (i == WARM_ROUNDS) {
            end_ns = now_ns + (uint64_t)(atof(argv[3]) * 1e9);
        }
        then_ns = now_ns;
    }
    close(fd);
    waitpid(server, NULL, 0);
    qsort(rounds_ns, count, sizeof *rounds_ns, by_size);
    printf("{\"rounds\": %zu, \"p50_us\": %.1f, \"p99_us\": %.1f}\n", count,
           (double)rounds_ns[count / 2] / 1e3, (double)rounds_ns[count * 99 / 100] / 1e3);
    free(rounds_ns);
    return 0;
}

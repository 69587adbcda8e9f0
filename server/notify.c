#include "notify.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { LISTEN_FDS_START = 3, LISTEN_FDS_MAX = 16 };

void notify_send(const char *state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = getenv("NOTIFY_SOCKET");

    if (path == NULL || (path[0] != '/' && path[0] != '@')) {
        return;
    }
    const size_t size = strlen(path);
    if (size >= sizeof address.sun_path) {
        return;
    }
    memcpy(address.sun_path, path, size);
    if (path[0] == '@') {
        address.sun_path[0] = '\0'; /* the abstract name space */
    }
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return;
    }
    const socklen_t address_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
    if (sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address,
               address_bytes) < 0) {
        fprintf(stderr, "notify: systemd did not take '%s'\n", state);
    }
    close(fd);
}

void notify_reloading(void)
{
    struct timespec now;
    char state[96];

    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(state, sizeof state, "RELOADING=1\nMONOTONIC_USEC=%llu",
             (unsigned long long)now.tv_sec * 1000000ull + (unsigned long long)now.tv_nsec / 1000);
    notify_send(state);
}

/* An environment variable that holds this process's id, or is not set at all. */
static int notify_is_ours(const char *name)
{
    const char *text = getenv(name);

    return text == NULL || strtol(text, NULL, 10) == (long)getpid();
}

uint64_t notify_watchdog_ms(void)
{
    const char *text = getenv("WATCHDOG_USEC");

    if (text == NULL || !notify_is_ours("WATCHDOG_PID")) {
        return 0;
    }
    return strtoull(text, NULL, 10) / 2000;
}

int notify_listen_fd(const char *name)
{
    const char *count_text = getenv("LISTEN_FDS");
    const char *names = getenv("LISTEN_FDNAMES");

    if (count_text == NULL || getenv("LISTEN_PID") == NULL || !notify_is_ours("LISTEN_PID")) {
        return -1;
    }
    long count = strtol(count_text, NULL, 10);
    if (count > LISTEN_FDS_MAX) {
        count = LISTEN_FDS_MAX;
    }
    if (names == NULL) {
        return count == 1 && strcmp(name, "grpc") == 0 ? LISTEN_FDS_START : -1;
    }
    for (int i = 0; i < count; i++) {
        const size_t size = strcspn(names, ":");
        if (size == strlen(name) && strncmp(names, name, size) == 0) {
            fcntl(LISTEN_FDS_START + i, F_SETFD, FD_CLOEXEC);
            return LISTEN_FDS_START + i;
        }
        names += size + (names[size] == ':');
    }
    return -1;
}

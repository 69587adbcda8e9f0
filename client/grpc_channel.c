#include "grpc_channel.h"
#include "grpc_call.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CHANNEL_MAGIC = 0x6d63686e };

uint64_t grpc_clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int channel_fail(struct grpc_channel *channel, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static int channel_fail(struct grpc_channel *channel, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(channel->text, sizeof channel->text, fmt, args);
    va_end(args);
    channel->broken = true;
    return -1;
}

/* Rounded up, so that a wait never ends just before its deadline and spins. */
static int wait_ms(uint64_t deadline_ns)
{
    const uint64_t now = grpc_clock_ns();

    if (deadline_ns == UINT64_MAX) {
        return -1;
    }
    if (deadline_ns <= now) {
        return 0;
    }
    const uint64_t ms = (deadline_ns - now + 999999u) / 1000000u;
    return ms > 3600000u ? 3600000 : (int)ms;
}

bool grpc_address_split(const char *address, char host_out[CHANNEL_ADDRESS_BYTES], char port_out[8])
{
    const char *host = address, *colon = strrchr(address, ':');
    size_t host_bytes = strlen(address);
    const char *port = "";

    if (address[0] == '[') {
        const char *close = strchr(address, ']');
        if (close == NULL || (close[1] != '\0' && close[1] != ':')) {
            return false;
        }
        host = address + 1;
        host_bytes = (size_t)(close - host);
        port = close[1] == ':' ? close + 2 : "7432";
    } else if (colon != NULL && strchr(address, ':') == colon) {
        host_bytes = (size_t)(colon - host);
        port = colon + 1;
    } else {
        port = "7432"; /* no colon, or a bare IPv6 address */
    }
    char *end = NULL;
    const unsigned long number = strtoul(port, &end, 10);
    if (host_bytes == 0 || host_bytes >= CHANNEL_ADDRESS_BYTES || port[0] < '0' || port[0] > '9' ||
        *end != '\0' || number == 0 || number > 65535) {
        return false;
    }
    memcpy(host_out, host, host_bytes);
    host_out[host_bytes] = '\0';
    snprintf(port_out, 8, "%lu", number);
    return true;
}

/* One address of the list: a connected non-blocking socket, or -1 and errno. */
static int connect_one(const struct addrinfo *info, uint64_t deadline_ns, int wake_fd)
{
    const int fd = socket(info->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0) {
        return -1;
    }
    int failure = connect(fd, info->ai_addr, info->ai_addrlen) == 0 ? 0 : errno;
    if (failure == EINPROGRESS) {
        struct pollfd polled[2] = {{fd, POLLOUT, 0}, {wake_fd, POLLIN, 0}};
        const int ready = poll(polled, 2, wait_ms(deadline_ns));
        socklen_t size = sizeof failure;
        if (polled[1].revents != 0) {
            failure = EINTR;
        } else if (ready == 0) {
            failure = ETIMEDOUT;
        } else if (ready < 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size) != 0) {
            failure = errno;
        }
    }
    if (failure != 0) {
        close(fd);
        errno = failure;
        return -1;
    }
    return fd;
}

static int channel_connect(struct grpc_channel *channel, const char *address, uint64_t deadline_ns)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    char host[CHANNEL_ADDRESS_BYTES], port[8];
    struct addrinfo *found = NULL;

    if (!grpc_address_split(address, host, port)) {
        return channel_fail(channel, "'%.200s' is not an address: write HOST:PORT", address);
    }
    const int looked = getaddrinfo(host, port, &hints, &found);
    if (looked != 0) {
        return channel_fail(channel, "cannot find host '%.150s': %s", host, gai_strerror(looked));
    }
    for (const struct addrinfo *info = found; info != NULL && channel->fd < 0;
         info = info->ai_next) {
        channel->fd = connect_one(info, deadline_ns, channel->wake_fd);
    }
    const int failure = errno;
    freeaddrinfo(found);
    if (channel->fd < 0) {
        return channel_fail(channel, "cannot connect to %.150s port %s: %s", host, port,
                            strerror(failure));
    }
    /* A peer that vanished without a word is noticed after about two minutes, also by a call
     * without a deadline. */
    const int on = 1, idle_s = 60, every_s = 10, tries = 6;
    setsockopt(channel->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(channel->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(channel->fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(channel->fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof every_s);
    setsockopt(channel->fd, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof tries);
    const bool v6 = strchr(host, ':') != NULL;
    snprintf(channel->authority, sizeof channel->authority, "%s%.280s%s:%s", v6 ? "[" : "", host,
             v6 ? "]" : "", port);
    return 0;
}

static int channel_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *owner)
{
    struct grpc_channel *channel = owner;

    (void)session;
    if (frame->hd.type == NGHTTP2_SETTINGS) {
        channel->settings_seen = true;
    }
    if (frame->hd.type == NGHTTP2_GOAWAY) {
        channel->goaway = true;
    }
    if (channel->call != NULL && frame->hd.stream_id == channel->call->stream_id &&
        (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 &&
        (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA)) {
        grpc_call_answered(channel->call);
    }
    return 0;
}

/* DATA frames of the request side: as large as the peer takes, but no larger than keeps other
 * frames moving. */
static ssize_t channel_frame_bytes(nghttp2_session *session, uint8_t type, int32_t stream_id,
                                   int32_t connection_window, int32_t stream_window,
                                   uint32_t frame_bytes_max, void *owner)
{
    (void)session, (void)type, (void)stream_id, (void)connection_window, (void)stream_window,
        (void)owner;
    return frame_bytes_max < CHANNEL_READ_BYTES ? frame_bytes_max : CHANNEL_READ_BYTES;
}

static int channel_start_session(struct grpc_channel *channel)
{
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, CHANNEL_STREAM_WINDOW},
        {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, CHANNEL_FRAME_BYTES},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, 32768},
    };
    nghttp2_session_callbacks *callbacks = NULL;
    nghttp2_option *option = NULL;
    int failed = nghttp2_session_callbacks_new(&callbacks);

    failed = failed != 0 ? failed : nghttp2_option_new(&option);
    if (failed == 0) {
        nghttp2_option_set_no_auto_window_update(option, 1);
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, channel_frame_recv);
        nghttp2_session_callbacks_set_data_source_read_length_callback(callbacks,
                                                                       channel_frame_bytes);
        grpc_call_set_callbacks(callbacks);
        failed = nghttp2_session_client_new2(&channel->session, callbacks, channel, option);
    }
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_option_del(option);
    if (failed == 0) {
        failed = nghttp2_submit_settings(channel->session, NGHTTP2_FLAG_NONE, settings,
                                         sizeof settings / sizeof settings[0]);
    }
    if (failed == 0) {
        failed = nghttp2_session_set_local_window_size(channel->session, NGHTTP2_FLAG_NONE, 0,
                                                       CHANNEL_CONNECTION_WINDOW);
    }
    return failed == 0 ? 0 : channel_fail(channel, "HTTP/2: %s", nghttp2_strerror(failed));
}

int grpc_channel_init(struct grpc_channel *channel, const char *address, uint64_t deadline_ns,
                      int wake_fd, atomic_bool *interrupted)
{
    *channel = (struct grpc_channel){
        .magic = CHANNEL_MAGIC, .fd = -1, .wake_fd = wake_fd, .interrupted = interrupted};
    channel->in = malloc(CHANNEL_READ_BYTES);
    channel->out = malloc(CHANNEL_GATHER_BYTES);
    if (channel->in == NULL || channel->out == NULL) {
        return channel_fail(channel, "out of memory");
    }
    if (channel_connect(channel, address, deadline_ns) != 0 ||
        channel_start_session(channel) != 0) {
        return -1;
    }
    /* A peer that accepts but never sends SETTINGS is no gRPC server: better said now than by a
     * call without a deadline. */
    while (!channel->settings_seen) {
        switch (grpc_channel_step(channel, deadline_ns)) {
            case CHANNEL_OK: break;
            case CHANNEL_TIMEOUT:
                return channel_fail(channel, "%.200s does not answer as a gRPC server", address);
            case CHANNEL_INTERRUPTED: return channel_fail(channel, "interrupted");
            case CHANNEL_BROKEN: return -1;
        }
    }
    return 0;
}

void grpc_channel_fini(struct grpc_channel *channel)
{
    assert(channel->magic == CHANNEL_MAGIC);
    assert(channel->call == NULL);
    if (channel->session != NULL && !channel->broken) {
        nghttp2_session_terminate_session(channel->session, NGHTTP2_NO_ERROR);
        grpc_channel_flush(channel);
    }
    nghttp2_session_del(channel->session);
    if (channel->fd >= 0) {
        close(channel->fd);
    }
    free(channel->in);
    free(channel->out);
    channel->magic = 0;
}

/* What goes into the socket at once: small frames one behind the other, so that a call's headers
 * and its message are one packet and wake the server once; a frame that does not fit behind them
 * waits in nghttp2's memory for its turn. Leaves unsent_bytes at 0 when there is nothing. */
static int channel_gather(struct grpc_channel *channel)
{
    size_t gathered = 0;

    while (true) {
        if (channel->next_bytes == 0) {
            const ssize_t made = nghttp2_session_mem_send(channel->session, &channel->next);
            if (made < 0) {
                return channel_fail(channel, "HTTP/2: %s", nghttp2_strerror((int)made));
            }
            channel->next_bytes = (size_t)made;
        }
        if (channel->next_bytes == 0 || gathered + channel->next_bytes > CHANNEL_GATHER_BYTES) {
            break;
        }
        memcpy(channel->out + gathered, channel->next, channel->next_bytes);
        gathered += channel->next_bytes;
        channel->next_bytes = 0;
    }
    channel->unsent = gathered > 0 ? channel->out : channel->next;
    channel->unsent_bytes = gathered > 0 ? gathered : channel->next_bytes;
    channel->next_bytes = gathered > 0 ? channel->next_bytes : 0;
    return 0;
}

/* Sends until the socket or the windows are full. */
static int channel_send(struct grpc_channel *channel)
{
    for (;;) {
        if (channel->unsent_bytes == 0 && channel_gather(channel) != 0) {
            return -1;
        }
        if (channel->unsent_bytes == 0) {
            return 0;
        }
        const ssize_t sent =
            send(channel->fd, channel->unsent, channel->unsent_bytes, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return 0;
        }
        if (sent < 0) {
            return channel_fail(channel, "the connection broke: %s", strerror(errno));
        }
        channel->unsent += sent;
        channel->unsent_bytes -= (size_t)sent;
    }
}

/* Takes what the socket holds, at most CHANNEL_READS_A_STEP buffers. What came before an end of the
 * connection has been handed to nghttp2 by then. */
static int channel_receive(struct grpc_channel *channel)
{
    for (int i = 0; i < CHANNEL_READS_A_STEP; i++) {
        const ssize_t got = recv(channel->fd, channel->in, CHANNEL_READ_BYTES, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return 0;
        }
        if (got < 0) {
            return channel_fail(channel, "the connection broke: %s", strerror(errno));
        }
        if (got == 0) {
            return channel_fail(channel, "the server closed the connection");
        }
        const ssize_t used = nghttp2_session_mem_recv(channel->session, channel->in, (size_t)got);
        if (used < 0) {
            return channel_fail(channel, "the peer does not speak HTTP/2 as gRPC does: %s",
                                nghttp2_strerror((int)used));
        }
        if (got < CHANNEL_READ_BYTES) {
            return 0;
        }
    }
    return 0;
}

static bool take_interrupt(struct grpc_channel *channel)
{
    uint64_t count;

    /* acquire: pairs with the release in morsel_interrupt. */
    if (channel->interrupted == NULL ||
        !atomic_exchange_explicit(channel->interrupted, false, memory_order_acquire)) {
        return false;
    }
    if (channel->wake_fd >= 0) {
        (void)!read(channel->wake_fd, &count, sizeof count);
    }
    return true;
}

enum channel_result grpc_channel_step(struct grpc_channel *channel, uint64_t deadline_ns)
{
    assert(channel->magic == CHANNEL_MAGIC);
    if (channel->broken) {
        return CHANNEL_BROKEN;
    }
    if (take_interrupt(channel)) {
        return CHANNEL_INTERRUPTED;
    }
    if (channel_send(channel) != 0) {
        return CHANNEL_BROKEN;
    }
    if (!nghttp2_session_want_read(channel->session) && channel->unsent_bytes == 0) {
        channel_fail(channel, channel->settings_seen ? "the connection was ended"
                                                     : "the peer does not speak HTTP/2: is this "
                                                       "morseld's gRPC port?");
        return CHANNEL_BROKEN;
    }
    struct pollfd polled[2] = {
        {channel->fd, (short)(POLLIN | (channel->unsent_bytes > 0 ? POLLOUT : 0)), 0},
        {channel->wake_fd, POLLIN, 0},
    };
    const int ready = poll(polled, 2, wait_ms(deadline_ns));
    if (ready < 0 && errno != EINTR) {
        channel_fail(channel, "poll: %s", strerror(errno));
        return CHANNEL_BROKEN;
    }
    if (ready == 0) {
        return CHANNEL_TIMEOUT;
    }
    if (ready > 0 && (polled[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0 &&
        channel_receive(channel) != 0) {
        return CHANNEL_BROKEN;
    }
    return CHANNEL_OK;
}

void grpc_channel_flush(struct grpc_channel *channel)
{
    if (!channel->broken) {
        channel_send(channel);
    }
}

#ifndef CLIENT_GRPC_CHANNEL_H
#define CLIENT_GRPC_CHANNEL_H

#include <nghttp2/nghttp2.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* One HTTP/2 connection of a client: a non-blocking socket, an nghttp2 session and a pump driven by
 * poll(). It has no thread of its own: it moves only inside channel_step, so a caller that does not
 * read applies backpressure by doing nothing. Carries one call at a time (grpc_call.c).
 *
 * Windows: 16 MiB for the connection, given back at once; 4 MiB a stream, given back when the
 * caller takes the bytes. nghttp2 is not re-entrant: its callbacks only store. */

enum {
    CHANNEL_STREAM_WINDOW = 4 << 20,
    CHANNEL_CONNECTION_WINDOW = 16 << 20,
    CHANNEL_FRAME_BYTES = 1 << 20,
    CHANNEL_READ_BYTES = 256 << 10,
    CHANNEL_GATHER_BYTES = 16 << 10, /* of small frames sent together */
    CHANNEL_READS_A_STEP = 4,
    CHANNEL_TEXT_BYTES = 256,
    CHANNEL_ADDRESS_BYTES = 300,
};

enum channel_result {
    CHANNEL_OK,
    CHANNEL_TIMEOUT,     /* the deadline passed inside channel_step */
    CHANNEL_INTERRUPTED, /* grpc_channel_interrupt was called; reported once */
    CHANNEL_BROKEN,      /* text says why; only grpc_channel_fini is left to call */
};

struct grpc_call;

struct grpc_channel {
    uint32_t magic;
    int fd;
    nghttp2_session *session;
    struct grpc_call *call; /* the one under way, or NULL */
    bool broken, goaway, settings_seen;
    uint8_t *in, *out;            /* CHANNEL_READ_BYTES, CHANNEL_GATHER_BYTES */
    const uint8_t *unsent, *next; /* `out` or memory of nghttp2's, valid until its next mem_send */
    size_t unsent_bytes, next_bytes;
    char text[CHANNEL_TEXT_BYTES];
    char authority[CHANNEL_ADDRESS_BYTES];
    int wake_fd; /* borrowed: becomes readable on an interrupt; -1: none */
    atomic_bool *interrupted;
};

/* Monotonic clock; deadlines are points on it, UINT64_MAX: none. */
uint64_t grpc_clock_ns(void);

/* Splits "host", "host:port", "[v6]:port". False: not an address. */
bool grpc_address_split(const char *address, char host_out[CHANNEL_ADDRESS_BYTES],
                        char port_out[8]);

/* Connects and sends preface and SETTINGS. 0, or -1 and channel->text. */
int grpc_channel_init(struct grpc_channel *channel, const char *address, uint64_t deadline_ns,
                      int wake_fd, atomic_bool *interrupted);
void grpc_channel_fini(struct grpc_channel *channel);

/* Sends what can be sent, then waits at most until the deadline for the socket, then takes what
 * came. Returns after one round. */
enum channel_result grpc_channel_step(struct grpc_channel *channel, uint64_t deadline_ns);

/* Sends without waiting: for a last RST_STREAM. */
void grpc_channel_flush(struct grpc_channel *channel);

#endif

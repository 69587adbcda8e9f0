#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* What this machine can do, for a benchmark to hold its figures against: the rate of a sequential
 * read and of independent random reads of 64-byte lines with prefetch, both over 1 GiB of touched
 * huge pages, by one thread and by two. Prints one line of JSON. */

enum { THREADS_MAX = 2, PASSES = 5, AHEAD = 32 };

static const size_t BYTES = (size_t)1 << 30;

struct reader {
    const uint64_t *words;
    size_t begin, end; /* words */
    uint64_t seed, sum;
    size_t lines; /* random reads to make; 0: read in order */
};

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static uint64_t step(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void *read_stream(void *arg)
{
    struct reader *reader = arg;
    uint64_t sums[8] = {0};

    for (size_t w = reader->begin; w < reader->end; w += 8) {
        for (size_t i = 0; i < 8; i++) {
            sums[i] += reader->words[w + i];
        }
    }
    for (size_t i = 0; i < 8; i++) {
        reader->sum += sums[i];
    }
    return NULL;
}

static void *read_random(void *arg)
{
    struct reader *reader = arg;
    const size_t mask = BYTES / 64 - 1;
    size_t line[AHEAD] = {0};

    for (size_t n = 0; n < reader->lines; n += AHEAD) {
        for (size_t i = 0; i < AHEAD; i++) {
            line[i] = (step(&reader->seed) & mask) * 8;
            __builtin_prefetch(reader->words + line[i]);
        }
        for (size_t i = 0; i < AHEAD; i++) {
            reader->sum += reader->words[line[i]];
        }
    }
    return NULL;
}

static double best_seconds(void *(*reading)(void *), const uint64_t *words, size_t threads,
                           size_t lines)
{
    double best = 1e9;

    for (int pass = 0; pass < PASSES; pass++) {
        struct reader readers[THREADS_MAX] = {0};
        pthread_t started[THREADS_MAX];
        const size_t share = BYTES / 8 / threads;
        const double start = seconds_now();

        for (size_t t = 0; t < threads; t++) {
            readers[t] = (struct reader){.words = words,
                                         .begin = share * t,
                                         .end = share * (t + 1),
                                         .seed = 88172645463325252u + t,
                                         .lines = lines / threads};
            if (pthread_create(&started[t], NULL, reading, &readers[t]) != 0) {
                perror("bench_limits");
                exit(1);
            }
        }
        for (size_t t = 0; t < threads; t++) {
            pthread_join(started[t], NULL);
        }
        const double seconds = seconds_now() - start;
        best = seconds < best ? seconds : best;
    }
    return best;
}

int main(void)
{
    const size_t lines = (size_t)1 << 25;
    uint64_t *words = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (words == MAP_FAILED) {
        perror("bench_limits: 1 GiB");
        return 1;
    }
    madvise(words, BYTES, MADV_HUGEPAGE);
    memset(words, 1, BYTES);
    printf("{\"stream_gbs\": {\"1\": %.1f, \"2\": %.1f}, ",
           (double)BYTES / best_seconds(read_stream, words, 1, 0) * 1e-9,
           (double)BYTES / best_seconds(read_stream, words, 2, 0) * 1e-9);
    printf("\"random_mlines\": {\"1\": %.0f, \"2\": %.0f}}\n",
           (double)lines / best_seconds(read_random, words, 1, lines) * 1e-6,
           (double)lines / best_seconds(read_random, words, 2, lines) * 1e-6);
    return 0;
}

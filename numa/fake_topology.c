#include "fake_topology.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { FAKE_WORDS_MAX = 12, FAKE_FILE_NUMBER_MAX = 65535 };

struct fake_parser {
    const char *path;
    uint32_t line;
    char *why;
    size_t why_bytes;
    struct nu_topology *topology;
    uint16_t node_of[NU_NODES_MAX]; /* node number of the file, by our index */
    bool distance_given[NU_NODES_MAX][NU_NODES_MAX];
};

static int fake_fail(struct fake_parser *parser, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int fake_fail(struct fake_parser *parser, const char *format, ...)
{
    va_list arguments;
    const int prefix =
        snprintf(parser->why, parser->why_bytes, "%s:%" PRIu32 ": ", parser->path, parser->line);
    if (prefix >= 0 && (size_t)prefix < parser->why_bytes) {
        va_start(arguments, format);
        vsnprintf(parser->why + prefix, parser->why_bytes - (size_t)prefix, format, arguments);
        va_end(arguments);
    }
    return -EINVAL;
}

static int fake_number(struct fake_parser *parser, const char *what, const char *word, uint64_t max,
                       uint64_t *number_out)
{
    char *rest;
    errno = 0;
    const unsigned long long number = strtoull(word, &rest, 10);
    if (word[0] < '0' || word[0] > '9' || *rest != '\0' || errno != 0) {
        return fake_fail(parser, "%s '%s' is not a number", what, word);
    }
    if (number > max) {
        return fake_fail(parser, "%s %s exceeds %" PRIu64, what, word, max);
    }
    *number_out = number;
    return 0;
}

/* Our index of node `number` of the file; -EINVAL when no node line declared it. */
static int fake_find_node(struct fake_parser *parser, uint64_t number)
{
    for (uint32_t node = 0; node < parser->topology->node_count; node++) {
        if (parser->node_of[node] == number) {
            return (int)node;
        }
    }
    return fake_fail(parser, "node %" PRIu64 " has no 'node' line above", number);
}

static int fake_node_line(struct fake_parser *parser, char **words, uint32_t word_count)
{
    struct nu_topology *topology = parser->topology;
    uint64_t number, bytes;

    if (word_count != 4 || strcmp(words[2], "memory") != 0) {
        return fake_fail(parser, "expected 'node N memory BYTES'");
    }
    int failed = fake_number(parser, "node", words[1], FAKE_FILE_NUMBER_MAX, &number);
    if (failed == 0) {
        failed = fake_number(parser, "memory", words[3], UINT64_MAX / NU_NODES_MAX, &bytes);
    }
    if (failed != 0) {
        return failed;
    }
    for (uint32_t node = 0; node < topology->node_count; node++) {
        if (parser->node_of[node] == number) {
            return fake_fail(parser, "node %" PRIu64 " is declared twice", number);
        }
    }
    if (topology->node_count == NU_NODES_MAX) {
        return fake_fail(parser, "more than %d nodes", NU_NODES_MAX);
    }
    parser->node_of[topology->node_count] = (uint16_t)number;
    topology->nodes[topology->node_count++] =
        (struct nu_node){.os_node = (uint16_t)number, .memory_bytes = bytes};
    return 0;
}

static int fake_cpu_line(struct fake_parser *parser, char **words, uint32_t word_count)
{
    static const char *const names[] = {"cpu", "node", "core", "l3", "socket"};
    struct nu_topology *topology = parser->topology;
    uint64_t numbers[5];

    if (word_count != 10) {
        return fake_fail(parser, "expected 'cpu C node N core K l3 L socket S'");
    }
    for (uint32_t i = 0; i < 5; i++) {
        if (strcmp(words[2 * i], names[i]) != 0) {
            return fake_fail(parser, "expected '%s', found '%s'", names[i], words[2 * i]);
        }
        const int failed =
            fake_number(parser, names[i], words[2 * i + 1], FAKE_FILE_NUMBER_MAX, &numbers[i]);
        if (failed != 0) {
            return failed;
        }
    }
    const int node = fake_find_node(parser, numbers[1]);
    if (node < 0) {
        return node;
    }
    for (uint32_t cpu = 0; cpu < topology->cpu_count; cpu++) {
        if (topology->cpus[cpu].os_cpu == numbers[0]) {
            return fake_fail(parser, "cpu %" PRIu64 " is declared twice", numbers[0]);
        }
    }
    if (topology->cpu_count == NU_CPUS_MAX) {
        return fake_fail(parser, "more than %d cpus", NU_CPUS_MAX);
    }
    topology->cpus[topology->cpu_count++] = (struct nu_cpu){.os_cpu = (uint16_t)numbers[0],
                                                            .node = (uint16_t)node,
                                                            .core = (uint16_t)numbers[2],
                                                            .l3 = (uint16_t)numbers[3],
                                                            .socket = (uint16_t)numbers[4]};
    return 0;
}

static int fake_distance_line(struct fake_parser *parser, char **words, uint32_t word_count)
{
    uint64_t from, to, distance;

    if (word_count != 4) {
        return fake_fail(parser, "expected 'distance A B D'");
    }
    int failed = fake_number(parser, "node", words[1], FAKE_FILE_NUMBER_MAX, &from);
    if (failed == 0) {
        failed = fake_number(parser, "node", words[2], FAKE_FILE_NUMBER_MAX, &to);
    }
    if (failed == 0) {
        failed = fake_number(parser, "distance", words[3], 254, &distance);
    }
    if (failed != 0) {
        return failed;
    }
    if (distance < NU_DISTANCE_LOCAL) {
        return fake_fail(parser, "distance %" PRIu64 " is below %d", distance, NU_DISTANCE_LOCAL);
    }
    const int a = fake_find_node(parser, from);
    if (a < 0) {
        return a;
    }
    const int b = fake_find_node(parser, to);
    if (b < 0) {
        return b;
    }
    parser->topology->distance[a][b] = (uint8_t)distance;
    parser->distance_given[a][b] = true;
    return 0;
}

static int fake_line(struct fake_parser *parser, char *line)
{
    char *words[FAKE_WORDS_MAX];
    uint32_t word_count = 0;
    char *rest = NULL;

    line[strcspn(line, "#\n")] = '\0';
    for (char *word = strtok_r(line, " \t\r", &rest); word != NULL;
         word = strtok_r(NULL, " \t\r", &rest)) {
        if (word_count == FAKE_WORDS_MAX) {
            return fake_fail(parser, "more than %d words", FAKE_WORDS_MAX);
        }
        words[word_count++] = word;
    }
    if (word_count == 0) {
        return 0;
    }
    if (strcmp(words[0], "node") == 0) {
        return fake_node_line(parser, words, word_count);
    }
    if (strcmp(words[0], "cpu") == 0) {
        return fake_cpu_line(parser, words, word_count);
    }
    if (strcmp(words[0], "distance") == 0) {
        return fake_distance_line(parser, words, word_count);
    }
    return fake_fail(parser, "unknown word '%s' (expected node, cpu or distance)", words[0]);
}

/* Every node needs a CPU: the engine gives each node workers of its own. */
static int fake_check(struct fake_parser *parser)
{
    const struct nu_topology *topology = parser->topology;
    if (topology->cpu_count == 0) {
        return fake_fail(parser, "the file declares no cpu");
    }
    for (uint32_t node = 0; node < topology->node_count; node++) {
        bool used = false;
        for (uint32_t cpu = 0; cpu < topology->cpu_count; cpu++) {
            used = used || topology->cpus[cpu].node == node;
        }
        if (!used) {
            return fake_fail(parser, "node %u has no cpu", (unsigned)parser->node_of[node]);
        }
    }
    return 0;
}

static void fake_fill_distances(struct fake_parser *parser)
{
    struct nu_topology *topology = parser->topology;
    for (uint32_t a = 0; a < topology->node_count; a++) {
        for (uint32_t b = 0; b < topology->node_count; b++) {
            if (parser->distance_given[a][b]) {
                continue;
            }
            topology->distance[a][b] = parser->distance_given[b][a] ? topology->distance[b][a]
                                       : a == b                     ? NU_DISTANCE_LOCAL
                                                                    : 2 * NU_DISTANCE_LOCAL;
        }
    }
}

int fake_topology_read(struct nu_topology *topology, const char *path, char *why, size_t why_bytes)
{
    struct fake_parser parser = {
        .path = path, .why = why, .why_bytes = why_bytes, .topology = topology};
    char *line = NULL;
    size_t line_bytes = 0;
    int failed = 0;

    FILE *file = fopen(path, "re");
    if (file == NULL) {
        failed = -errno;
        snprintf(why, why_bytes, "%s: %s", path, strerror(errno));
        return failed;
    }
    while (failed == 0 && getline(&line, &line_bytes, file) >= 0) {
        parser.line++;
        failed = fake_line(&parser, line);
    }
    if (failed == 0 && ferror(file)) {
        failed = fake_fail(&parser, "cannot be read");
    }
    free(line);
    fclose(file);
    if (failed == 0) {
        failed = fake_check(&parser);
    }
    if (failed != 0) {
        return failed;
    }
    fake_fill_distances(&parser);
    topology->fake = true;
    return 0;
}

#include "trace_file.h"

#include "output_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_BYTES = 400 };

struct trace_pipeline {
    uint32_t number;
    char steps[STEPS_BYTES]; /* escaped */
};

struct trace_file {
    struct trace_taker taker; /* first */
    struct output_file output;
    struct trace_pipeline *pipelines;
    uint32_t pipeline_count;
    uint64_t dropped, waits;
    uint32_t lane_count; /* workers that have their name */
    bool no_memory, any, quiet;
};

/* ---- text ------------------------------------------------------------------------------------ */

static void json_escape(const char *from, char *out, size_t out_bytes)
{
    size_t used = 0;

    for (; *from != '\0' && used + 7 < out_bytes; from++) {
        if (*from == '"' || *from == '\\') {
            out[used++] = '\\';
            out[used++] = *from;
        } else if ((unsigned char)*from < 0x20) {
            used += (size_t)snprintf(out + used, out_bytes - used, "\\u%04x", (unsigned)*from);
        } else {
            out[used++] = *from;
        }
    }
    out[used] = '\0';
}

/* One element of traceEvents. */
static void put(struct trace_file *file, const char *text)
{
    output_text(&file->output, file->any ? ",\n" : "\n");
    output_text(&file->output, text);
    file->any = true;
}

static const char *steps_of(const struct trace_file *file, uint32_t number)
{
    for (uint32_t i = 0; i < file->pipeline_count; i++) {
        if (file->pipelines[i].number == number) {
            return file->pipelines[i].steps;
        }
    }
    return number == 0 ? "plan" : "";
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Microseconds with all their digits. */
#define US "%" PRIu64 ".%03u"
#define US_OF(ns) (ns) / 1000, (unsigned)((ns) % 1000)

static void put_slice(struct trace_file *file, const struct source_trace *trace,
                      const struct exec_trace_event *event, const char *name, const char *args)
{
    char text[1200];

    snprintf(text, sizeof text,
             "{\"ph\":\"X\",\"pid\":1,\"tid\":%" PRIu32 ",\"name\":\"%s\",\"ts\":" US ",\"dur\":" US
             "%s}",
             trace->worker, name, US_OF(event->begin_ns), US_OF(event->end_ns - event->begin_ns),
             args);
    put(file, text);
}

static void put_morsel(struct trace_file *file, const struct source_trace *trace,
                       const struct exec_trace_event *event)
{
    char name[STEPS_BYTES + 32], args[200];
    const bool finish = event->kind == EXEC_TRACE_FINISH;

    if (event->pipe == 0) {
        snprintf(name, sizeof name, "plan");
    } else {
        snprintf(name, sizeof name, "%s%" PRIu32 " %s", finish ? "end of " : "", event->pipe,
                 steps_of(file, event->pipe));
    }
    snprintf(args, sizeof args,
             ",\"cat\":\"%s\",\"args\":{\"pipeline\":%" PRIu32 ",\"rows\":%" PRIu64
             ",\"units\":%" PRIu64 ",\"home_node\":%u,\"local\":%s}",
             event->pipe == 0 ? "plan"
             : finish         ? "finish"
                              : "morsel",
             event->pipe, event->rows, event->units, event->peer,
             event->peer == trace->node ? "true" : "false");
    if (finish) {
        snprintf(args, sizeof args, ",\"cat\":\"finish\",\"args\":{\"pipeline\":%" PRIu32 "}",
                 event->pipe);
    }
    put_slice(file, trace, event, name, args);
}

static void put_steal(struct trace_file *file, const struct source_trace *trace,
                      const struct exec_trace_event *event)
{
    static const char *const levels[] = {"smt", "l3", "node", "remote"};
    char text[300];

    snprintf(text, sizeof text,
             "{\"ph\":\"i\",\"s\":\"t\",\"pid\":1,\"tid\":%" PRIu32
             ",\"cat\":\"steal\",\"name\":\"steal\",\"ts\":" US
             ",\"args\":{\"victim\":%u,\"level\":\"%s\",\"units\":%" PRIu64 "}}",
             trace->worker, US_OF(event->begin_ns), event->peer, levels[event->level & 3],
             event->units);
    put(file, text);
}

static void put_wait(struct trace_file *file, const struct source_trace *trace,
                     const struct exec_trace_event *event)
{
    const char *name = event->kind == EXEC_TRACE_WAIT_IO ? "wait for file" : "wait for reader";
    const uint64_t id = ++file->waits;
    char text[400];

    snprintf(text, sizeof text,
             "{\"ph\":\"b\",\"pid\":1,\"tid\":%" PRIu32 ",\"cat\":\"wait\",\"id\":%" PRIu64
             ",\"name\":\"%s\",\"ts\":" US ",\"args\":{\"pipeline\":%" PRIu32 "}}",
             trace->worker, id, name, US_OF(event->begin_ns), event->pipe);
    put(file, text);
    snprintf(text, sizeof text,
             "{\"ph\":\"e\",\"pid\":1,\"tid\":%" PRIu32 ",\"cat\":\"wait\",\"id\":%" PRIu64
             ",\"name\":\"%s\",\"ts\":" US "}",
             trace->worker, id, name, US_OF(event->end_ns));
    put(file, text);
}

/* ---- what the source tells ------------------------------------------------------------------- */

static void take_pipeline(struct trace_taker *taker, uint32_t number, const char *steps)
{
    struct trace_file *file = (struct trace_file *)taker;
    struct trace_pipeline *grown =
        realloc(file->pipelines, (file->pipeline_count + 1) * sizeof *grown);

    if (grown == NULL) {
        file->no_memory = true;
        return;
    }
    file->pipelines = grown;
    grown[file->pipeline_count].number = number;
    json_escape(steps, grown[file->pipeline_count].steps, STEPS_BYTES);
    file->pipeline_count++;
}

static void name_lane(struct trace_file *file, const struct source_trace *trace)
{
    char text[200];

    snprintf(text, sizeof text,
             "{\"ph\":\"M\",\"pid\":1,\"tid\":%" PRIu32
             ",\"name\":\"thread_name\",\"args\":{\"name\":\"worker %" PRIu32 " (node %" PRIu32
             ")\"}}",
             trace->worker, trace->worker, trace->node);
    put(file, text);
    snprintf(text, sizeof text,
             "{\"ph\":\"M\",\"pid\":1,\"tid\":%" PRIu32
             ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%" PRIu32 "}}",
             trace->worker, trace->worker);
    put(file, text);
}

static void take_events(struct trace_taker *taker, const struct source_trace *trace)
{
    struct trace_file *file = (struct trace_file *)taker;

    if (trace->worker >= file->lane_count) {
        file->lane_count = trace->worker + 1;
        name_lane(file, trace);
    }
    file->dropped += trace->dropped;
    for (uint32_t i = 0; i < trace->event_count; i++) {
        const struct exec_trace_event *event = &trace->events[i];
        switch (event->kind) {
            case EXEC_TRACE_MORSEL:
            case EXEC_TRACE_FINISH: put_morsel(file, trace, event); break;
            case EXEC_TRACE_SEARCH:
                put_slice(file, trace, event, "search", ",\"cat\":\"idle\"");
                break;
            case EXEC_TRACE_PARK: put_slice(file, trace, event, "park", ",\"cat\":\"idle\""); break;
            case EXEC_TRACE_STEAL: put_steal(file, trace, event); break;
            case EXEC_TRACE_WAIT_CREDIT:
            case EXEC_TRACE_WAIT_IO: put_wait(file, trace, event); break;
            default: break; /* a newer server knows more */
        }
    }
}

/* ---- the file -------------------------------------------------------------------------------- */

struct trace_file *trace_file_open(const char *path, bool quiet, struct exec_error *err)
{
    struct trace_file *file = calloc(1, sizeof *file);

    if (file == NULL) {
        EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "out of memory");
        return NULL;
    }
    file->taker = (struct trace_taker){.pipeline = take_pipeline, .events = take_events};
    file->quiet = quiet;
    if (output_open(&file->output, path, err) != EXEC_OK) {
        if (err->sys_errno != 0) {
            EXEC_FAIL_ERRNO(err, EXEC_BAD_SPEC, err->sys_errno, "--trace %.300s: %s", path,
                            strerror(err->sys_errno));
        }
        free(file);
        return NULL;
    }
    return file;
}

enum exec_code trace_file_write(struct trace_file *file, struct job_source *source,
                                struct exec_error *err)
{
    char end[80];

    output_text(&file->output, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
    if (source->ops->trace(source, &file->taker) != 0 || file->no_memory) {
        return EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "out of memory for the trace");
    }
    snprintf(end, sizeof end, "\n],\"otherData\":{\"dropped\":%" PRIu64 "}}\n", file->dropped);
    output_text(&file->output, end);
    if (output_commit(&file->output, err) != EXEC_OK) {
        return err->code;
    }
    if (file->dropped != 0 && !file->quiet) {
        fprintf(stderr,
                "morsel: the trace lacks the %" PRIu64
                " oldest events: a worker keeps its newest\n",
                file->dropped);
    }
    return EXEC_OK;
}

void trace_file_close(struct trace_file *file)
{
    if (file != NULL) {
        output_close(&file->output);
        free(file->pipelines);
        free(file);
    }
}

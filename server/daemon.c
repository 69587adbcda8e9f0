#include "daemon.h"

#include "admin.h"
#include "admission.h"
#include "bridge.h"
#include "h2_conn.h"
#include "health_service.h"
#include "job_run.h"
#include "listener.h"
#include "log.h"
#include "notify.h"
#include "proto/job_setting.h"
#include "upload_session.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    DRAIN_FLUSH_MS = 2000, /* after the jobs were cancelled: their last words */
    DRAIN_POLL_MS = 5,
    WATCHDOG_STUCK_SECONDS = 10,
};

enum daemon_signal { SIGNAL_TERM, SIGNAL_INT, SIGNAL_HUP, SIGNAL_COUNT };

struct daemon {
    struct daemon_options options;
    struct config config; /* as reloaded */
    uv_loop_t loop;
    struct log log;
    struct metrics metrics;
    struct bridge bridge;
    struct job_table jobs;
    struct admission admission;
    struct health health;
    struct service_env env;
    struct h2_host host;
    struct listener listener;
    struct admin admin;
    struct exec_engine *engine;
    uv_async_t stop;
    uv_timer_t drain, watchdog;
    uv_signal_t signals[SIGNAL_COUNT];
    bool conns_gone, jobs_cancelled;
};

/* ---- settings ---------------------------------------------------------------------------------
 */

static enum exec_code daemon_start_engine(struct daemon *daemon, struct exec_error *err)
{
    const struct config *config = &daemon->config;
    struct exec_job_options defaults = {0};

    (void)job_setting_set(job_setting_find("policy", 6), config->policy, &defaults); /* checked */
    (void)job_setting_set(job_setting_find("probe_mode", 10), config->probe_mode, &defaults);
    const struct exec_engine_config engine = {
        .workers = (uint32_t)config->workers,
        .memory_limit_bytes = config->memory_limit,
        .job_memory_bytes = config->job_memory,
        .pool_reserve_bytes = config->pool_reserve,
        .data_root = config->data_root, /* empty: no files at all */
        .topology_file = config->topology_file[0] != '\0' ? config->topology_file : NULL,
        .policy = defaults.policy,
        .probe_mode = defaults.probe_mode,
        .morsel_rows = (uint32_t)config->morsel_rows,
        .no_io_uring = !config->io_uring,
        .log = log_engine_line,
        .log_owner = &daemon->log,
    };

    return exec_engine_create(&engine, &daemon->engine, err);
}

static void daemon_reload(struct daemon *daemon)
{
    struct config fresh;
    struct exec_error err = {0};
    enum exec_code code = EXEC_OK;

    if (daemon->options.reload == NULL) {
        return;
    }
    notify_reloading();
    code = daemon->options.reload(daemon->options.reload_owner, &fresh, &err);
    metrics_set(&daemon->metrics.config_reload_success, code == EXEC_OK);
    if (code != EXEC_OK) {
        log_line(&daemon->log, EXEC_LOG_ERROR, "reload: %s; the old settings stay", err.detail);
    } else {
        const char *needs_restart = config_reload(&daemon->config, &fresh);
        log_set_level(&daemon->log, daemon->config.log_level);
        metrics_set(&daemon->metrics.config_last_reload_success_timestamp_seconds,
                    (uint64_t)time(NULL));
        log_line(&daemon->log, EXEC_LOG_INFO, "reload: settings taken%s%s",
                 needs_restart != NULL ? "; a restart is needed for " : "",
                 needs_restart != NULL ? needs_restart : "");
    }
    notify_send("READY=1");
}

/* ---- the end ----------------------------------------------------------------------------------
 */

static void daemon_close_handles(struct daemon *daemon)
{
    uv_close((uv_handle_t *)&daemon->stop, NULL);
    uv_close((uv_handle_t *)&daemon->drain, NULL);
    uv_close((uv_handle_t *)&daemon->watchdog, NULL);
    for (int i = 0; daemon->options.signals && i < SIGNAL_COUNT; i++) {
        uv_close((uv_handle_t *)&daemon->signals[i], NULL);
    }
    listener_close(&daemon->listener);
}

/* Nobody is connected, nothing runs: everything goes down in the reverse order of its start. */
static void daemon_finish(struct daemon *daemon)
{
    admin_stop(&daemon->admin); /* it reads the engine's figures */
    exec_engine_destroy(daemon->engine);
    daemon->engine = NULL;
    bridge_drain(&daemon->bridge);
    bridge_close(&daemon->bridge);
    h2_host_close(&daemon->host);
    daemon_close_handles(daemon);
}

static void daemon_poll_end(uv_timer_t *timer)
{
    struct daemon *daemon = timer->data;

    if (daemon->jobs.live_count == 0 && daemon->env.uploads == NULL) {
        daemon_finish(daemon);
    }
}

static void daemon_conns_gone(void *owner)
{
    struct daemon *daemon = owner;

    if (daemon->conns_gone) {
        return;
    }
    daemon->conns_gone = true;
    /* Jobs whose client is gone were cancelled and end within a few milliseconds. */
    uv_timer_start(&daemon->drain, daemon_poll_end, 0, DRAIN_POLL_MS);
}

static void daemon_close_conns(uv_timer_t *timer)
{
    struct daemon *daemon = timer->data;

    h2_host_close_all(&daemon->host);
}

static void daemon_drain_over(uv_timer_t *timer)
{
    struct daemon *daemon = timer->data;

    log_line(&daemon->log, EXEC_LOG_WARNING, "drain_timeout is over: cancelling %u jobs",
             daemon->jobs.live_count);
    job_run_cancel_all(&daemon->jobs);
    upload_session_abort_all(&daemon->env);
    uv_timer_start(&daemon->drain, daemon_close_conns, DRAIN_FLUSH_MS, 0);
}

static void daemon_begin_drain(struct daemon *daemon)
{
    if (daemon->env.draining) {
        return;
    }
    log_line(&daemon->log, EXEC_LOG_INFO, "stopping: %u jobs, %u connections",
             daemon->jobs.live_count, daemon->host.conn_count);
    daemon->env.draining = true;
    atomic_store_explicit(&daemon->metrics.state, METRICS_DRAINING, memory_order_relaxed);
    notify_send("STOPPING=1");
    listener_close(&daemon->listener);
    health_service_stop(&daemon->health);
    job_run_refuse_queued(&daemon->jobs);
    uv_timer_start(&daemon->drain, daemon_drain_over, daemon->config.drain_timeout / 1000000, 0);
    h2_host_drain(&daemon->host, daemon_conns_gone, daemon);
}

static void daemon_stop_asked(uv_async_t *async)
{
    daemon_begin_drain(async->data);
}

static void daemon_signal(uv_signal_t *handle, int number)
{
    struct daemon *daemon = handle->data;

    if (number == SIGHUP) {
        daemon_reload(daemon);
    } else if (daemon->env.draining) {
        log_line(&daemon->log, EXEC_LOG_WARNING, "second signal: leaving at once");
        _exit(128 + number);
    } else {
        daemon_begin_drain(daemon);
    }
}

static void daemon_watchdog(uv_timer_t *timer)
{
    struct daemon *daemon = timer->data;

    if (exec_engine_alive(daemon->engine, WATCHDOG_STUCK_SECONDS * 1000000000ull)) {
        notify_send("WATCHDOG=1");
    } else {
        log_line(&daemon->log, EXEC_LOG_ERROR, "a worker is stuck: the watchdog gets no ping");
    }
}

/* ---- the start --------------------------------------------------------------------------------
 */

static void daemon_init_env(struct daemon *daemon)
{
    daemon->env = (struct service_env){
        .loop = &daemon->loop,
        .engine = daemon->engine,
        .bridge = &daemon->bridge,
        .jobs = &daemon->jobs,
        .admission = &daemon->admission,
        .metrics = &daemon->metrics,
        .started_ns = metrics_monotonic_ns(),
        .health = &daemon->health,
        .config = &daemon->config,
        .log = &daemon->log,
    };
    admission_init(&daemon->admission, &daemon->config, &daemon->metrics);
    daemon->health.serving = true;
}

/* Each connection is a descriptor; the soft limit is often 1,024. */
static void daemon_raise_file_limit(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max < 65536 ? files.rlim_max : 65536;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

static int daemon_init_loop(struct daemon *daemon)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    int failed = uv_loop_init(&daemon->loop);

    if (failed != 0) {
        return failed;
    }
    failed = bridge_init(&daemon->bridge, &daemon->loop);
    uv_async_init(&daemon->loop, &daemon->stop, daemon_stop_asked);
    uv_timer_init(&daemon->loop, &daemon->drain);
    uv_timer_init(&daemon->loop, &daemon->watchdog);
    daemon->stop.data = daemon;
    daemon->drain.data = daemon;
    daemon->watchdog.data = daemon;
    for (int i = 0; daemon->options.signals && i < SIGNAL_COUNT; i++) {
        uv_signal_init(&daemon->loop, &daemon->signals[i]);
        daemon->signals[i].data = daemon;
        uv_signal_start(&daemon->signals[i], daemon_signal, numbers[i]);
    }
    return failed != 0 ? failed : h2_host_init(&daemon->host, &daemon->env);
}

/* Two lines, the gRPC port and the admin port; whole or not there. */
static enum exec_code daemon_write_ports(const struct daemon *daemon, struct exec_error *err)
{
    const char *path = daemon->config.port_file;
    char temporary[CONFIG_TEXT_BYTES + 16];

    if (path[0] == '\0') {
        return EXEC_OK;
    }
    snprintf(temporary, sizeof temporary, "%s.%d", path, (int)getpid());
    FILE *file = fopen(temporary, "we");
    bool written = file != NULL;
    if (file != NULL) {
        written = fprintf(file, "%u\n%u\n", daemon->listener.port, daemon->admin.port) > 0;
        written = fclose(file) == 0 && written;
    }
    if (!written || rename(temporary, path) != 0) {
        return EXEC_FAIL_ERRNO(err, EXEC_IO, errno, "port_file: %s: %s", path, strerror(errno));
    }
    return EXEC_OK;
}

static enum exec_code daemon_open_ports(struct daemon *daemon, struct exec_error *err)
{
    enum exec_code code = listener_open(&daemon->listener, &daemon->host, daemon->config.listen,
                                        notify_listen_fd("grpc"), err);

    if (code == EXEC_OK && daemon->config.admin_listen[0] != '\0') {
        code = admin_start(&daemon->admin, &daemon->config, &daemon->metrics, daemon->engine,
                           notify_listen_fd("admin"), err);
    }
    return code == EXEC_OK ? daemon_write_ports(daemon, err) : code;
}

static void daemon_start_watchdog(struct daemon *daemon)
{
    const uint64_t every_ms = notify_watchdog_ms();

    if (every_ms > 0) {
        uv_timer_start(&daemon->watchdog, daemon_watchdog, every_ms, every_ms);
    }
}

enum exec_code daemon_create(const struct daemon_options *options, struct daemon **daemon_out,
                             struct exec_error *err)
{
    struct daemon *daemon = calloc(1, sizeof *daemon);
    char warning[CONFIG_WARNING_BYTES];

    if (daemon == NULL) {
        return EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "no memory for the daemon");
    }
    daemon->options = *options;
    daemon->config = options->config;
    log_init(&daemon->log);
    log_set_level(&daemon->log, daemon->config.log_level);
    signal(SIGPIPE, SIG_IGN);
    daemon_raise_file_limit();
    enum exec_code code = daemon_start_engine(daemon, err);
    if (code != EXEC_OK) {
        free(daemon);
        return code;
    }
    daemon_init_env(daemon);
    const int failed = daemon_init_loop(daemon);
    if (failed != 0) {
        /* No descriptors or no memory at the very start: the process is about to end. */
        exec_engine_destroy(daemon->engine);
        free(daemon);
        return EXEC_FAIL(err, EXEC_IO, "the event loop could not start: %s", uv_strerror(failed));
    }
    daemon->env.loop = &daemon->loop;
    code = daemon_open_ports(daemon, err);
    if (code != EXEC_OK) {
        daemon_finish(daemon);
        daemon_destroy(daemon);
        return code;
    }
    metrics_set(&daemon->metrics.config_reload_success, 1);
    metrics_set(&daemon->metrics.config_last_reload_success_timestamp_seconds,
                (uint64_t)time(NULL));
    atomic_store_explicit(&daemon->metrics.state, METRICS_READY, memory_order_relaxed);
    daemon_start_watchdog(daemon);
    log_line(&daemon->log, EXEC_LOG_INFO, "listening on %s (gRPC), admin port %u, %u workers",
             daemon->listener.address, daemon->admin.port,
             exec_engine_worker_count(daemon->engine));
    if (config_warning(&daemon->config, warning)) {
        log_line(&daemon->log, EXEC_LOG_WARNING, "%s", warning);
    }
    notify_send("READY=1\nSTATUS=serving");
    *daemon_out = daemon;
    return EXEC_OK;
}

void daemon_run(struct daemon *daemon)
{
    uv_run(&daemon->loop, UV_RUN_DEFAULT);
    log_line(&daemon->log, EXEC_LOG_INFO, "stopped");
}

void daemon_stop(struct daemon *daemon)
{
    uv_async_send(&daemon->stop);
}

void daemon_destroy(struct daemon *daemon)
{
    uv_run(&daemon->loop, UV_RUN_DEFAULT); /* close callbacks, after a start that failed */
    job_table_fini(&daemon->jobs);
    const int failed = uv_loop_close(&daemon->loop);
    assert(failed == 0);
    free(daemon);
}

uint16_t daemon_grpc_port(const struct daemon *daemon)
{
    return daemon->listener.port;
}

uint16_t daemon_admin_port(const struct daemon *daemon)
{
    return daemon->admin.port;
}

/* Starts, runs and stops a program: opens everything in the order of struct daemon, runs the loop until a
 * signal or a failure, and closes in the opposite order.
 *
 * A stop takes at most STOP_NS, plus the time to close the store; workers that hang are abandoned. */
#include "daemon/daemon.h"

#include <signal.h>
#include <string.h>

#include "base/log.h"
#include "daemon/daemon_int.h"
#include "daemon/server_status.h"
#include "http/http.h"
#include "io/clock.h"
#include "io/job.h"
#include "io/random.h"
#include "machinery/process_metrics.h"
#include "scheduler/scheduler.h"
#include "why/events.h"

/* Time limit of a stop: requests that are still in flight then are dropped. */
#define STOP_NS (4 * NS_PER_S)
#define STOP_POLL_NS (20 * NS_PER_MS)

/* --- Stopping --- */

/* Waits a limited time until requests in flight have ended. */
static void await_end(void *ctx)
{
    struct daemon *d = ctx;

    if ((embedded_is_quiet(&d->embedded) && remote_is_over(d)) || loop_now_ns(d->loop) >= d->stop_at_ns)
        loop_stop(d->loop);
    else
        timer_arm_after(&d->stop_timer, STOP_POLL_NS);
}

static void stop_components(struct daemon *d)
{
    csi_beside_stop(&d->csi_beside);
    if (d->components)
        d->stopped = components_stop(TAKE(d->components));
}

void daemon_stop(struct daemon *d)
{
    if (d->is_stopping)
        return;
    d->is_stopping = true;
    report_stopping(d);
    stop_components(d); /* requests already sent are completed */
    embedded_stop(&d->embedded);
    remote_stop(&d->remote);
    d->stop_at_ns = loop_now_ns(d->loop) + STOP_NS;
    timer_arm_after(&d->stop_timer, 0);
}

static void on_signal(void *ctx, int signum)
{
    struct daemon *d = ctx;

    if (!d->is_stopping)
        log_info("stopping", LOG_STR("signal", signum == SIGTERM ? "SIGTERM" : "SIGINT"));
    daemon_stop(d);
}

/* --- Components --- */

static void on_synced(void *ctx)
{
    struct daemon *d = ctx;

    if (d->program->has_server)
        components_start(d->components);
    else
        remote_begin(d);
}

/* Stock sidecars have their leases in the namespace of their pod: controllers in their place use the same.
 * NULL: the default. */
static const char *lease_namespace(const struct daemon *d)
{
    const struct daemon_settings *s = d->settings;

    if (s->lease_ns || s->parts != DAEMON_CSI || strcmp(d->remote.config.source, CONFIG_SOURCE_POD) != 0)
        return s->lease_ns;
    return d->remote.config.ns;
}

static int open_components(struct daemon *d, const struct server_version *version, struct error *err)
{
    bool is_local = d->program->has_server;
    struct components_options o = {
        .parts = d->settings->parts,
        .part = { .loop = d->loop,
                  .clock = clock_system(),
                  .client = is_local ? d->embedded.client : d->remote.client,
                  .metrics = d->metrics,
                  .seed = d->seed,
                  .is_local = is_local,
                  .server = *version },
        .settings = d->settings,
        .host = d->host,
        .identity = is_local ? NULL : d->remote.identity,
        .lease_ns = lease_namespace(d),
        .streams_lists = !is_local && server_version_streams_lists(version),
        .each_event = is_local ? why_each_stored_event : NULL,
        .events_ctx = d->embedded.store,
        .store = is_local ? d->embedded.store : NULL,
        .on_synced = on_synced,
        .ctx = d,
    };

    return components_new(&o, &d->components, err);
}

/* A Berth server may run the same part itself: two sets of controllers would work against each other. A
 * second scheduler is fine, it schedules only pods that name it; CSI controllers have a lease per driver. */
static int check_server_parts(const struct daemon *d, const struct server_status *status, struct error *err)
{
    const char *part = d->program->name, *scheduler = d->settings->scheduler_name;

    if (d->settings->parts == DAEMON_CSI || !server_status_has_part(status, part) ||
        (scheduler && strcmp(scheduler, SCHEDULER_NAME) != 0))
        return 0;
    return error_set(err, ERR_BUSY,
                     "the server at %s runs its own %s: start it with --without %s, or stop this process",
                     d->remote.config.server, part, part);
}

void daemon_reached(struct daemon *d, const struct server_status *status)
{
    struct error err;

    if (d->is_stopping ||
        (check_server_parts(d, status, &err) == 0 && open_components(d, &d->remote.version, &err) == 0 &&
         csi_beside_begin(d, &err) == 0))
        return;
    log_error("cannot start", LOG_ERR(&err));
    d->has_failed = true;
    loop_stop(d->loop);
}

/* --- Starting --- */

static int open_process(struct daemon *d, struct error *err)
{
    struct hash_seed seed = { 0 };
    int r = loop_new(NULL, &d->loop, err);

    if (r < 0)
        return r;
    timer_init(&d->stop_timer, d->loop, await_end, d);
    r = loop_on_signal(d->loop, SIGTERM, on_signal, d, err);
    if (r == 0)
        r = loop_on_signal(d->loop, SIGINT, on_signal, d, err);
    if (r == 0)
        r = io_random(&seed, sizeof seed, err);
    if (r == 0)
        r = io_random(&d->seed, sizeof d->seed, err);
    if (r == 0)
        r = io_host_name(d->host, err);
    if (r < 0)
        return r;
    d->metrics = metrics_new(seed);
    return d->metrics ? process_metrics_add(d->metrics, err) : error_no_memory(err);
}

/* With the API server in this process. */
static int open_with_server(struct daemon *d, struct error *err)
{
    struct server_version version = server_version_own();
    int r = embedded_open(d, err);

    if (r == 0 && d->settings->parts)
        r = open_components(d, &version, err);
    return r < 0 ? r : report_await_ready(d, err);
}

static int open_monitor(struct daemon *d, struct error *err)
{
    struct monitor_options o = { .loop = d->loop,
                                 .address = d->settings->metrics,
                                 .metrics = d->metrics,
                                 .health = d->health,
                                 .write_stats = d->settings->parts & DAEMON_NODE ? report_write_stats : NULL,
                                 .ctx = d };
    int r = io_random(&o.seed, sizeof o.seed, err);

    return r == 0 && o.address ? monitor_new(&o, &d->monitor, err) : r;
}

/* With the API server that a kubeconfig names; the components are opened when it has answered. */
static int open_beside_server(struct daemon *d, struct error *err)
{
    int r;

    d->health = health_new();
    r = d->health ? remote_open(d, err) : error_no_memory(err);
    if (r == 0)
        r = csi_beside_open(d, err);
    if (r == 0)
        r = report_add_checks(d, err);
    return r < 0 ? r : open_monitor(d, err);
}

static int daemon_open(struct daemon *d, struct error *err)
{
    int r = open_process(d, err);

    if (r == 0)
        r = d->program->has_server ? open_with_server(d, err) : open_beside_server(d, err);
    return r < 0 ? r : report_supervise(d, err);
}

static void daemon_loop(struct daemon *d)
{
    if (d->program->has_server) {
        log_info("serving", LOG_STR("address", http_address(d->embedded.http)),
                 LOG_STR("data", d->settings->data_dir), LOG_BOOL("insecure", d->settings->is_insecure));
    } else {
        log_info("starting", LOG_STR("server", d->remote.config.server),
                 LOG_STR("config", d->remote.config.source),
                 LOG_STR("metrics", d->monitor ? monitor_address(d->monitor) : NULL),
                 LOG_BOOL("leader_elect", d->settings->is_elected));
        remote_reach(d);
    }
    loop_run(d->loop);
}

/* Ends every program, whether it ran or could not start. The store is closed before workers are awaited;
 * workers that hang are abandoned, and memory that they may read is not freed then: returns true. */
static bool close_all(struct daemon *d)
{
    timer_disarm(&d->stop_timer);
    timer_disarm(&d->ready_timer);
    supervised_done(&d->supervised);
    d->monitor = monitor_free(d->monitor);
    stop_components(d);
    csi_beside_close(&d->csi_beside);
    if (d->program->has_server)
        embedded_close(&d->embedded);
    else
        remote_close(&d->remote);
    if (d->loop && job_abandon_all(d->loop) > 0)
        return true;
    csi_beside_free(&d->csi_beside);
    d->stopped = components_free(d->stopped);
    d->health = health_free(d->health);
    d->metrics = metrics_free(d->metrics);
    d->loop = loop_free(d->loop);
    return false;
}

int daemon_run(const struct daemon_program *p, const struct daemon_settings *s, struct daemon_end *ret,
               struct error *err)
{
    struct daemon d = { .program = p, .settings = s };
    int r = p->has_server ? daemon_data_dir_check(s->data_dir, err) : 0;

    if (r == 0)
        components_begin(s);
    if (r == 0)
        r = daemon_open(&d, err);
    if (r == 0)
        daemon_loop(&d);
    ret->has_abandoned = close_all(&d);
    ret->has_failed = d.has_failed;
    return r;
}

/* A program against another API server: the connection to it, and the lease by which one of several instances
 * works.
 *
 * There are two clients to one server. `client` is for the components: it has the rate limit and, with leader
 * election, a gate, so that an instance without the lease writes nothing but the lease and its events. `own`
 * is for those, and neither limit nor gate delays them. Without --leader-elect the process leads as soon as
 * its caches are synced. */
#include "daemon/daemon_int.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "client/client_http.h"
#include "daemon/server_status.h"
#include "io/clock.h"
#include "io/random.h"
#include "machinery/client_metrics.h"
#include "machinery/recorder.h"

#define ASK_DEADLINE_NS (10 * NS_PER_S)
#define STATUS_BYTES_MAX 65536
/* Delay between two requests: doubled after each failure, with a random part. */
#define RETRY_NS_MIN NS_PER_S
#define RETRY_NS_MAX (30 * NS_PER_S)
/* Interval of checks whether the state of the lease changed and must be logged. */
#define LEASE_CHECK_NS (500 * NS_PER_MS)
/* Time limit for sending the last events. */
#define FLUSH_NS NS_PER_S

/* --- Version and status --- */

/* With the client of the caches, which learns from the response whether its watches can share a connection.
 */
static void remote_get(struct daemon *d, const char *path, client_done_fn *done)
{
    client_send(d->remote.client, &d->remote.call,
                &(struct client_request){ .verb = CLIENT_RAW, .path = path, .deadline_ns = ASK_DEADLINE_NS },
                done, d);
}

static void wait_and_retry(struct remote *c, const struct error *err)
{
    uint64_t wait_ns = c->failures < 5 ? RETRY_NS_MIN << c->failures : RETRY_NS_MAX;

    c->failures++;
    wait_ns += rng_below(&c->rng, wait_ns / 2);
    log_warn("cannot reach API server, retrying", LOG_STR("server", c->config.server), LOG_ERR(err),
             LOG_UINT("retry_ms", wait_ns / NS_PER_MS));
    timer_arm_after(&c->retry_timer, wait_ns);
}

/* A server without a status is accepted as it is. */
static void on_status(void *ctx, const struct client_answer *a)
{
    struct daemon *d = ctx;
    struct server_status status = { 0 };
    struct error ignored;
    struct json doc;
    json_ref v;

    json_init(&doc, STATUS_BYTES_MAX);
    if (a->r == 0 && json_parse(&doc, a->text, &v, &ignored) == 0)
        (void)server_status_read(&doc, v, &status, &ignored);
    daemon_reached(d, &status);
    json_done(&doc);
}

static void on_version(void *ctx, const struct client_answer *a)
{
    struct daemon *d = ctx;
    struct remote *c = &d->remote;
    struct error err;

    if (a->r < 0 || server_version_read(a->text, &c->version, &err) < 0) {
        wait_and_retry(c, a->r < 0 ? &a->error : &err);
        return;
    }
    log_info("API server reached", LOG_STR("server", c->config.server), LOG_INT("major", c->version.major),
             LOG_INT("minor", c->version.minor));
    if (c->version.is_berth && d->settings->parts != DAEMON_NODE)
        remote_get(d, "/status", on_status);
    else
        daemon_reached(d, &(struct server_status){ 0 });
}

void remote_reach(void *ctx)
{
    remote_get(ctx, "/version", on_version);
}

/* --- The lease --- */

static void on_started(void *ctx)
{
    struct daemon *d = ctx;

    log_info("leading", LOG_STR("identity", d->remote.identity),
             LOG_BOOL("elected", d->remote.leader != NULL));
    components_start(d->components);
}

static void on_stopped(void *ctx, bool is_lost)
{
    struct daemon *d = ctx;
    struct remote *c = &d->remote;
    const char *reason = leader_last_error(c->leader);

    c->flush_until_ns = loop_now_ns(d->loop) + FLUSH_NS;
    if (is_lost) {
        log_error("lease lost, exiting", LOG_STR("identity", c->identity), LOG_STR("reason", reason));
        d->has_failed = true;
        daemon_stop(d);
    } else if (reason[0]) {
        log_warn("cannot release lease", LOG_STR("reason", reason));
    }
}

/* Stores the beginning of the text; true when it differs from the one stored before. */
static bool text_changed(char kept[REMOTE_TEXT_BYTES], const char *text)
{
    if (strncmp(kept, text, REMOTE_TEXT_BYTES - 1) == 0)
        return false;
    (void)snprintf(kept, REMOTE_TEXT_BYTES, "%s", text);
    return true;
}

static void watch_lease(void *ctx)
{
    struct daemon *d = ctx;
    struct remote *c = &d->remote;
    bool is_leading = leader_state(c->leader) == LEADER_LEADING;
    const char *holder = leader_holder(c->leader), *reason = leader_last_error(c->leader);

    if (text_changed(c->logged_holder, holder) && !is_leading && holder[0])
        log_info("lease held by another instance", LOG_STR("holder", holder));
    if (text_changed(c->logged_reason, reason) && reason[0])
        log_warn(is_leading ? "cannot renew lease" : "cannot acquire lease", LOG_STR("reason", reason));
    timer_arm_after(&c->lease_timer, LEASE_CHECK_NS);
}

void remote_begin(struct daemon *d)
{
    struct remote *c = &d->remote;

    if (!c->leader) {
        on_started(d);
        return;
    }
    leader_start(c->leader);
    log_info("waiting for lease", LOG_STR("lease", daemon_lease(d->settings->parts)),
             LOG_STR("identity", c->identity));
    timer_arm_after(&c->lease_timer, LEASE_CHECK_NS);
}

void remote_stop(struct remote *c)
{
    timer_disarm(&c->lease_timer);
    if (c->leader && !c->flush_until_ns)
        leader_stop(c->leader); /* on_stopped() follows */
}

bool remote_is_over(const struct daemon *d)
{
    const struct remote *c = &d->remote;

    return !c->leader || (c->flush_until_ns &&
                          (recorder_is_idle(c->recorder) || loop_now_ns(d->loop) >= c->flush_until_ns));
}

void remote_describe(const struct remote *c, char *ret, size_t ret_bytes)
{
    const char *holder = c->leader ? leader_holder(c->leader) : "";
    bool is_leading = c->leader && leader_state(c->leader) == LEADER_LEADING;

    if (!c->leader || is_leading)
        (void)snprintf(ret, ret_bytes, "%s", is_leading ? "leading" : "working");
    else
        (void)snprintf(ret, ret_bytes, "standing by%s%s", holder[0] ? ": leader is " : "",
                       holder); /* may be cut */
}

/* --- Lifecycle --- */

int remote_open_client(struct daemon *d, const struct client_config *config, double qps, unsigned burst,
                       struct client **ret, struct error *err)
{
    struct http_client_options h = { .loop = d->loop, .clock = clock_system(), .config = config };
    struct client_options o = { .loop = d->loop, .qps = qps, .burst = burst };
    int r = http_client_new(&h, &o.carrier, err);

    if (r < 0)
        return r;
    o.observer = client_metrics_observer(d->remote.counts);
    return client_new(&o, ret, err);
}

static int open_leader(struct daemon *d, struct error *err)
{
    const struct daemon_settings *s = d->settings;
    struct remote *c = &d->remote;
    struct recorder_options events = { .loop = d->loop,
                                       .clock = clock_system(),
                                       .client = d->remote.own,
                                       .metrics = d->metrics,
                                       .seed = d->seed,
                                       .dialect = RECORDER_CORE,
                                       .component = daemon_lease(s->parts),
                                       .host = d->host };
    struct leader_options o = { .loop = d->loop,
                                .clock = clock_system(),
                                .client = d->remote.own,
                                .metrics = d->metrics,
                                .seed = d->seed,
                                .ns = s->lease_ns ? s->lease_ns : DAEMON_LEASE_NAMESPACE,
                                .name = daemon_lease(s->parts),
                                .identity = c->identity,
                                .lease_ns = s->lease_duration_ns,
                                .renew_ns = s->renew_deadline_ns,
                                .retry_ns = s->retry_period_ns,
                                .on_started = on_started,
                                .on_stopped = on_stopped,
                                .ctx = d };
    int r = recorder_new(&events, &c->recorder, err);

    o.recorder = c->recorder;
    if (r == 0)
        r = leader_new(&o, &c->leader, err);
    if (r == 0)
        client_set_gate(d->remote.client, leader_gate, c->leader);
    return r;
}

int remote_open(struct daemon *d, struct error *err)
{
    const struct daemon_settings *s = d->settings;
    struct remote *c = &d->remote;
    uint8_t random[UID_RANDOM_BYTES];
    char uid[UID_BYTES];
    struct str rest;
    const char *host;
    int r;

    rng_init(&c->rng, d->seed);
    timer_init(&c->retry_timer, d->loop, remote_reach, d);
    timer_init(&c->lease_timer, d->loop, watch_lease, d);
    r = config_load(&(struct config_options){ .file = s->kubeconfig, .context = s->context }, &c->config,
                    err);
    if (r == 0)
        r = io_random(random, sizeof random, err);
    if (r < 0)
        return r;
    uid_make(random, uid);
    (void)snprintf(c->identity, sizeof c->identity, "%s_%s", d->host, uid);
    rest = str_of(c->config.server);
    for (int slashes = 0; slashes < 2; slashes++) /* "https://host:6443/prefix" is the host "host:6443" */
        (void)str_next(&rest, '/');
    host = arena_dup(&c->config.arena, rest.s ? str_next(&rest, '/') : str_of(c->config.server));
    r = host ? client_metrics_new(d->metrics, host, &c->counts, err) : error_no_memory(err);
    if (r == 0)
        r = remote_open_client(d, &c->config, (double)s->rate, (unsigned)s->rate_burst, &c->client, err);
    if (r == 0)
        r = remote_open_client(d, &c->config, /* qps= */ 0, /* burst= */ 0, &c->own, err);
    return r == 0 && s->is_elected ? open_leader(d, err) : r;
}

void remote_close(struct remote *c)
{
    client_cancel(&c->call);
    timer_disarm(&c->retry_timer);
    timer_disarm(&c->lease_timer);
    c->leader = leader_free(c->leader);
    c->recorder = recorder_free(c->recorder);
    c->client = client_free(c->client);
    c->own = client_free(c->own);
    c->counts = client_metrics_free(c->counts);
    config_done(&c->config);
}

#include "daemon/cluster.h"

#include <assert.h>

#include "base/log.h"
#include "client/http.h"
#include "io/clock.h"
#include "machinery/client_metrics.h"
#include "machinery/server_version.h"

#define VERSION_DEADLINE_NS (10 * NS_PER_S)
/* Between two questions: doubling, and a part of it drawn. */
#define RETRY_NS_MIN NS_PER_S
#define RETRY_NS_MAX (30 * NS_PER_S)

static void ask_version(void *ctx);

/* --- Opening --- */

static int open_client(struct cluster *c, double qps, unsigned burst, struct client **ret, struct error *err)
{
    struct http_client_options h = { .loop = c->o.loop, .clock = clock_system(), .config = &c->config };
    struct client_options o = { .loop = c->o.loop, .qps = qps, .burst = burst };
    int r = http_client_new(&h, &o.carrier, err);

    if (r < 0)
        return r;
    o.observer = client_metrics_observer(c->counts);
    return client_new(&o, ret, err);
}

/* "https://host:6443/prefix" is the host "host:6443". */
static const char *host_of(struct cluster *c)
{
    struct str rest = str_of(c->config.server), host;

    for (int slashes = 0; slashes < 2; slashes++)
        (void)str_next(&rest, '/');
    host = rest.s ? str_next(&rest, '/') : str_of(c->config.server);
    return arena_dup(&c->config.arena, host);
}

int cluster_open(const struct cluster_options *o, struct cluster *ret, struct error *err)
{
    struct cluster *c = ret;
    const char *host;
    int r;

    c->o = *o;
    rng_init(&c->rng, o->seed);
    timer_init(&c->retry, o->loop, ask_version, c);
    r = config_load(&(struct config_options){ .file = o->kubeconfig, .context = o->context }, &c->config,
                    err);
    if (r < 0)
        return r;
    host = host_of(c);
    if (!host)
        return error_no_memory(err);
    r = client_metrics_new(o->metrics, host, &c->counts, err);
    if (r == 0)
        r = open_client(c, o->qps, o->burst, &c->client, err);
    if (r == 0)
        r = open_client(c, /* qps= */ 0, /* burst= */ 0, &c->own, err);
    return r;
}

void cluster_close(struct cluster *c)
{
    client_cancel(&c->call);
    timer_disarm(&c->retry);
    c->client = client_free(c->client);
    c->own = client_free(c->own);
    c->counts = client_metrics_free(c->counts);
    config_done(&c->config);
}

/* --- The version --- */

static void wait_and_retry(struct cluster *c, const struct error *err)
{
    uint64_t wait_ns = c->failures < 5 ? RETRY_NS_MIN << c->failures : RETRY_NS_MAX;

    c->failures++;
    wait_ns += rng_below(&c->rng, wait_ns / 2);
    log_warn("the server cannot be asked", LOG_STR("server", c->config.server), LOG_ERR(err),
             LOG_UINT("retry_ms", wait_ns / NS_PER_MS));
    timer_arm_after(&c->retry, wait_ns);
}

static void on_version(void *ctx, const struct client_answer *a)
{
    struct cluster *c = ctx;
    struct server_version version;
    struct error err;

    if (a->r < 0) {
        wait_and_retry(c, &a->error);
    } else if (server_version_read(a->text, &version, &err) < 0) {
        wait_and_retry(c, &err);
    } else {
        c->is_reached = true;
        c->o.on_reached(c->o.ctx, &version);
    }
}

/* By the client of the caches, which learns from the answer whether its watches can share a connection. */
static void ask_version(void *ctx)
{
    struct cluster *c = ctx;

    client_send(c->client, &c->call,
                &(struct client_request){
                    .verb = CLIENT_RAW, .path = "/version", .deadline_ns = VERSION_DEADLINE_NS },
                on_version, c);
}

void cluster_reach(struct cluster *c)
{
    assert(!c->is_reached);
    ask_version(c);
}

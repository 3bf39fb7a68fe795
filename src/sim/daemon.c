/* Berth's own programs as simulated processes.
 *
 * The components get loop, clock and client of the simulated process, and nothing from the real system. With
 * an election there are two clients, as in src/daemon/remote.c: one for the lease, one for the components,
 * whose requests are only sent while the lease is held. A process that loses its lease exits and is
 * restarted. */
#include "sim/daemon.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "machinery/leader.h"
#include "machinery/metrics.h"

/* Twice the default retry period: otherwise most requests of a run would be renewals and attempts to acquire
 * the lease. The lease has the default length, so it is easier to lose. */
#define LEASE_NS (15 * NS_PER_S)
#define RENEW_NS (10 * NS_PER_S)
#define RETRY_NS (4 * NS_PER_S)

struct sim_daemon {
    struct sim_process *process;
    struct daemon_settings settings;
    struct metrics *metrics;
    struct components *components;
    struct client *lease_client; /* its requests do not need the lease */
    struct leader *leader;       /* NULL: no election */
    char identity[64];
};

static void on_started(void *ctx)
{
    struct sim_daemon *d = ctx;

    if (d->leader)
        sim_trace(d->process->sim, "%s leads", d->identity);
    components_start(d->components);
}

static void on_stopped(void *ctx, bool is_lost)
{
    struct sim_daemon *d = ctx;

    sim_trace(d->process->sim, "%s stops leading%s", d->identity, is_lost ? ": lost" : "");
    d->process->has_exited = true;
}

static void on_synced(void *ctx)
{
    struct sim_daemon *d = ctx;

    if (d->leader)
        leader_start(d->leader);
    else
        on_started(d);
}

/* As in src/daemon/remote.c: two clients, one with a gate. */
static void open_leader(struct sim_daemon *d)
{
    struct sim_process *p = d->process;
    struct client_options c = { .loop = p->loop, .carrier = &network_link(&p->sim->network, p)->carrier };
    struct leader_options o = { .loop = p->loop,
                                .clock = &p->clock.clock,
                                .metrics = d->metrics,
                                .seed = p->seed,
                                .ns = DAEMON_LEASE_NAMESPACE,
                                .name = daemon_lease(d->settings.parts),
                                .identity = d->identity,
                                .lease_ns = LEASE_NS,
                                .renew_ns = RENEW_NS,
                                .retry_ns = RETRY_NS,
                                .on_started = on_started,
                                .on_stopped = on_stopped,
                                .ctx = d };
    struct error err;

    sim_must(client_new(&c, &d->lease_client, &err), &err);
    o.client = d->lease_client;
    sim_must(leader_new(&o, &d->leader, &err), &err);
    client_set_gate(p->client, leader_gate, d->leader);
}

static void *daemon_start(struct sim_process *p, void *ctx)
{
    const struct sim_daemon_options *o = ctx;
    struct sim_daemon *d = sim_alloc(sizeof *d);
    struct components_options c = { .host = o->host,
                                    .identity = d->identity,
                                    .streams_lists = p->seed % 2,
                                    .on_synced = on_synced,
                                    .ctx = d };
    struct error err;

    d->process = p;
    d->settings = o->settings;
    (void)snprintf(d->identity, sizeof d->identity, "%s_%016" PRIx64, o->host, p->seed);
    sim_must(daemon_settings_check(o->program, &d->settings, &err), &err);
    components_begin(&d->settings);
    d->metrics = metrics_new((struct hash_seed){ p->seed, 1 });
    if (!d->metrics)
        abort();
    c.parts = d->settings.parts;
    c.settings = &d->settings;
    c.part = (struct component_deps){
        .loop = p->loop, .clock = &p->clock.clock, .client = p->client, .metrics = d->metrics, .seed = p->seed
    };
    if (d->settings.is_elected)
        open_leader(d);
    if (components_new(&c, &d->components, &err) < 0) { /* after a fault: the process exits */
        sim_trace(p->sim, "%s cannot start: %s", p->program->name, err.msg);
        p->has_exited = true;
    }
    return d;
}

static void daemon_kill(void *state)
{
    struct sim_daemon *d = state;

    d->components = components_free(d->components);
    d->leader = leader_free(d->leader);
    d->lease_client = client_free(d->lease_client);
    d->metrics = metrics_free(d->metrics);
    daemon_settings_done(&d->settings);
    free(d);
}

static const char *daemon_check(const void *state, bool is_thorough)
{
    const struct sim_daemon *d = state;

    return components_check(d->components, is_thorough);
}

const struct sim_program sim_daemon_program = { "berth", daemon_start, daemon_kill, daemon_check };

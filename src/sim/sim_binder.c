/* The binder as a simulated process, and its volume plugin.
 *
 * A storage_work is one operation of the plugin on the host. It has a serial number that is unique in a run,
 * and a time limit. It outlives the plugin_op that was dropped, until the host reports its end. Two
 * operations of one kind on the same volume at once fail the run. */
#include "sim/sim_binder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_out.h"
#include "controllers/binder/binder_int.h"
#include "controllers/binder/binder_metrics.h"
#include "machinery/metrics.h"

/* The time limit of an operation of the plugin. */
#define WORK_NS (60 * NS_PER_S)
#define CACHES 5

struct storage_work {
    TAILQ_ENTRY(storage_work) link;
    struct sim_binder *owner;
    struct plugin_op *op; /* NULL: dropped by the binder */
    struct host_op *host_op;
    struct timer timer;
    unsigned serial;
    const char *what;
    char volume[64];
    char uid[64];
    char made[256]; /* of a provision: the JSON of the volume */
};

TAILQ_HEAD(storage_works, storage_work);

struct sim_binder {
    struct sim_process *process;
    struct informers *informers;
    struct informer_handler handlers[CACHES];
    struct metrics *metrics;
    struct binder *binder;
    struct storage_works works;
    unsigned serials; /* unique in a run */
    bool is_started;
    char dir[1]; /* plugin_host.host_path_dir points here: finds the binder of a plugin call */
};

/* --- The plugin --- */

static void work_free(struct storage_work *work)
{
    TAILQ_REMOVE(&work->owner->works, work, link);
    timer_disarm(&work->timer);
    free(work);
}

static void on_work_done(void *ctx, int r, const struct error *err)
{
    struct storage_work *work = ctx;
    struct plugin_op *op = work->op;

    if (op) {
        op->drop = NULL;
        op->work = NULL;
        if (r == 0)
            buf_add_cstr(&op->volume, work->made);
    }
    work_free(work);
    if (op)
        op->done(op, r, err);
}

static void on_work_late(void *ctx)
{
    struct storage_work *work = ctx;

    host_cancel(work->host_op);
}

/* The host still reports the end, which is ignored. */
static void work_drop(struct plugin_op *op)
{
    struct storage_work *work = op->work;

    work->op = NULL;
    timer_disarm(&work->timer);
    op->work = NULL;
    op->drop = NULL;
}

/* True if the binder waits for an operation of the same kind on the same volume. A removal may overlap with a
 * provision that another binder has completed, and with an operation on another volume of the same name. */
static bool has_same_work(const struct sim_binder *b, const char *what, const char *volume, const char *uid)
{
    const struct storage_work *work;

    TAILQ_FOREACH(work, &b->works, link)
        if (work->op && strcmp(work->volume, volume) == 0 && strcmp(work->uid, uid) == 0 &&
            strcmp(work->what, what) == 0)
            return true;
    return false;
}

static struct storage_work *work_begin(const struct plugin_host *h, const char *what, const char *volume,
                                       const char *uid, struct plugin_op *op)
{
    struct sim_binder *b = CONTAINER_OF((uintptr_t)h->host_path_dir, struct sim_binder, dir);
    struct sim_process *p = b->process;
    struct storage_work *work = sim_alloc(sizeof *work);
    char name[160];

    if (has_same_work(b, what, volume, uid))
        sim_fail(p->sim, "two operations of one kind at once for volume %s", volume);
    work->owner = b;
    work->op = op;
    work->what = what;
    work->serial = ++b->serials;
    (void)snprintf(work->volume, sizeof work->volume, "%s", volume);
    (void)snprintf(work->uid, sizeof work->uid, "%s", uid);
    TAILQ_INSERT_TAIL(&b->works, work, link);
    timer_init(&work->timer, p->loop, on_work_late, work);
    timer_arm_after(&work->timer, WORK_NS);
    op->work = work;
    op->drop = work_drop;
    (void)snprintf(name, sizeof name, "%u %s %s", work->serial, volume, uid);
    work->host_op = host_start(&p->sim->host, p, what, name, on_work_done, work);
    return work;
}

static bool plugin_can_support(const struct volume_plugin *self, const struct volume_spec *s)
{
    (void)self;
    return spec_source(s).kind == SOURCE_HOST_PATH;
}

static int plugin_check_provision(const struct plugin_host *h, const struct provision_request *q,
                                  struct error *err)
{
    (void)h;
    (void)q;
    (void)err;
    return 0;
}

static void plugin_provision(const struct plugin_host *h, const struct provision_request *q,
                             struct plugin_op *op)
{
    struct storage_work *work = work_begin(h, SIM_BINDER_PROVISION, q->volume_name, "-", op);
    struct buf made = BUF_ON(work->made, sizeof work->made);

    json_out_object(&made, NULL);
    json_out_object(&made, "spec");
    json_out_object(&made, "capacity");
    json_out_quantity(&made, "storage", &q->claim->request);
    json_out_end_object(&made);
    json_out_raw(&made, "accessModes", STR_LIT("[\"ReadWriteOnce\",\"ReadWriteMany\"]"));
    json_out_raw(&made, "hostPath", STR_LIT("{\"path\":\"/made\"}"));
    json_out_end_object(&made);
    json_out_end_object(&made);
}

static void plugin_remove(const struct plugin_host *h, const struct volume *v, struct plugin_op *op)
{
    (void)work_begin(h, SIM_BINDER_REMOVE, v->obj.name, v->obj.uid, op);
}

static void plugin_recycle(const struct plugin_host *h, const struct volume *v, struct plugin_op *op)
{
    (void)work_begin(h, SIM_BINDER_RECYCLE, v->obj.name, v->obj.uid, op);
}

static const struct provision_table provisions = { plugin_check_provision, plugin_provision };
static const struct delete_table deletes = { plugin_remove };
static const struct recycle_table recycles = { plugin_recycle };
static const struct volume_plugin plugin = { .name = SIM_BINDER_PLUGIN,
                                             .can_support = plugin_can_support,
                                             .provision = &provisions,
                                             .remove = &deletes,
                                             .recycle = &recycles };
static const struct volume_plugin *const plugins[] = { &plugin, NULL };

void sim_binder_effect_parse(const char *name, struct sim_binder_effect *ret)
{
    struct str rest = str_of(name), serial = str_next(&rest, ' '), volume = str_next(&rest, ' ');

    ret->serial = (unsigned)strtoul(serial.s, NULL, 10);
    (void)snprintf(ret->volume, sizeof ret->volume, "%.*s", STR_ARG(volume));
    (void)snprintf(ret->uid, sizeof ret->uid, "%.*s", STR_ARG(rest));
}

bool sim_binder_has_work(const void *state, unsigned serial)
{
    const struct sim_binder *b = state;
    const struct storage_work *work;

    if (!b)
        return false;
    TAILQ_FOREACH(work, &b->works, link)
        if (work->op && work->serial == serial)
            return true;
    return false;
}

bool sim_binder_is_reclaiming(const void *state, const struct volume *v)
{
    const struct sim_binder *b = state;

    return b && reclaim_has_begun(b->binder, v);
}

/* --- The process --- */

static void on_synced(void *ctx)
{
    struct sim_binder *b = ctx;

    if (b->is_started || !informers_are_synced(b->informers))
        return;
    b->is_started = true;
    binder_start(b->binder);
}

static void start_binder(struct sim_binder *b)
{
    struct sim_process *p = b->process;
    struct informer_options io = {
        .loop = p->loop, .client = p->client, .seed = p->seed, .streams_lists = p->seed % 2
    };
    struct binder_options o = { .plugins = plugins };
    struct error err;

    sim_must(informers_new(&io, &b->informers, &err), &err);
    o.part = (struct component_deps){ .loop = p->loop,
                                      .clock = &p->clock.clock,
                                      .client = p->client,
                                      .informers = b->informers,
                                      .metrics = b->metrics,
                                      .seed = p->seed,
                                      .server = server_version_own() };
    o.host = (struct plugin_host){ .loop = p->loop, .host_path_dir = b->dir, .provisions_host_path = true };
    sim_must(binder_new(&o, &b->binder, &err), &err);
}

static void *sim_binder_start(struct sim_process *p, void *ctx)
{
    static const enum kind kinds[CACHES] = { KIND_VOLUME, KIND_CLAIM, KIND_CLASS, KIND_POD, KIND_NODE };
    struct sim_binder *b = sim_alloc(sizeof *b);
    struct error err;

    (void)ctx;
    b->process = p;
    b->serials = ((unsigned)(p - p->sim->processes) * 1000 + p->starts) * 1000;
    TAILQ_INIT(&b->works);
    b->metrics = metrics_new((struct hash_seed){ p->seed, 1 });
    if (!b->metrics)
        abort();
    start_binder(b);
    for (size_t i = 0; i < CACHES; i++) {
        struct informer *cache = informers_get(b->informers, kinds[i], &err);

        if (!cache)
            abort();
        b->handlers[i] = (struct informer_handler){ .on_synced = on_synced, .ctx = b };
        informer_add_handler(cache, &b->handlers[i]);
    }
    informers_start(b->informers);
    return b;
}

static void sim_binder_kill(void *state)
{
    struct sim_binder *b = state;

    b->binder = binder_free(b->binder);
    for (size_t i = 0; i < CACHES; i++)
        informer_remove_handler(&b->handlers[i]);
    b->informers = informers_free(b->informers);
    b->metrics = metrics_free(b->metrics);
    while (!TAILQ_EMPTY(&b->works))
        work_free(TAILQ_FIRST(&b->works));
    free(b);
}

static const char *sim_binder_check(const void *state, bool is_thorough)
{
    const struct sim_binder *b = state;

    return binder_check(b->binder, is_thorough);
}

const struct sim_program sim_binder_program_one = { "one", sim_binder_start, sim_binder_kill,
                                                    sim_binder_check };
const struct sim_program sim_binder_program_two = { "two", sim_binder_start, sim_binder_kill,
                                                    sim_binder_check };

uint64_t sim_binder_matches(const void *state)
{
    const struct sim_binder *b = state;

    return binder_metrics_matches(b->binder->metrics);
}

int sim_binder_settled(const void *state, struct error *err)
{
    const struct sim_binder *b = state;

    if (!b->is_started)
        return error_set(err, ERR_INTERNAL, "the binder has not started");
    if (!binder_is_idle(b->binder))
        return error_set(err, ERR_INTERNAL, "the binder is not idle");
    return 0;
}

/* One round per minute: lists the mounts at its start and queries them one after the other during the minute.
 * Costs: a record of some hundred bytes and one short job per minute for each mount; nothing runs between
 * rounds. Records are those of the last list; volumes that were unmounted since are not shown. */
#include "node/stats.h"

#include <stdlib.h>
#include <string.h>

#include "host/device.h"
#include "io/job.h"
#include "node/stats_int.h"

/* The data of the worker. */
struct stats_job {
    struct job job;
    struct stats *stats;
    struct stats_record *record;
    struct volume_env env;
    const struct volume_plugin *plugin; /* a reference */
    char *path;
    bool is_block;
    uint64_t began_ns;
    struct host_usage usage;
};

/* --- Records --- */

static int record_cmp(void *ctx, const void *a, const void *b)
{
    const struct stats_record *left = a, *right = b;
    int c = strcmp(left->pod_uid, right->pod_uid);

    (void)ctx;
    return c ? c : strcmp(left->volume, right->volume);
}

static void record_free(struct stats_record *r)
{
    if (r->job)
        (void)job_drop(&r->job->job);
    free(r->pod_uid);
    free(r->volume);
    free(r->claim_ns);
    free(r->claim_name);
    free(r->last_error);
    free(r);
}

struct stats_record *stats_record(const struct stats *s, const struct node_mount *m)
{
    /* A key is only read. */
    struct stats_record key = { .pod_uid = m->pod->uid, .volume = m->volume->name };

    return omap_find(&s->records, /* rank= */ 0, &key);
}

/* NULL without memory. */
static struct stats_record *stats_add_record(struct stats *s, const struct node_mount *m)
{
    const struct volume *v = m->spec.spec.volume;
    struct stats_record *r = calloc(1, sizeof *r);
    bool has_claim = v && v->claim.is_set;

    if (!r)
        return NULL;
    r->pod_uid = strdup(m->pod->uid);
    r->volume = strdup(m->volume->name);
    r->claim_ns = has_claim ? strdup(v->claim.ns) : NULL;
    r->claim_name = has_claim ? strdup(v->claim.name) : NULL;
    if (!r->pod_uid || !r->volume || (has_claim && (!r->claim_ns || !r->claim_name)) ||
        omap_insert(&s->records, /* rank= */ 0, r) < 0) {
        record_free(r);
        return NULL;
    }
    return r;
}

const struct node_mount *stats_mount(const struct stats *s, const struct stats_record *r)
{
    const struct node_volume *v = node_world_find_volume(&s->agent->world, r->volume);
    const struct node_mount *m = v ? node_world_find_mount(v, r->pod_uid) : NULL;

    return m && m->state == MOUNT_DONE ? m : NULL;
}

/* --- Queries --- */

static int stats_run(struct job *j, struct error *err)
{
    struct stats_job *usage = CONTAINER_OF(j, struct stats_job, job);

    if (usage->is_block)
        return device_size(usage->path, &usage->usage.capacity, err);
    return usage->plugin->pods->usage(usage->plugin, &usage->env, usage->path, &usage->usage, err);
}

static void stats_job_free(struct job *j)
{
    struct stats_job *usage = CONTAINER_OF(j, struct stats_job, job);

    usage->plugin = plugin_unref(usage->plugin);
    free(usage->path);
    free(usage);
}

static const struct job_type ask_type = { "usage of a volume", stats_run, stats_job_free };

static void stats_go_on(void *ctx);

static void on_asked(void *ctx, struct job *j, int r, const struct error *err)
{
    const struct stats_job *usage = CONTAINER_OF(j, struct stats_job, job);
    struct stats *s = ctx;
    struct stats_record *record = usage->record;
    const struct component_deps *part = &s->agent->o.part;

    record->job = NULL;
    record->is_known = r == 0;
    record->is_block = usage->is_block;
    record->usage = usage->usage;
    record->real_ns = clock_real_ns(part->clock);
    free(record->last_error);
    record->last_error = r < 0 && r != -ERR_UNSUPPORTED ? strdup(err->msg) : NULL; /* usage is optional */
    if (s->seconds)
        metric_observe(metric_of(s->seconds, usage->plugin->name),
                       (double)(loop_now_ns(part->loop) - usage->began_ns) / NS_PER_S);
    s->jobs--;
    if (s->is_waiting) {
        s->is_waiting = false;
        stats_go_on(s);
    }
}

static void stats_ask(struct stats *s, struct stats_record *r)
{
    const struct node_mount *m = stats_mount(s, r);
    const struct volume_plugin *p = m ? m->volume->plugin : NULL;
    struct stats_job *usage;

    if (!m || r->job || !(m->was_block || (p->pods && p->pods->usage)))
        return;
    usage = calloc(1, sizeof *usage);
    if (!usage)
        return; /* retried in a minute */
    usage->job.type = &ask_type;
    usage->stats = s;
    usage->record = r;
    usage->plugin = plugin_ref(p);
    usage->job.about = usage->path = strdup(m->path);
    usage->is_block = m->was_block;
    usage->env = s->agent->env;
    usage->env.stop = &usage->job.stop;
    usage->env.tools.stop = &usage->job.stop;
    usage->began_ns = loop_now_ns(s->agent->o.part.loop);
    if (!usage->path) {
        stats_job_free(&usage->job);
        return;
    }
    r->job = usage;
    s->jobs++;
    job_begin(&usage->job, s->agent->o.pool, on_asked, s);
}

/* --- The round --- */

static int claim_cmp(const struct stats_record *a, const struct stats_record *b)
{
    int c = (a->claim_ns != NULL) - (b->claim_ns != NULL);

    if (c == 0 && a->claim_ns)
        c = strcmp(a->claim_ns, b->claim_ns);
    return c == 0 && a->claim_name ? strcmp(a->claim_name, b->claim_name) : c;
}

static int round_cmp(const void *a, const void *b)
{
    const struct stats_record *left = *(struct stats_record *const *)a,
                              *right = *(struct stats_record *const *)b;
    int c = claim_cmp(left, right);

    return c ? c : record_cmp(NULL, left, right);
}

/* Removes records that were not found this time; without memory for the list, next time. */
static void round_drop_gone(struct stats *s)
{
    _cleanup_(vec_done_p) VEC(struct stats_record *) gone = { 0 };
    struct omap_cursor at;

    for (struct stats_record *r = omap_first(&s->records, &at); r; r = omap_next(&at))
        if (!r->is_listed && vec_push(&gone, r) < 0)
            break;
    for (size_t i = 0; i < gone.count; i++) {
        if (gone.items[i]->job)
            s->jobs--;
        (void)omap_remove(&s->records, /* rank= */ 0, gone.items[i]);
        record_free(gone.items[i]);
    }
}

static void round_add(struct stats *s, const struct node_mount *m)
{
    struct stats_record *r = stats_record(s, m);

    if (m->state != MOUNT_DONE)
        return;
    if (!r)
        r = stats_add_record(s, m);
    if (r && vec_push(&s->round, r) == 0)
        r->is_listed = true;
}

static void round_begin(struct stats *s)
{
    const struct node_world *w = &s->agent->world;
    struct omap_cursor at;

    vec_clear(&s->round);
    s->next = 0;
    s->began_ns = loop_now_ns(s->agent->o.part.loop);
    for (struct stats_record *r = omap_first(&s->records, &at); r; r = omap_next(&at))
        r->is_listed = false;
    for (const struct node_volume *v = omap_first(&w->volumes, &at); v; v = omap_next(&at))
        for (const struct node_mount *m = TAILQ_FIRST(&v->mounts); m; m = TAILQ_NEXT(m, of_volume))
            round_add(s, m);
    round_drop_gone(s);
    if (s->round.count)
        qsort(s->round.items, s->round.count, sizeof *s->round.items, round_cmp);
    for (size_t i = 0; i < s->round.count; i++)
        s->round.items[i]->is_first = s->round.items[i]->claim_ns &&
                                      (i == 0 || claim_cmp(s->round.items[i - 1], s->round.items[i]) != 0);
}

/* The next record in order; after the last one, the next round. */
static void stats_go_on(void *ctx)
{
    struct stats *s = ctx;
    uint64_t part_ns = STATS_PERIOD_NS;

    if (s->next == s->round.count)
        round_begin(s);
    if (s->next < s->round.count) {
        if (s->jobs >= STATS_JOBS_MAX) {
            s->is_waiting = true;
            return;
        }
        stats_ask(s, s->round.items[s->next++]);
        part_ns = STATS_PERIOD_NS / s->round.count * s->next;
    }
    timer_arm(&s->timer, s->began_ns + part_ns);
}

void stats_start(struct stats *s)
{
    struct rng rng;

    rng_init(&rng, component_seed(&s->agent->o.part, "stats"));
    timer_arm_after(&s->timer, rng_below(&rng, STATS_PERIOD_NS));
}

/* --- Start and end --- */

int stats_new(struct agent *a, struct stats **ret, struct error *err)
{
    _cleanup_(stats_free_p) struct stats *s = calloc(1, sizeof *s);
    int r = 0;

    if (!s)
        return error_no_memory(err);
    s->agent = a;
    omap_init(&s->records, (struct omap_order){ record_cmp, record_cmp, NULL });
    timer_init(&s->timer, a->o.part.loop, stats_go_on, s);
    if (a->o.part.metrics)
        r = stats_open_metrics(s, a->o.part.metrics, err);
    if (r < 0)
        return r;
    *ret = TAKE(s);
    return 0;
}

struct stats *stats_free(struct stats *s)
{
    struct omap_cursor at;

    if (!s)
        return NULL;
    timer_disarm(&s->timer);
    stats_close_metrics(s);
    for (struct stats_record *r = omap_first(&s->records, &at); r; r = omap_next(&at))
        record_free(r);
    omap_done(&s->records);
    vec_done(&s->round);
    free(s);
    return NULL;
}

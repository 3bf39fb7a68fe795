/* Derives the desired state from the pods: a round handles each volume that a container of the pod uses,
 * fetches its claim and the claim's volume, and records the mount as wanted.
 *
 * Claims are fetched from the server, not cached: a node is not authorized to watch all claims. A volume that
 * cannot be processed leaves its error with the pod, and the other volumes continue; the round is retried
 * with increasing delay. A successful round is repeated periodically, since a claim may have been expanded.
 * Wanted mounts stay wanted until the pod has terminated: an error does not change what is mounted. */
#include "node/node_int.h"

#include <stdlib.h>
#include <string.h>

#include "api/pod_claims.h"
#include "base/log.h"
#include "base/str.h"

/* Short at first: a claim that is created with its pod is bound within milliseconds. */
#define RETRY_NS (50 * NS_PER_MS)
#define RETRY_NS_MAX (10 * NS_PER_S)
#define RETRY_DOUBLINGS_MAX 8U
/* Jitter of the interval between periodic rounds, so that pods do not sync at the same time. */
#define SYNC_JITTER_PERCENT 10
#define ANN_GID "pv.beta.kubernetes.io/gid"

struct populate_round {
    struct node_pod *pod;
    struct object *object; /* the pod's version at the start of the round */
    uint32_t at;           /* which volume */
    struct object *claim;  /* of this volume, once fetched */
    struct api_write read;
    struct deferred step;
    bool has_failed;
};

/* --- Errors --- */

static void pod_clear_errors(struct node_pod *p)
{
    for (unsigned i = 0; i < p->errors_count; i++)
        free(p->errors[i]);
    p->errors_count = 0;
}

static void pod_add_error(struct node_pod *p, const char *text)
{
    char *copy;

    for (unsigned i = 0; i < p->errors_count; i++)
        if (strcmp(p->errors[i], text) == 0)
            return;
    if (p->errors_count > POD_ERRORS_MAX)
        return;
    copy = strdup(text);
    if (copy)
        p->errors[p->errors_count++] = copy;
}

static void round_fail(struct populate_round *r, const struct error *err)
{
    struct node_pod *p = r->pod;

    if (!r->has_failed)
        pod_clear_errors(p); /* of the previous round */
    r->has_failed = true;
    pod_add_error(p, err->msg);
    log_debug("volume not available yet", LOG_STR("pod", r->object->name),
              LOG_STR("volume", pod_of(r->object)->volumes.items[r->at].name), LOG_ERR(err));
}

/* --- Desired mounts --- */

static const struct pod_volume *round_volume(const struct populate_round *r)
{
    return &pod_of(r->object)->volumes.items[r->at];
}

/* The supplemental group of the volume; -1 for none. */
static int64_t group_of(const struct pod *p, const struct volume *v)
{
    const char *text = v ? object_annotation(&v->obj, ANN_GID) : NULL;
    int64_t gid;

    if (!text || !str_to_int64(str_of(text), &gid) || gid < 0 || gid > UINT32_MAX)
        return -1;
    for (uint32_t i = 0; i < p->supplemental_groups_count; i++)
        if (p->supplemental_groups[i] == gid)
            return -1;
    return gid;
}

static int check_mode(const char *outer, const struct volume_spec *s, bool is_mounted, bool is_block,
                      struct error *err)
{
    bool wants_block = s->volume && s->volume->mode == VOLUME_MODE_BLOCK;

    if (is_mounted && wants_block)
        return error_set(err, ERR_INVALID, "volume %s has volumeMode %s, but is specified in volumeMounts",
                         outer, "Block");
    if (is_block && !wants_block)
        return error_set(err, ERR_INVALID, "volume %s has volumeMode %s, but is specified in volumeDevices",
                         outer, "Filesystem");
    return 0;
}

static uint64_t bytes_of(const struct quantity *q)
{
    int64_t value = quantity_value(q);

    return value > 0 ? (uint64_t)value : 0;
}

/* Sets the wanted size and the current size. */
static void note_sizes(struct node_volume *v, const struct volume_spec *s, const struct claim *c)
{
    if (!s->volume || !c || s->is_read_only)
        return;
    if (s->volume->has_capacity)
        v->wanted_bytes = bytes_of(&s->volume->capacity);
    if (v->bytes == 0 && c->has_capacity)
        v->bytes = bytes_of(&c->capacity);
}

static int want_mount(struct populate_round *r, struct node_volume *v, const struct held_spec *h,
                      bool is_block, struct error *err)
{
    struct node_pod *p = r->pod;
    struct node_mount *m = node_world_add_mount(v, p);

    if (!m || !mount_add_name(m, round_volume(r)->name))
        return error_no_memory(err); /* the reconciler frees unwanted records */
    if (!m->is_wanted)
        m->wanted_ns = loop_now_ns(p->agent->o.part.loop);
    m->is_wanted = true;
    m->is_block = is_block;
    m->group = group_of(pod_of(r->object), h->spec.volume);
    held_spec_copy(&m->wanted, h);
    held_spec_copy(&v->wanted, h);
    v->is_attachable = plugin_attaches(v->plugin, &h->spec);
    v->has_device = plugin_mounts_devices(v->plugin, &h->spec);
    note_sizes(v, &h->spec, r->claim ? claim_of(r->claim) : NULL);
    return 0;
}

static int want_named(struct populate_round *r, const struct volume_plugin *plugin, const struct held_spec *h,
                      bool is_block, struct error *err)
{
    struct buf name = BUF_INIT(PATH_MAX);
    struct node_volume *v;
    int e = registry_unique_name(plugin, &h->spec, r->pod->uid, &name, err);

    if (e < 0) {
        buf_done(&name);
        return e;
    }
    v = node_world_add_volume(&r->pod->agent->world, buf_cstr(&name), plugin);
    buf_done(&name);
    return v ? want_mount(r, v, h, is_block, err) : error_no_memory(err);
}

/* The volume's spec is known: records it, or its CSI translation, as wanted. */
static int want_volume(struct populate_round *r, struct held_spec *h, struct error *err)
{
    const struct volume_plugin *plugin;
    struct error why;
    const char *outer = round_volume(r)->name;
    bool is_mounted, is_block;
    int e = held_spec_migrate(h, err);

    if (e < 0)
        return e;
    (void)pod_uses_volume(pod_of(r->object), outer, &is_mounted, &is_block);
    e = check_mode(outer, &h->spec, is_mounted, is_block, err);
    if (e < 0)
        return e;
    e = registry_by_spec(r->pod->agent->o.plugins, &h->spec, &plugin, &why);
    if (e < 0)
        return error_set(err, why.code, "failed to get Plugin from volumeSpec for volume \"%s\" err=%s",
                         spec_name(&h->spec), why.msg);
    return want_named(r, plugin, h, is_block, err);
}

/* --- The round --- */

void populate_free_round(struct populate_round *r)
{
    if (!r)
        return;
    api_write_cancel(&r->read);
    loop_undefer(&r->step);
    object_unref(r->claim);
    object_unref(r->object);
    free(r);
}

static uint64_t sync_delay(struct agent *a)
{
    uint64_t period = a->o.sync_ns, slack = period * SYNC_JITTER_PERCENT / 100;

    return period - slack + rng_below(&a->rng, 2 * slack + 1);
}

static uint64_t retry_delay(const struct node_pod *p)
{
    unsigned doublings = p->failures <= RETRY_DOUBLINGS_MAX ? p->failures - 1 : RETRY_DOUBLINGS_MAX;
    uint64_t delay = RETRY_NS << doublings;

    return delay < RETRY_NS_MAX ? delay : RETRY_NS_MAX;
}

/* Volumes with objects are set up again at every round, and so are volumes whose requested size changed. */
static void ask_for_remounts(struct node_pod *p)
{
    for (struct node_mount *m = TAILQ_FIRST(&p->mounts); m; m = TAILQ_NEXT(m, of_pod))
        if (m->is_wanted && m->state == MOUNT_DONE &&
            (agent_requires_remount(p->agent, m) || agent_mount_bytes(p->agent, m) != m->held_bytes))
            m->needs_remount = true;
}

static void round_end(struct populate_round *r)
{
    struct node_pod *p = r->pod;
    struct agent *a = p->agent;
    bool has_failed = r->has_failed;

    p->round = NULL;
    populate_free_round(r);
    if (has_failed) {
        p->failures++;
    } else {
        pod_clear_errors(p);
        p->failures = 0;
        p->is_processed = true;
        ask_for_remounts(p);
    }
    timer_arm_after(&p->sync, has_failed ? retry_delay(p) : sync_delay(a));
    p->had_round = true;
    agent_touch(a);
    pod_life_sync(p);
    if (p->wants_round)
        populate_pod(p);
}

static void round_skip(struct populate_round *r)
{
    r->claim = object_unref(r->claim);
    r->at++;
    loop_defer(&r->step);
}

static void round_fail_claim(struct populate_round *r, struct error *err)
{
    (void)error_wrap(err, "error processing PVC %s/%s", r->object->ns, pod_claim_name(round_volume(r)));
    round_fail(r, err);
    round_skip(r);
}

static int check_claim_ref(const struct volume *v, const struct object *claim, struct error *err)
{
    if (!v->claim.is_set)
        return error_set(
            err, ERR_CONFLICT,
            "found PV object %s but it has a nil pv.Spec.ClaimRef indicating it is not yet bound "
            "to the claim",
            v->obj.name);
    if (strcmp(v->claim.uid, claim->uid) != 0)
        return error_set(err, ERR_CONFLICT,
                         "found PV object %s but its pv.Spec.ClaimRef.UID %s does not point to claim.UID %s",
                         v->obj.name, v->claim.uid, claim->uid);
    return 0;
}

static void round_on_volume(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct populate_round *r = ctx;
    struct held_spec h = { 0 };
    struct error err = a->error;
    int e = a->r;

    if (outcome != API_DONE)
        (void)error_set(&err, err.code, "failed to fetch PV %s from API server: %s",
                        claim_of(r->claim)->volume_name, (const char *)a->error.msg);
    else
        e = check_claim_ref(volume_of(a->object), r->claim, &err);
    if (e < 0) {
        round_fail_claim(r, &err);
        return;
    }
    (void)held_spec_set(&h, a->object, /* of= */ NULL, round_volume(r)->is_read_only);
    if (want_volume(r, &h, &err) < 0)
        round_fail(r, &err);
    held_spec_clear(&h);
    round_skip(r);
}

static int check_claim(const struct claim *c, struct error *err)
{
    if (c->obj.is_deleting && !object_has_finalizer(&c->obj, FINALIZER_CLAIM_PROTECTION))
        return error_set(err, ERR_CONFLICT, "PVC is being deleted");
    if (c->phase != CLAIM_BOUND)
        return error_set(err, ERR_UNAVAILABLE, "PVC is not bound");
    if (!c->volume_name[0])
        return error_set(err, ERR_UNAVAILABLE, "PVC has empty pvc.Spec.VolumeName");
    return 0;
}

static void round_on_claim(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct populate_round *r = ctx;
    const struct pod *p = pod_of(r->object);
    struct error err = a->error;
    int e = a->r;

    if (outcome != API_DONE)
        (void)error_set(&err, err.code, "failed to fetch PVC from API server: %s",
                        (const char *)a->error.msg);
    else
        e = check_claim(claim_of(a->object), &err);
    if (e < 0) {
        round_fail_claim(r, &err);
        return;
    }
    if (round_volume(r)->type == POD_VOLUME_EPHEMERAL && !pod_controls_claim(p, claim_of(a->object))) {
        (void)error_set(&err, ERR_DENIED, "PVC %s/%s was not created for pod %s/%s (pod is not owner)",
                        a->object->ns, a->object->name, p->obj.ns, p->obj.name);
        round_fail(r, &err);
        round_skip(r);
        return;
    }
    r->claim = object_ref(a->object);
    api_read(&r->read, &r->pod->agent->api, KIND_VOLUME, NULL, claim_of(r->claim)->volume_name,
             round_on_volume, r);
}

static void round_inline(struct populate_round *r)
{
    const struct pod_volume *v = round_volume(r);
    struct held_spec h = { 0 };
    struct error err;

    if (held_spec_set(&h, r->object, v->name, v->is_read_only) && want_volume(r, &h, &err) < 0)
        round_fail(r, &err);
    held_spec_clear(&h);
    round_skip(r);
}

static void round_next(struct populate_round *r)
{
    const struct pod *p = pod_of(r->object);
    bool is_mounted, is_block;
    const char *name;

    while (r->at < p->volumes.count &&
           !pod_uses_volume(p, p->volumes.items[r->at].name, &is_mounted, &is_block))
        r->at++;
    if (r->at == p->volumes.count) {
        round_end(r);
        return;
    }
    name = pod_claim_name(round_volume(r));
    if (name)
        api_read(&r->read, &r->pod->agent->api, KIND_CLAIM, r->object->ns, name, round_on_claim, r);
    else
        round_inline(r);
}

static void round_step(void *ctx)
{
    round_next(ctx);
}

void populate_cancel(struct node_pod *p)
{
    populate_free_round(p->round);
    p->round = NULL;
    p->wants_round = false;
    timer_disarm(&p->sync);
    pod_clear_errors(p);
}

/* A terminated pod wants no volumes, nor does one that terminates before any volume was mounted. */
static bool may_want(const struct node_pod *p)
{
    bool is_ending = p->object && (p->object->is_deleting || pod_of(p->object)->phase == POD_SUCCEEDED ||
                                   pod_of(p->object)->phase == POD_FAILED);

    return p->object && !p->life.is_over && (!is_ending || !TAILQ_EMPTY(&p->mounts));
}

void populate_pod(struct node_pod *p)
{
    struct populate_round *r;

    p->wants_round = p->round;
    if (p->round)
        return;
    if (!may_want(p)) {
        p->had_round = true;
        return;
    }
    r = calloc(1, sizeof *r);
    if (!r) {
        timer_arm_after(&p->sync, RETRY_NS_MAX);
        return;
    }
    p->round = r;
    r->pod = p;
    r->object = object_ref(p->object);
    deferred_init(&r->step, p->agent->o.part.loop, round_step, r);
    loop_defer(&r->step);
}

/* Reports the condition of a driver's volumes in events of their claims: the part of external-health-monitor,
 * whose lease it holds.
 *
 * A round, once per period, asks the driver about all bound volumes of the driver: with ListVolumes, page by
 * page, or with ControllerGetVolume, one volume after the other. Without bound volumes the driver is not
 * called. A change of a volume's condition is an event; the conditions are remembered until the function
 * ends, so that a new process reports abnormal volumes again, once.
 *
 * Costs: one call in flight; the memory of a round is bounded, and a round that exceeds it ends. */
#include "controllers/csi/csi_function.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/volume.h"
#include "base/log.h"
#include "base/map.h"
#include "plugins/csi/csi_int.h"

#define COMPONENT "csi-pv-monitor-controller-"
#define LEASE_PREFIX "external-health-monitor-leader-"
#define PAGES_MAX 10000
#define ROUND_BYTES_MAX ((size_t)64 << 20)
#define MESSAGE_BYTES_MAX RECORDER_MESSAGE_BYTES_MAX /* that is compared with the next one */
#define NAME_BYTES_MAX 256

/* A volume whose condition is abnormal. */
struct health_mark {
    char message[MESSAGE_BYTES_MAX];
    char uid[]; /* of the volume */
};

struct csi_health {
    struct csi_function_options o;
    struct informer *volumes, *claims;
    struct informer_handler on_volumes;
    struct recorder *recorder;
    struct metric *abnormal; /* NULL: not counted */
    struct timer timer;
    struct csi_controller_call call;
    struct map marks; /* by uid */
    /* Of the round. */
    struct arena arena;
    struct map handles; /* names of volumes by handle, for lists */
    unsigned pages;
    char at[NAME_BYTES_MAX]; /* the volume that the driver was asked about */
    char component[NAME_BYTES_MAX];
};

/* --- Conditions --- */

/* The claim that the volume is bound to; NULL: none. */
static const struct object *claim_of_volume(const struct csi_health *h, const struct volume *v)
{
    const struct object *o = v->claim.is_set ? informer_get(h->claims, v->claim.ns, v->claim.name) : NULL;

    return o && strcmp(o->uid, v->claim.uid) == 0 ? o : NULL;
}

static void drop_mark(struct csi_health *h, const char *uid)
{
    free(map_remove(&h->marks, str_of(uid)));
}

/* Without memory the event is recorded again in the next round. */
static void put_mark(struct csi_health *h, const char *uid, const char *message)
{
    size_t len = strlen(uid);
    struct health_mark *m = calloc(1, sizeof *m + len + 1);

    drop_mark(h, uid);
    if (!m)
        return;
    memcpy(m->uid, uid, len + 1);
    (void)snprintf(m->message, sizeof m->message, "%s", message);
    if (map_put(&h->marks, str_of(m->uid), m, NULL) < 0)
        free(m);
}

static void report_abnormal(struct csi_health *h, const struct volume *v, const char *message)
{
    const struct health_mark *m = map_get(&h->marks, str_of(v->obj.uid));
    const struct object *claim = claim_of_volume(h, v);

    if (!claim || (m && strncmp(m->message, message, sizeof m->message - 1) == 0))
        return;
    put_mark(h, v->obj.uid, message);
    log_warn("condition of volume is abnormal", LOG_STR("volume", v->obj.name), LOG_STR("message", message));
    recorder_event(h->recorder, claim, EVENT_WARNING, "VolumeConditionAbnormal", "%s", message);
}

static void report_normal(struct csi_health *h, const struct volume *v)
{
    const struct object *claim = claim_of_volume(h, v);

    if (!claim || !map_get(&h->marks, str_of(v->obj.uid)))
        return;
    drop_mark(h, v->obj.uid);
    log_info("condition of volume is normal again", LOG_STR("volume", v->obj.name));
    recorder_event(h->recorder, claim, EVENT_NORMAL, "VolumeConditionNormal",
                   "The Volume returns to the healthy state");
}

/* A driver that says nothing about a volume changes nothing. */
static void take_status(struct csi_health *h, const struct volume *v, const Csi__V1__VolumeStatus *s)
{
    const Csi__V1__VolumeCondition *c = s ? s->volume_condition : NULL;

    if (c && c->abnormal)
        report_abnormal(h, v, c->message);
    else if (c)
        report_normal(h, v);
}

/* --- A round --- */

static void round_end(struct csi_health *h)
{
    map_done(&h->handles);
    arena_done(&h->arena);
    h->arena = ARENA_INIT(ROUND_BYTES_MAX);
    timer_arm_after(&h->timer, h->o.settings->health_poll_ns);
}

static void round_fail(struct csi_health *h, const char *why)
{
    log_warn("cannot read the conditions of volumes", LOG_STR("driver", csi_peer_name(h->o.peer)),
             LOG_STR("reason", why));
    round_end(h);
}

static bool is_watched(const struct csi_health *h, const struct volume *v)
{
    return v->phase == VOLUME_BOUND && v->source.kind == SOURCE_CSI &&
           strcmp(v->source.csi->driver, csi_peer_name(h->o.peer)) == 0;
}

/* --- With lists --- */

/* False without memory. */
static bool collect_handles(struct csi_health *h)
{
    struct informer_cursor at;

    for (const struct object *o = informer_first(h->volumes, &at); o; o = informer_next(&at)) {
        const struct volume *v = volume_of(o);
        const char *handle, *name;

        if (!is_watched(h, v))
            continue;
        handle = arena_dup(&h->arena, str_of(v->source.csi->handle));
        name = arena_dup(&h->arena, str_of(o->name));
        if (!handle || !name ||
            map_put(&h->handles, str_of(handle), (void *)(uintptr_t)name, NULL) < 0) /* is not modified */
            return false;
    }
    return true;
}

static void take_entry(struct csi_health *h, const Csi__V1__ListVolumesResponse__Entry *e)
{
    const char *name = e->volume ? map_get(&h->handles, str_of(e->volume->volume_id)) : NULL;
    const struct object *o = name ? informer_get(h->volumes, "", name) : NULL;

    if (o && is_watched(h, volume_of(o)))
        take_status(h, volume_of(o), e->status);
}

static void on_page(struct csi_controller_call *call, const struct csi_answer *a);

static void request_page(struct csi_health *h, const char *token)
{
    Csi__V1__ListVolumesRequest m;

    csi__v1__list_volumes_request__init(&m);
    m.starting_token = (char *)(uintptr_t)token; /* is not modified */
    h->call.done = on_page;
    csi_controller_call_start(h->o.peer, &h->call, CSI_LIST_VOLUMES, &m.base,
                              h->o.settings->attach_timeout_ns);
}

static void on_page(struct csi_controller_call *call, const struct csi_answer *a)
{
    struct csi_health *h = CONTAINER_OF(call, struct csi_health, call);
    const Csi__V1__ListVolumesResponse *m = (const void *)a->message;

    if (a->outcome != CSI_DONE) {
        round_fail(h, a->err->msg);
        return;
    }
    for (size_t i = 0; i < m->n_entries; i++)
        take_entry(h, m->entries[i]);
    if (!m->next_token[0])
        round_end(h);
    else if (++h->pages >= PAGES_MAX)
        round_fail(h, "the list has too many pages");
    else
        request_page(h, m->next_token);
}

/* --- Volume by volume --- */

static void request_next(struct csi_health *h);

static void on_volume_answer(struct csi_controller_call *call, const struct csi_answer *a)
{
    struct csi_health *h = CONTAINER_OF(call, struct csi_health, call);
    const Csi__V1__ControllerGetVolumeResponse *m = (const void *)a->message;
    const struct object *o = informer_get(h->volumes, "", h->at);

    if (a->outcome == CSI_NOT_SENT || a->outcome == CSI_IN_PROGRESS) {
        round_fail(h, a->err->msg); /* the others would fail, too */
        return;
    }
    if (a->outcome == CSI_DONE && o && is_watched(h, volume_of(o)))
        take_status(h, volume_of(o), m->status);
    else if (a->outcome != CSI_DONE)
        log_debug("cannot read the condition of a volume", LOG_STR("volume", h->at), LOG_ERR(a->err));
    request_next(h);
}

static void request_next(struct csi_health *h)
{
    Csi__V1__ControllerGetVolumeRequest m;
    struct informer_cursor at;
    const struct object *o = informer_first_after(h->volumes, str_of(h->at), &at);

    while (o && (!is_watched(h, volume_of(o)) || strlen(o->name) >= sizeof h->at))
        o = informer_next(&at);
    if (!o) {
        round_end(h);
        return;
    }
    (void)snprintf(h->at, sizeof h->at, "%s", o->name);
    csi__v1__controller_get_volume_request__init(&m);
    m.volume_id = (char *)(uintptr_t)volume_of(o)->source.csi->handle; /* is not modified */
    h->call.done = on_volume_answer;
    csi_controller_call_start(h->o.peer, &h->call, CSI_CONTROLLER_GET_VOLUME, &m.base,
                              h->o.settings->attach_timeout_ns);
}

static void round_begin(void *ctx)
{
    struct csi_health *h = ctx;

    h->pages = 0;
    h->at[0] = '\0';
    if (!csi_peer_can(h->o.peer, CSI_ABILITY_LIST_VOLUMES))
        request_next(h);
    else if (!collect_handles(h))
        round_fail(h, "there are too many volumes");
    else if (h->handles.count == 0)
        round_end(h);
    else
        request_page(h, "");
}

/* --- Life --- */

static void on_volume_gone(void *ctx, const struct object *o)
{
    drop_mark(ctx, o->uid);
}

static double count_abnormal(void *ctx)
{
    const struct csi_health *h = ctx;

    return (double)h->marks.count;
}

static int open_metric(struct csi_health *h, struct error *err)
{
    static const char *const labels[] = { "driver", NULL };
    static const struct metric_desc desc = { .name = "berth_csi_volume_abnormal",
                                             .help =
                                                 "Volumes whose CSI driver reports an abnormal condition.",
                                             .type = METRIC_GAUGE,
                                             .labels = labels };
    struct metric_family *family;
    int r = h->o.part.metrics ? metrics_share_family(h->o.part.metrics, &desc, &family, err) : 0;

    if (r == 0 && h->o.part.metrics) {
        h->abnormal = metric_of(family, csi_peer_name(h->o.peer));
        metric_set_reader(h->abnormal, count_abnormal, h);
    }
    return r;
}

static void health_end(void *function)
{
    struct csi_health *h = function;
    struct health_mark *m;

    if (!h)
        return;
    informer_remove_handler(&h->on_volumes);
    csi_controller_call_cancel(&h->call);
    timer_disarm(&h->timer);
    if (h->abnormal) {
        metric_set_reader(h->abnormal, NULL, NULL);
        metric_set(h->abnormal, 0);
    }
    for (size_t at = 0; (m = map_next(&h->marks, &at, NULL));)
        free(m);
    map_done(&h->marks);
    map_done(&h->handles);
    arena_done(&h->arena);
    recorder_free(h->recorder);
    free(h);
}

static int health_begin(const struct csi_function_options *o, void **ret, struct error *err)
{
    struct csi_health *h = calloc(1, sizeof *h);
    uint64_t seed = component_seed(&o->part, "csi-health");
    int r;

    if (!h)
        return error_no_memory(err);
    h->o = *o;
    h->arena = ARENA_INIT(ROUND_BYTES_MAX);
    map_init(&h->marks, (struct hash_seed){ seed, ~seed });
    map_init(&h->handles, (struct hash_seed){ seed, ~seed });
    timer_init(&h->timer, o->part.loop, round_begin, h);
    (void)snprintf(h->component, sizeof h->component, COMPONENT "%s", csi_peer_name(o->peer));
    h->volumes = informers_get(o->part.informers, KIND_VOLUME, err);
    h->claims = h->volumes ? informers_get(o->part.informers, KIND_CLAIM, err) : NULL;
    r = h->claims ? 0 : -(int)err->code;
    if (r == 0)
        r = component_recorder(&o->part, h->component, &h->recorder, err);
    if (r == 0)
        r = open_metric(h, err);
    if (r < 0)
        health_end(h);
    else
        *ret = h;
    return r;
}

static void health_run(void *function)
{
    struct csi_health *h = function;

    h->on_volumes = (struct informer_handler){ .on_removed = on_volume_gone, .ctx = h };
    informer_add_handler(h->volumes, &h->on_volumes);
    timer_arm_after(&h->timer, h->o.settings->health_poll_ns);
}

static bool is_health_wanted(const struct csi_peer *p, const struct csi_driver_settings *s)
{
    (void)s;
    return csi_peer_can(p, CSI_ABILITY_VOLUME_CONDITION) &&
           (csi_peer_can(p, CSI_ABILITY_LIST_VOLUMES) || csi_peer_can(p, CSI_ABILITY_GET_VOLUME));
}

static int write_health_lease(const char *driver, struct buf *ret, struct error *err)
{
    buf_addf(ret, LEASE_PREFIX "%s", driver);
    return buf_check(ret, "lease name", err);
}

static const char *health_verify(const void *function)
{
    const struct csi_health *h = function;

    return timer_is_armed(&h->timer) != csi_controller_call_is_active(&h->call)
               ? NULL
               : "the health of volumes is not checked any more";
}

static bool health_explain(const void *function, const struct object *about, struct csi_work_state *ret)
{
    const struct csi_health *h = function;
    const struct health_mark *m = map_get(&h->marks, str_of(about->uid));

    if (about->kind->kind != KIND_VOLUME || !m)
        return false;
    *ret = (struct csi_work_state){ .call = "", .last_error = m->message, .outcome = CSI_FINAL };
    return true;
}

const struct csi_function_type csi_health_type = { .name = "health",
                                                   .lease_name = write_health_lease,
                                                   .is_wanted = is_health_wanted,
                                                   .new = health_begin,
                                                   .start = health_run,
                                                   .free = health_end,
                                                   .check = health_verify,
                                                   .explain = health_explain };

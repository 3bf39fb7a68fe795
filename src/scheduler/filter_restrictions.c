/* VolumeRestrictions: claims that only one pod may use, and disks that cannot be mounted twice on one node.
 */
#include "scheduler/scheduler_int.h"

#include <string.h>

#include "api/pod_claims.h"

static bool is_used_elsewhere(const struct cycle *c, const struct claim *claim)
{
    _cleanup_(buf_done_p) struct buf key = BUF_INIT(CLAIM_KEY_BYTES_MAX);
    struct informer_cursor at;

    object_key(&claim->obj, &key);
    for (const struct object *o =
             informer_first_by(c->s->caches[CACHE_PODS], PODS_BY_CLAIM, buf_str(&key), &at);
         o; o = informer_next(&at))
        if (strcmp(o->uid, c->pod->obj.uid) != 0 && nodes_placed(&c->s->nodes, o->uid))
            return true;
    return false;
}

static bool is_disk(const struct pod_volume *v)
{
    return v->type == POD_VOLUME_GCE_DISK || v->type == POD_VOLUME_AWS_DISK || v->type == POD_VOLUME_ISCSI ||
           v->type == POD_VOLUME_RBD;
}

enum cycle_result check_restrictions(struct cycle *c)
{
    for (uint32_t i = 0; i < c->pod->volumes.count; i++) {
        const struct pod_volume *v = &c->pod->volumes.items[i];
        const struct claim *claim;

        c->has_disks |= is_disk(v);
        c->has_claims |= pod_claim_name(v) != NULL;
        if (v->type != POD_VOLUME_CLAIM)
            continue;
        claim = cached_claim(c->s, c->pod->obj.ns, v->claim_name);
        if (!claim)
            return cycle_refuse(c, (struct refused){ REFUSAL_NO_CLAIM, FILTER_RESTRICTIONS, v },
                                "persistentvolumeclaim \"%s\" not found", v->claim_name);
        if (claim->modes & ACCESS_RWOP && is_used_elsewhere(c, claim))
            c->is_exclusive_conflict = true;
    }
    return CYCLE_FITS;
}

static bool share_monitor(const struct pod_disk *a, const struct pod_disk *b)
{
    for (uint32_t i = 0; i < a->monitors.count; i++)
        for (uint32_t k = 0; k < b->monitors.count; k++)
            if (strcmp(a->monitors.items[i], b->monitors.items[k]) == 0)
                return true;
    return false;
}

static bool disks_conflict(const struct pod_volume *a, const struct pod_volume *b)
{
    bool both_read = a->is_read_only && b->is_read_only;

    if (a->type != b->type)
        return false;
    switch (a->type) {
    case POD_VOLUME_GCE_DISK:
        return !both_read && strcmp(a->disk->id, b->disk->id) == 0;
    case POD_VOLUME_AWS_DISK:
        return strcmp(a->disk->id, b->disk->id) == 0;
    case POD_VOLUME_ISCSI:
        return !(a->iscsi->is_read_only && b->iscsi->is_read_only) &&
               strcmp(a->iscsi->iqn, b->iscsi->iqn) == 0;
    case POD_VOLUME_RBD:
        return !both_read && share_monitor(a->disk, b->disk) && strcmp(a->disk->pool, b->disk->pool) == 0 &&
               strcmp(a->disk->id, b->disk->id) == 0;
    default:
        return false;
    }
}

static bool pods_conflict(const struct pod *a, const struct pod *b)
{
    for (uint32_t i = 0; i < a->volumes.count; i++)
        for (uint32_t k = 0; is_disk(&a->volumes.items[i]) && k < b->volumes.count; k++)
            if (disks_conflict(&a->volumes.items[i], &b->volumes.items[k]))
                return true;
    return false;
}

uint32_t filter_restrictions(const struct cycle *c, const struct sched_node *n)
{
    if (c->is_exclusive_conflict)
        return 1U << REASON_POD_ALONE;
    for (size_t i = 0; c->has_disks && i < n->pods.count; i++)
        if (pods_conflict(c->pod, n->pods.items[i]->pod))
            return 1U << REASON_DISK;
    return 0;
}

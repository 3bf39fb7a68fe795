/* Updates existing volumes after each scan, according to their disks:
 *
 * - The node was registered again: a volume of its earlier registration is taken over, if its disk is known
 *   to be the same.
 * - The volume has no record of its disk: it is recorded.
 * - The size of the disk has changed: that is recorded; an unclaimed volume gets the new capacity.
 * - The disk is missing or was replaced: an unclaimed volume is deleted, and created again when a scan finds
 *   a disk. A volume that is or was bound or reserved, or has another policy than its class, stays and gets
 *   an annotation and an event with the problem.
 *
 * Every write has the uid and version of the volume that it was decided on: if the volume is bound meanwhile,
 * the write fails and the next pass decides again. Entries that could not be examined change nothing. */
#include "controllers/local/local_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_out.h"
#include "api/node_selector.h"
#include "base/die.h"
#include "base/log.h"
#include "base/mutant.h"
#include "machinery/merge_patch.h"

/* --- Deciding --- */

/* A volume of an earlier registration must be the one that this node would create now. */
static bool is_of_this_node(const struct local *l, const struct volume *v, const struct local_class *k,
                            const char *entry)
{
    enum local_owner owner = local_owner_of(v, l->o.node_name, l->identity);
    const struct node *n = local_own_node(l);
    char name[LOCAL_NAME_BYTES];
    struct error ignored;

    if (owner != LOCAL_OWNER_EARLIER || !n)
        return owner == LOCAL_OWNER_THIS;
    local_volume_name(entry, l->o.node_name, k->name, name);
    return strcmp(name, v->obj.name) == 0 &&
           node_affinity_check(v->affinity, n->obj.labels.items, n->obj.labels.count, &ignored) == 0;
}

static bool is_free(const struct volume *v)
{
    if (MUTANT("local-withdraws-bound-volumes"))
        return true;
    return !v->claim.is_set &&
           (v->phase == VOLUME_AVAILABLE || v->phase == VOLUME_PENDING || v->phase == VOLUME_PHASE_UNSET);
}

static struct quantity bytes_quantity(uint64_t bytes)
{
    return quantity_of((int64_t)bytes, QUANTITY_BINARY_SI);
}

/* Why the volume cannot be used now; r->problem stays "" if it can. */
static void decide_problem(const struct local *l, const struct volume *v, const struct local_class *k,
                           const char *entry, const struct local_candidate *f, struct revision *r)
{
    const char *recorded = object_annotation(&v->obj, ANN_DISK), *path = v->source.local->path;
    struct quantity size = bytes_quantity(f ? f->bytes : 0);

    r->reason = "DiskMissing";
    if (!f && local_name_matches(k->name_pattern, entry)) {
        (void)snprintf(r->problem, sizeof r->problem, "%s does not exist", path);
    } else if (f && f->state == FOUND_NONE) {
        (void)snprintf(r->problem, sizeof r->problem, "%s %s", path, f->problem);
    } else if (f && f->state == FOUND_DISK && recorded && disk_compare(recorded, f->disk) == DISK_OTHER) {
        r->reason = "DiskReplaced";
        (void)snprintf(r->problem, sizeof r->problem, LOCAL_DISK_REPLACED "%s: %s in place of %s", path,
                       f->disk, recorded);
    } else if (f && f->state == FOUND_DISK && !recorded && !local_owns(l, v) && v->has_capacity &&
               quantity_cmp(&size, &v->capacity) < 0) {
        r->reason = "DiskReplaced";
        (void)snprintf(r->problem, sizeof r->problem,
                       "the disk at %s is smaller than the volume, which node %s created before it was "
                       "registered again",
                       path, l->o.node_name);
    }
}

/* The disk of a volume of an earlier registration must be identified. */
static bool is_known_disk(const struct local *l, const struct volume *v, const struct local_candidate *f)
{
    const char *recorded = object_annotation(&v->obj, ANN_DISK);

    return local_owns(l, v) || !recorded || !strchr(recorded, ':') ||
           disk_compare(recorded, f->disk) == DISK_SAME;
}

/* The size of a file system that shares its space with others (ZFS) varies: changes up to one percent are
 * ignored. */
static bool has_changed(const struct local_candidate *f, const struct quantity *recorded)
{
    uint64_t before = (uint64_t)quantity_value(recorded);
    uint64_t change = f->bytes > before ? f->bytes - before : before - f->bytes;

    return strncmp(f->disk, "mount:", strlen("mount:")) == 0 ? change > before / 100 : change > 0;
}

static void decide_record(const struct local *l, const struct volume *v, const struct local_candidate *f,
                          struct revision *r)
{
    const char *recorded = object_annotation(&v->obj, ANN_DISK);
    struct quantity size = bytes_quantity(f->bytes), before = { 0 };
    bool was_measured = local_disk_capacity(v, &before);

    r->bytes = f->bytes;
    r->is_adopted = !local_owns(l, v);
    if (!recorded || (strcmp(recorded, f->disk) != 0 && !strchr(recorded, ':')))
        r->disk = f->disk; /* not recorded yet, or recorded with less information */
    r->is_measured = !was_measured || has_changed(f, &before);
    /* A capacity that was set by another client is kept. */
    r->is_resized = r->is_measured && is_free(v) && v->has_capacity &&
                    quantity_cmp(&v->capacity, &size) != 0 &&
                    (!was_measured || quantity_cmp(&before, &v->capacity) == 0);
}

/* False if nothing has to change, or nothing is known. */
static bool decide_revision(const struct local *l, const struct volume *v, struct revision *r)
{
    const struct local_class *k = local_class_of(l, v->class);
    const struct local_candidate *f;
    char entry[NAME_MAX + 1];
    const char *reported = object_annotation(&v->obj, ANN_DISK_PROBLEM);
    struct error ignored;

    *r = (struct revision){ 0 };
    if (!k || v->obj.is_deleting || local_is_erasing(l, v->obj.name) ||
        !local_entries_has_class(&l->entries, k) || local_entry_name(k, v, entry, &ignored) < 0 ||
        !is_of_this_node(l, v, k, entry))
        return false;
    f = local_entries_get(&l->entries, k, entry);
    decide_problem(l, v, k, entry, f, r);
    if (r->problem[0]) {
        r->is_withdrawn =
            is_free(v) &&
            v->reclaim == local_policy_of(l, k); /* with another policy it would not be created again */
        r->is_reported = !reported || strcmp(reported, r->problem) != 0;
        if (f && f->state == FOUND_NONE && f->disk[0] && !object_annotation(&v->obj, ANN_DISK))
            r->disk = f->disk; /* so that the node does not set up the bare directory */
        return r->is_withdrawn || r->is_reported || r->disk;
    }
    if (!f || f->state != FOUND_DISK || !is_known_disk(l, v, f))
        return false;
    decide_record(l, v, f, r);
    r->is_reported = reported != NULL;
    return r->is_reported || r->is_adopted || r->disk || r->is_measured || r->is_resized;
}

/* --- Writing --- */

static enum api_decision decide_patch(void *ctx, const struct object *now, struct buf *body,
                                      struct error *err)
{
    _cleanup_(buf_done_p) struct buf size = BUF_INIT(QUANTITY_TEXT_BYTES_MAX);
    const struct local *l = ctx;
    const struct revision *r = &l->revision;
    struct quantity bytes = bytes_quantity(r->bytes);
    struct merge_patch p;

    quantity_format(&bytes, &size);
    merge_patch_begin(&p, body, now);
    if (r->is_adopted)
        merge_patch_annotation(&p, ANN_PROVISIONED_BY, l->identity);
    if (r->disk)
        merge_patch_annotation(&p, ANN_DISK, r->disk);
    if (r->is_measured)
        merge_patch_annotation(&p, ANN_DISK_CAPACITY, buf_cstr(&size));
    if (r->is_reported)
        merge_patch_annotation(&p, ANN_DISK_PROBLEM, r->problem[0] ? r->problem : NULL);
    if (r->is_resized) {
        merge_patch_member(&p, "spec");
        json_out_object(body, NULL);
        json_out_storage(body, "capacity", &bytes);
        json_out_end_object(body);
    }
    return api_decision_of(merge_patch_end(&p, err));
}

static void report_resize(struct local *l, const struct volume *v, const struct revision *r)
{
    _cleanup_(buf_done_p) struct buf size = BUF_INIT(QUANTITY_TEXT_BYTES_MAX),
                                     before = BUF_INIT(QUANTITY_TEXT_BYTES_MAX);
    struct quantity bytes = bytes_quantity(r->bytes);

    quantity_format(&bytes, &size);
    quantity_format(&v->capacity, &before);
    if (r->is_resized)
        recorder_event(l->recorder, &v->obj, EVENT_NORMAL, "CapacityChanged",
                       "capacity changed from %s to %s, the size of the disk", buf_cstr(&before),
                       buf_cstr(&size));
    else if (r->is_measured && v->has_capacity && quantity_cmp(&bytes, &v->capacity) != 0)
        recorder_event(l->recorder, &v->obj,
                       quantity_cmp(&bytes, &v->capacity) < 0 ? EVENT_WARNING : EVENT_NORMAL, "DiskResized",
                       "size of the disk is now %s, capacity of the volume is %s", buf_cstr(&size),
                       buf_cstr(&before));
}

static void report_revision(struct local *l, const struct volume *v, const struct revision *r)
{
    if (r->problem[0]) {
        log_warn(r->is_withdrawn ? "local volume withdrawn" : "disk of local volume not usable",
                 LOG_STR("volume", v->obj.name), LOG_STR("reason", r->problem));
        recorder_event(l->recorder, &v->obj, EVENT_WARNING, r->reason, "%s%s", r->problem,
                       r->is_withdrawn ? "; the volume is deleted and recreated when a disk is found" : "");
        return;
    }
    if (r->is_adopted) {
        log_info("local volume adopted", LOG_STR("volume", v->obj.name), LOG_STR("provisioner", l->identity));
        recorder_event(l->recorder, &v->obj, EVENT_NORMAL, "VolumeAdopted",
                       "node %s was registered again with the same disk", l->o.node_name);
    }
    if (r->is_reported)
        recorder_event(l->recorder, &v->obj, EVENT_NORMAL, "DiskBack", "disk found again");
    report_resize(l, v, r);
}

static void revise_next(struct local *l);

static void on_revised(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct local *l = ctx;
    struct object *volume = TAKE(l->revision.volume);

    if (outcome == API_DONE) {
        report_revision(l, volume_of(volume), &l->revision);
        l->is_dirty |= l->revision.is_adopted; /* it may have to be erased */
    } else if (outcome == API_CONFLICT) {
        l->is_dirty = true;
    } else if (!api_write_succeeded(outcome) && a->r != -ERR_NOT_FOUND) {
        log_warn("local volume not changed", LOG_STR("volume", volume->name), LOG_ERR(&a->error));
    }
    (void)object_unref(volume);
    revise_next(l);
}

/* True if a request was sent. */
static bool revise_volume(struct local *l, const struct volume *v)
{
    struct api_write_options w = { .api = l->api,
                                   .request = { .verb = CLIENT_PATCH },
                                   .object = &v->obj,
                                   .decide = decide_patch,
                                   .step = API_STEP_DISK,
                                   .informer = l->volumes,
                                   .done = on_revised,
                                   .ctx = l };

    if (!decide_revision(l, v, &l->revision))
        return false;
    if (l->revision.is_withdrawn) {
        w.request.verb = CLIENT_DELETE;
        w.is_exact = true;
        w.decide = NULL;
    }
    l->revision.volume = object_ref(&v->obj);
    api_write_start(&l->write, &w);
    return true;
}

static void revise_next(struct local *l)
{
    while (l->revised_at < l->revised.count) {
        const struct object *seen = l->revised.items[l->revised_at++];
        const struct object *o = informer_get(l->volumes, "", seen->name);

        if (o && strcmp(o->uid, seen->uid) == 0 && revise_volume(l, volume_of(o)))
            return;
    }
    local_drop_revisions(l);
    local_end_pass(l);
}

void local_revise_all(struct local *l)
{
    struct informer_cursor at;

    for (const struct object *o = informer_first(l->volumes, &at); o; o = informer_next(&at)) {
        if (local_owner_of(volume_of(o), l->o.node_name, l->identity) == LOCAL_OWNER_NONE)
            continue;
        if (vec_push(&l->revised, object_ref(o)) < 0)
            die_with_reason("no memory for a local volume to be examined: it would never be processed again");
    }
    revise_next(l);
}

void local_drop_revisions(struct local *l)
{
    for (size_t i = 0; i < l->revised.count; i++)
        (void)object_unref(l->revised.items[i]);
    vec_done(&l->revised);
    l->revised_at = 0;
    l->revision.volume = object_unref(l->revision.volume);
}

/* Volumes and the disks below them: disks that are not there, are others, or have another size than the
 * volume says.
 *
 * Of volumes that a discovery created the node says what it sees (api/local_volume.h); of all that are
 * mounted the node's statistics do. */
#include "why/check.h"

#include <string.h>

#include "api/local_volume.h"

/* A volume is too large for its disk when a tenth of it is missing; where the size is a file system's, and
 * the volume's may be its device's, what the file system itself needs may be missing besides. */
#define SLACK_SHARE 10
#define OVERHEAD_BYTES ((int64_t)128 << 20)

static const char *in_words(struct checkup *x, int64_t bytes)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(64);
    const char *kept;

    usage_write_bytes(bytes, &text);
    kept = arena_dup(&x->texts, buf_str(&text));
    return kept ? kept : "";
}

/* --- As discoveries see them --- */

static void check_presence(struct checkup *x, const struct volume *v)
{
    const char *problem = object_annotation(&v->obj, ANN_DISK_PROBLEM);

    if (problem)
        check_find(x, v->phase == VOLUME_BOUND ? SEVERITY_ERROR : SEVERITY_WARNING,
                   local_disk_is_replaced(v) ? "disk-replaced" : "disk-missing", &v->obj, NULL,
                   "cannot be used on its node: %s", problem);
}

static const char *resize_advice(struct checkup *x, const struct volume *v, const struct quantity *disk)
{
    _cleanup_(buf_done_p) struct buf size = BUF_INIT(QUANTITY_TEXT_BYTES_MAX);
    const char *advice;

    quantity_format(disk, &size);
    advice = arena_printf(
        &x->texts, "berth patch pv %s --type=merge -p '{\"spec\":{\"capacity\":{\"storage\":\"%s\"}}}'",
        v->obj.name, buf_cstr(&size));
    return advice ? advice : "";
}

static void check_size(struct checkup *x, const struct volume *v)
{
    struct quantity disk;
    int64_t bytes, capacity = quantity_value(&v->capacity);

    if (!v->has_capacity || !local_disk_capacity(v, &disk) || object_annotation(&v->obj, ANN_DISK_PROBLEM))
        return;
    bytes = quantity_value(&disk);
    if (capacity - bytes > capacity / SLACK_SHARE)
        check_find(x, SEVERITY_WARNING, "volume-oversized", &v->obj,
                   "enlarge the disk, or replace the volume",
                   "has a capacity of %s, %s more than its disk holds", in_words(x, capacity),
                   in_words(x, capacity - bytes));
    else if (bytes > capacity && v->phase == VOLUME_BOUND)
        check_find(x, SEVERITY_HINT, "disk-grown", &v->obj, resize_advice(x, v, &disk),
                   "has a capacity of %s, and its disk holds %s", in_words(x, capacity), in_words(x, bytes));
}

/* --- As statistics see them --- */

/* The volume of the claim; NULL unless both are bound to one another and have the same size: one that is
 * being expanded is larger than its file system for a while. */
static const struct volume *volume_in_use(const struct checkup *x, const struct usage *u)
{
    const struct object *o = u->claim[0] ? inventory_find(x->all, KIND_CLAIM, u->claim_ns, u->claim) : NULL;
    const struct claim *c = o ? claim_of(o) : NULL;
    const struct volume *v;

    o = c && c->volume_name[0] ? inventory_find(x->all, KIND_VOLUME, "", c->volume_name) : NULL;
    v = o ? volume_of(o) : NULL;
    return v && inventory_is_of(v, c) && v->has_capacity && c->has_capacity &&
                   quantity_cmp(&v->capacity, &c->capacity) == 0
               ? v
               : NULL;
}

static void check_mounted(struct checkup *x, const struct usage *u)
{
    const struct volume *v = u->capacity > 0 ? volume_in_use(x, u) : NULL;
    int64_t capacity = v ? quantity_value(&v->capacity) : 0;
    struct quantity ignored;

    if (!v || local_disk_capacity(v, &ignored) ||
        capacity - u->capacity <= capacity / SLACK_SHARE + OVERHEAD_BYTES)
        return;
    check_find_at(x,
                  (struct finding){ SEVERITY_WARNING, "volume-oversized", KIND_CLAIM, u->claim_ns, u->claim,
                                    .advice = "enlarge what is mounted, or replace the volume" },
                  "has volume %s with a capacity of %s, %s more than is mounted for pod %s", v->obj.name,
                  in_words(x, capacity), in_words(x, capacity - u->capacity), u->pod);
}

void check_disks(struct checkup *x)
{
    for (size_t i = 0; i < x->all->kinds[KIND_VOLUME].list.count; i++) {
        const struct volume *v = volume_of(x->all->kinds[KIND_VOLUME].list.items[i]);

        if (x->ns && v->claim.is_set && strcmp(v->claim.ns, x->ns) != 0)
            continue;
        check_presence(x, v);
        check_size(x, v);
    }
    for (size_t i = 0; x->usages && i < x->usages->items.count; i++)
        if (!x->ns || strcmp(x->usages->items.items[i].ns, x->ns) == 0)
            check_mounted(x, &x->usages->items.items[i]);
}

/* Rules of `berth check` for volumes and the disks below them: missing disks, replaced disks, disks of
 * another size than the volume's capacity.
 *
 * For volumes that local discovery created, the node records what it observes (api/local_volume.h); for
 * mounted volumes the node's statistics are used. */
#include "why/check.h"

#include <string.h>

#include "api/local_volume.h"

/* A volume is oversized when more than a tenth of its capacity is missing on the disk. Where only the size of
 * the file system is known, its own overhead may be missing, too. */
#define SLACK_SHARE 10
#define OVERHEAD_BYTES ((int64_t)128 << 20)

static const char *in_words(struct checkup *checkup, int64_t bytes)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(64);
    const char *kept;

    usage_write_bytes(bytes, &text);
    kept = arena_dup(&checkup->texts, buf_str(&text));
    return kept ? kept : "";
}

/* --- Disks recorded by local discovery --- */

static const char *resize_advice(struct checkup *checkup, const struct volume *v, const struct quantity *disk)
{
    _cleanup_(buf_done_p) struct buf size = BUF_INIT(QUANTITY_TEXT_BYTES_MAX);
    const char *advice;

    quantity_format(disk, &size);
    advice = arena_printf(
        &checkup->texts, "berth patch pv %s --type=merge -p '{\"spec\":{\"capacity\":{\"storage\":\"%s\"}}}'",
        v->obj.name, buf_cstr(&size));
    return advice ? advice : "";
}

static void check_disk(struct checkup *checkup, const struct volume *v)
{
    const char *problem = object_annotation(&v->obj, ANN_DISK_PROBLEM);
    struct quantity disk;
    int64_t bytes, capacity = quantity_value(&v->capacity);

    if (problem)
        check_find(checkup, v->phase == VOLUME_BOUND ? SEVERITY_ERROR : SEVERITY_WARNING,
                   local_disk_is_replaced(v) ? "disk-replaced" : "disk-missing", &v->obj, NULL,
                   "cannot be used on its node: %s", problem);
    if (problem || !v->has_capacity || !local_disk_capacity(v, &disk))
        return;
    bytes = quantity_value(&disk);
    if (capacity - bytes > capacity / SLACK_SHARE)
        check_find(checkup, SEVERITY_WARNING, "volume-oversized", &v->obj,
                   "enlarge the disk, or replace the volume",
                   "has a capacity of %s, %s more than its disk holds", in_words(checkup, capacity),
                   in_words(checkup, capacity - bytes));
    else if (bytes > capacity && v->phase == VOLUME_BOUND)
        check_find(checkup, SEVERITY_HINT, "disk-grown", &v->obj, resize_advice(checkup, v, &disk),
                   "has a capacity of %s, but its disk holds %s", in_words(checkup, capacity),
                   in_words(checkup, bytes));
}

/* --- Disks measured by statistics --- */

/* The volume of the claim; NULL unless the two are bound to each other and have the same capacity: during an
 * expansion the volume is larger than its file system. */
static const struct volume *volume_in_use(const struct checkup *checkup, const struct volume_usage *u)
{
    const struct object *o =
        u->claim[0] ? inventory_find(checkup->all, KIND_CLAIM, u->claim_ns, u->claim) : NULL;
    const struct claim *c = o ? claim_of(o) : NULL;
    const struct volume *v;

    o = c && c->volume_name[0] ? inventory_find(checkup->all, KIND_VOLUME, "", c->volume_name) : NULL;
    v = o ? volume_of(o) : NULL;
    return v && inventory_is_of(v, c) && v->has_capacity && c->has_capacity &&
                   quantity_cmp(&v->capacity, &c->capacity) == 0
               ? v
               : NULL;
}

static void check_mounted(struct checkup *checkup, const struct volume_usage *u)
{
    const struct volume *v = u->capacity > 0 ? volume_in_use(checkup, u) : NULL;
    int64_t capacity = v ? quantity_value(&v->capacity) : 0;
    struct quantity ignored;

    if (!v || local_disk_capacity(v, &ignored) ||
        capacity - u->capacity <= capacity / SLACK_SHARE + OVERHEAD_BYTES)
        return;
    check_find_at(
        checkup,
        (struct check_finding){ SEVERITY_WARNING, "volume-oversized", KIND_CLAIM, u->claim_ns, u->claim,
                                .advice = "enlarge the mounted file system, or replace the volume" },
        "has volume %s with a capacity of %s, %s more than the file system mounted for pod %s", v->obj.name,
        in_words(checkup, capacity), in_words(checkup, capacity - u->capacity), u->pod);
}

void check_disks(struct checkup *checkup)
{
    for (size_t i = 0; i < checkup->all->kinds[KIND_VOLUME].list.count; i++) {
        const struct volume *v = volume_of(checkup->all->kinds[KIND_VOLUME].list.items[i]);

        if (!checkup->ns || !v->claim.is_set || strcmp(v->claim.ns, checkup->ns) == 0)
            check_disk(checkup, v);
    }
    for (size_t i = 0; checkup->usages && i < checkup->usages->items.count; i++)
        if (!checkup->ns || strcmp(checkup->usages->items.items[i].ns, checkup->ns) == 0)
            check_mounted(checkup, &checkup->usages->items.items[i]);
}

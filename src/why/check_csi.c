/* Rules of `berth check` for CSI: attachments, expansions and changes of attributes classes that take too
 * long, drivers that are not ready, and drivers that objects refer to and that no process has. */
#include "why/check.h"

#include <assert.h>
#include <string.h>

#include "api/attachment.h"
#include "api/csi.h"
#include "api/lease.h"
#include "base/cleanup.h"
#include "why/why_csi.h"

#define CLAIM_MODIFYING_VOLUME "ModifyingVolume"
/* Drivers that are compared with nodes and leases; further ones are not checked. */
#define DRIVERS_MAX 256

/* --- Attachments --- */

void check_attachment_age(struct checkup *checkup, const struct object *o)
{
    const struct attachment *a = (const struct attachment *)(const void *)o;
    struct cause cause = { "", "" };

    if (o->is_deleting) {
        check_deleting(checkup, o);
        return;
    }
    if (a->is_attached || a->attach_error.message[0] || !check_is_late(checkup, o->created))
        return;
    (void)causes_find(checkup->causes, o, &cause);
    check_find(checkup, SEVERITY_WARNING, "attach-stuck", o, NULL,
               "has been waiting for %s for volume %s to be attached to node %s%s%s",
               check_since(checkup, o->created), a->volume_name, a->node_name, cause.sentence[0] ? ": " : "",
               cause.sentence);
}

/* --- Expansions and changes --- */

/* The condition has been true for too long. */
static bool is_stuck(const struct checkup *checkup, const struct claim *c, const char *type,
                     const struct status_condition **ret)
{
    *ret = condition_get(&c->conditions, type);
    return *ret && (*ret)->status == CONDITION_TRUE && check_is_late(checkup, (*ret)->changed);
}

void check_claim_work(struct checkup *checkup, const struct claim *c)
{
    const struct object *o = inventory_find(checkup->all, KIND_VOLUME, "", c->volume_name);
    const struct status_condition *condition;
    struct cause cause = { "", "" };
    bool resizes, modifies;

    if (c->phase != CLAIM_BOUND || !o || volume_of(o)->source.kind != SOURCE_CSI ||
        c->resize == RESIZE_CONTROLLER_INFEASIBLE || c->resize == RESIZE_NODE_INFEASIBLE)
        return;
    resizes = is_stuck(checkup, c, CLAIM_RESIZING, &condition);
    modifies = !resizes && is_stuck(checkup, c, CLAIM_MODIFYING_VOLUME, &condition);
    if (!resizes && !modifies)
        return;
    (void)causes_find(checkup->causes, &c->obj, &cause);
    check_find(checkup, SEVERITY_WARNING, resizes ? "resize-stuck" : "modify-stuck", &c->obj, NULL,
               "its volume %s has been %s for %s%s%s", c->volume_name,
               resizes ? "expanding" : "changing its attributes class",
               check_since(checkup, condition->changed), cause.sentence[0] ? ": " : "", cause.sentence);
}

/* --- Drivers --- */

/* What refers to a driver. */
struct driver_references {
    const char *name;
    size_t volumes, attachments;
};
typedef VEC(struct driver_references) driver_list;

static struct driver_references *find_use(struct checkup *checkup, driver_list *all, const char *name)
{
    assert(all->count == 0 || all->items);
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->items[i].name, name) == 0)
            return &all->items[i];
    if (all->count == DRIVERS_MAX)
        return NULL;
    if (vec_push(all, ((struct driver_references){ .name = name })) < 0) {
        checkup->is_out_of_memory = true;
        return NULL;
    }
    return &all->items[all->count - 1];
}

static void collect_uses(struct checkup *checkup, driver_list *ret)
{
    for (size_t i = 0; i < checkup->all->kinds[KIND_VOLUME].list.count; i++) {
        const struct volume *v = volume_of(checkup->all->kinds[KIND_VOLUME].list.items[i]);
        struct driver_references *use =
            v->source.kind == SOURCE_CSI ? find_use(checkup, ret, v->source.csi->driver) : NULL;

        if (use)
            use->volumes++;
    }
    for (size_t i = 0; i < checkup->all->kinds[KIND_ATTACHMENT].list.count; i++) {
        const struct object *o = checkup->all->kinds[KIND_ATTACHMENT].list.items[i];
        struct driver_references *use =
            find_use(checkup, ret, ((const struct attachment *)(const void *)o)->attacher);

        if (use)
            use->attachments++;
    }
}

static bool is_registered(const struct checkup *checkup, const char *driver)
{
    for (size_t i = 0; i < checkup->all->kinds[KIND_CSI_NODE].list.count; i++) {
        const struct object *o = checkup->all->kinds[KIND_CSI_NODE].list.items[i];

        if (csi_node_driver((const struct csi_node *)(const void *)o, driver))
            return true;
    }
    return false;
}

static bool is_lease_held(const struct checkup *checkup, const char *name)
{
    for (size_t i = 0; i < checkup->all->kinds[KIND_LEASE].list.count; i++) {
        const struct object *o = checkup->all->kinds[KIND_LEASE].list.items[i];
        const struct lease *l = (const struct lease *)(const void *)o;

        if (strcmp(o->name, name) == 0 && l->holder[0] &&
            check_age(checkup, l->renewed) <= l->duration_seconds)
            return true;
    }
    return false;
}

static bool is_served(const struct checkup *checkup, const char *driver)
{
    for (size_t i = 0; i < CSI_DUTY_COUNT; i++) {
        _cleanup_(buf_done_p) struct buf name = BUF_INIT(1024);

        csi_duty_lease((enum csi_duty)i, driver, &name);
        if (is_lease_held(checkup, buf_cstr(&name)))
            return true;
    }
    return false;
}

static void check_gone(struct checkup *checkup, const struct driver_references *use)
{
    if (is_registered(checkup, use->name) || is_served(checkup, use->name))
        return;
    check_find_at(checkup,
                  (struct check_finding){
                      SEVERITY_WARNING, "driver-gone", KIND_CSI_DRIVER, "", use->name,
                      .advice = "start the driver again; if it is gone for good, delete these objects, then "
                                "remove the finalizers of its controllers, which nothing else does: berth "
                                "patch pv NAME --type=merge -p '{\"metadata\":{\"finalizers\":null}}'" },
                  "is on no node and no process holds its leases, but %zu volume%s and %zu attachment%s "
                  "refer to it",
                  use->volumes, use->volumes == 1 ? "" : "s", use->attachments,
                  use->attachments == 1 ? "" : "s");
}

/* A driver whose controllers run, and cannot work. */
static void check_driver(struct checkup *checkup, const struct object *o)
{
    static const char *const codes[] = { "driver-not-ready", "second-socket" };
    struct cause cause = { "", "" };

    if (causes_find(checkup->causes, o, &cause) &&
        name_index(str_of(cause.code), codes, (int)ARRAY_LEN(codes), -1) >= 0)
        check_find(checkup, SEVERITY_WARNING, cause.code[0] == 'd' ? codes[0] : codes[1], o, NULL, "%s",
                   cause.sentence);
}

void check_csi_drivers(struct checkup *checkup)
{
    _cleanup_(vec_done_p) driver_list uses = { 0 };

    if (checkup->ns) /* drivers are of the whole cluster */
        return;
    for (size_t i = 0; i < checkup->all->kinds[KIND_CSI_DRIVER].list.count; i++)
        check_driver(checkup, checkup->all->kinds[KIND_CSI_DRIVER].list.items[i]);
    if (!inventory_covers(checkup->all, KIND_CSI_NODE) || !inventory_covers(checkup->all, KIND_LEASE))
        return;
    collect_uses(checkup, &uses);
    for (size_t i = 0; i < uses.count; i++)
        check_gone(checkup, &uses.items[i]);
}

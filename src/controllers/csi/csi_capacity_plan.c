/* Which CSIStorageCapacity objects a driver should have: one item per class and topology segment. Reads
 * caches; changes nothing. */
#include "controllers/csi/csi_capacity_int.h"

#include <stdio.h>
#include <string.h>

#include "io/digest.h"

#define NAME_PREFIX "csisc-"
#define NAME_DIGITS 40 /* of the digest */
#define PLAN_BYTES_MAX ((size_t)64 << 20)
#define TEXT_BYTES_MAX ((size_t)256 << 10) /* of one class with its segment */

/* --- Names --- */

static void add_name_part(struct buf *out, const char *text)
{
    buf_add_cstr(out, text);
    buf_add_char(out, '\n'); /* is in no name and no label */
}

/* The name of the object of a class and a segment. */
static int write_item_name(const struct csi_capacity_publisher *p, const char *class_name,
                           const struct kvs *segment, char ret[CSI_CAPACITY_NAME_BYTES], struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(TEXT_BYTES_MAX);
    char digest[SHA256_HEX_BYTES];
    int r;

    add_name_part(&text, csi_peer_name(p->o.peer));
    add_name_part(&text, p->managed_by);
    add_name_part(&text, class_name);
    for (uint32_t i = 0; i < segment->count; i++) {
        add_name_part(&text, segment->items[i].key);
        add_name_part(&text, segment->items[i].value);
    }
    r = buf_check(&text, "a topology segment", err);
    if (r == 0)
        r = sha256_hex(buf_str(&text), digest, err);
    if (r == 0)
        (void)snprintf(ret, CSI_CAPACITY_NAME_BYTES, NAME_PREFIX "%.*s", NAME_DIGITS, digest);
    return r;
}

/* The segment of an object, in the arena; false: not one that a publisher writes. */
static bool segment_of_object(struct arena *a, const struct csi_capacity *k, struct kvs *ret)
{
    const struct label_selector *l = k->topology;
    struct kv *items = l ? arena_array(a, l->count + 1, sizeof *items) : NULL;

    if (!items || l->error)
        return false;
    for (size_t i = 0; i < l->count; i++) {
        if (l->items[i].op != SELECTOR_IN || l->items[i].values_count != 1)
            return false;
        items[i] = (struct kv){ l->items[i].key, l->items[i].values[0] };
    }
    kv_sort(items, l->count);
    *ret = (struct kvs){ items, (uint32_t)l->count };
    return true;
}

const struct capacity_item *csi_capacity_find_item(const struct csi_capacity_publisher *p,
                                                   const struct object *o)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(TEXT_BYTES_MAX);
    const struct csi_capacity *k = csi_capacity_of(o);
    char name[CSI_CAPACITY_NAME_BYTES];
    struct kvs segment;
    struct error ignored; /* too long for an item */

    if (!segment_of_object(&a, k, &segment) ||
        write_item_name(p, k->class_name, &segment, name, &ignored) < 0)
        return NULL;
    return map_get(&p->plan.items, str_of(name));
}

const struct object *csi_capacity_find_object(const struct csi_capacity_publisher *p, const char *name)
{
    return informer_get(p->capacities, p->o.settings->capacity_namespace, name);
}

bool csi_capacity_has_labels(const struct csi_capacity_publisher *p, const struct object *o)
{
    const char *driver = object_label(o, LABEL_CAPACITY_DRIVER),
               *by = object_label(o, LABEL_CAPACITY_MANAGER);

    return driver && by && strcmp(driver, csi_peer_name(p->o.peer)) == 0 && strcmp(by, p->managed_by) == 0;
}

bool csi_capacity_is_ours(const struct csi_capacity_publisher *p, const struct object *o)
{
    return strcmp(o->ns, p->o.settings->capacity_namespace) == 0 &&
           (csi_capacity_has_labels(p, o) || map_get(&p->plan.items, str_of(o->name)));
}

bool csi_capacity_is_obsolete(const struct csi_capacity_publisher *p, const struct object *o)
{
    const struct capacity_item *item = csi_capacity_find_item(p, o);

    return !item || strcmp(item->name, o->name) != 0;
}

/* --- The plan --- */

void csi_capacity_plan_init(const struct csi_capacity_publisher *p, struct capacity_plan *plan)
{
    plan->arena = ARENA_INIT(PLAN_BYTES_MAX);
    map_init(&plan->items, p->seed);
}

void csi_capacity_plan_done(struct capacity_plan *plan)
{
    map_done(&plan->items);
    arena_done(&plan->arena);
}

static bool is_class_published(const struct csi_capacity_publisher *p, const struct storage_class *c)
{
    return strcmp(c->provisioner, csi_peer_name(p->o.peer)) == 0 &&
           (c->binding == BINDING_WAIT_FOR_FIRST_CONSUMER || p->o.settings->has_capacity_for_immediate);
}

/* The scheduler reads the objects only if the CSIDriver says that there are some. */
static bool is_published(const struct csi_capacity_publisher *p)
{
    const struct object *o = informer_get(p->drivers, "", csi_peer_name(p->o.peer));

    return o && ((const struct csi_driver *)(const void *)o)->storage_capacity;
}

/* The terms outlive the objects that they were read from. */
static int copy_segment(struct arena *a, const struct kvs *from, struct kvs *ret, struct error *err)
{
    struct kv *items = arena_array(a, from->count + 1, sizeof *items);

    for (uint32_t i = 0; i < from->count && items; i++)
        items[i] = (struct kv){ arena_dup(a, str_of(from->items[i].key)),
                                arena_dup(a, str_of(from->items[i].value)) };
    *ret = (struct kvs){ items, from->count };
    return arena_check(a, err);
}

static int plan_add(const struct csi_capacity_publisher *p, struct capacity_plan *plan,
                    const char *class_name, const struct kvs *segment, struct error *err)
{
    struct capacity_item *item = arena_alloc(&plan->arena, sizeof *item);
    int r;

    if (!item)
        return arena_check(&plan->arena, err);
    item->class_name = class_name;
    item->segment = *segment;
    r = write_item_name(p, class_name, segment, item->name, err);
    if (r == 0 && map_put(&plan->items, str_of(item->name), item, NULL) < 0)
        r = error_no_memory(err);
    return r;
}

static int plan_add_class(const struct csi_capacity_publisher *p, struct capacity_plan *plan,
                          const struct storage_class *c, const struct csi_terms *segments, struct error *err)
{
    const char *name = arena_dup(&plan->arena, str_of(c->obj.name));
    int r = name ? 0 : arena_check(&plan->arena, err);

    for (uint32_t i = 0; i < segments->count && r == 0; i++)
        if (plan->items.count < CSI_CAPACITY_ITEMS_MAX)
            r = plan_add(p, plan, name, &segments->items[i], err);
    return r;
}

int csi_capacity_plan_fill(const struct csi_capacity_publisher *p, struct capacity_plan *plan,
                           size_t *ret_wanted, struct error *err)
{
    const struct csi_segments_request q = { .driver = csi_peer_name(p->o.peer),
                                            .node_name = p->o.node_name,
                                            .nodes = p->nodes,
                                            .csi_nodes = p->csi_nodes };
    struct csi_terms segments = { 0 };
    struct informer_cursor at;
    int r = is_published(p) ? csi_topology_segments(&plan->arena, &q, &segments, err) : 0;

    *ret_wanted = 0;
    for (uint32_t i = 0; i < segments.count && r == 0; i++)
        r = copy_segment(&plan->arena, &segments.items[i], &segments.items[i], err);
    for (const struct object *o = informer_first(p->classes, &at); o && r == 0; o = informer_next(&at)) {
        if (!is_class_published(p, csi_class_of(o)))
            continue;
        *ret_wanted += segments.count;
        r = plan_add_class(p, plan, csi_class_of(o), &segments, err);
    }
    return r;
}

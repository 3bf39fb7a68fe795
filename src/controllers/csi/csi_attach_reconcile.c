/* Compares attachments with what the driver has published: each attachment whose status differs is synced
 * once more, so that a volume that was detached behind Kubernetes' back is attached again.
 *
 * A round reads all pages of ListVolumes. It keeps only what attachments of the driver are about, in an arena
 * of bounded size; a round that cannot be finished changes nothing. */
#include "controllers/csi/csi_attacher_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define PAGES_MAX 10000
#define ROUND_BYTES_MAX ((size_t)64 << 20)

struct csi_attach_reconcile {
    struct csi_attacher *attacher;
    struct timer timer;
    struct csi_controller_call call;
    struct arena arena;   /* of the round */
    struct map handles;   /* of volumes with an attachment; a value is its own key */
    struct map published; /* "HANDLE\nNODE-ID"; the same */
    unsigned pages;
};

static void round_end(struct csi_attach_reconcile *c)
{
    map_done(&c->handles);
    map_done(&c->published);
    arena_done(&c->arena);
    c->arena = ARENA_INIT(ROUND_BYTES_MAX);
    timer_arm_after(&c->timer, c->attacher->o.settings->reconcile_ns);
}

static void round_fail(struct csi_attach_reconcile *c, const char *why)
{
    log_warn("cannot compare attachments with the driver's list",
             LOG_STR("driver", csi_peer_name(c->attacher->o.peer)), LOG_STR("reason", why));
    round_end(c);
}

/* --- Keys --- */

static const char *pair_key(struct arena *a, const char *handle, const char *node_id)
{
    return arena_printf(a, "%s\n%s", handle, node_id);
}

/* False without memory. */
static bool add_key(struct map *m, const char *key)
{
    return key && map_put(m, str_of(key), (void *)(uintptr_t)key, NULL) == 0;
}

/* Calls fn for each attachment of the driver whose volume and node are known. False: fn has failed. */
typedef bool attachment_fn(struct csi_attach_reconcile *c, const struct attachment *va, const char *handle,
                           const char *node_id);

static bool each_attachment(struct csi_attach_reconcile *c, attachment_fn *fn)
{
    const struct csi_attacher *a = c->attacher;
    struct informer_cursor at;
    bool goes_on = true;

    for (const struct object *o = informer_first(a->attachments, &at); o && goes_on; o = informer_next(&at)) {
        const struct attachment *va = (const struct attachment *)(const void *)o;
        _cleanup_(object_unref_p) struct object *volume = NULL;
        const struct object *kept;
        struct error ignored;
        const char *id;

        if (!csi_attacher_owns(a, va))
            continue;
        id = csi_attacher_node_id(a, va);
        id = id ? id : object_annotation(o, ANN_CSI_NODE_ID);
        if (id && csi_attacher_volume(a, va, &volume, &kept, &ignored) == 0)
            goes_on = fn(c, va, volume_of(volume)->source.csi->handle, id);
    }
    return goes_on;
}

/* --- A round --- */

static bool want_handle(struct csi_attach_reconcile *c, const struct attachment *va, const char *handle,
                        const char *node_id)
{
    (void)va;
    (void)node_id;
    return map_get(&c->handles, str_of(handle)) || add_key(&c->handles, arena_dup(&c->arena, str_of(handle)));
}

static bool compare_one(struct csi_attach_reconcile *c, const struct attachment *va, const char *handle,
                        const char *node_id)
{
    const char *key = pair_key(&c->arena, handle, node_id);
    bool is_published;

    if (!key)
        return false;
    is_published = map_get(&c->published, str_of(key)) != NULL;
    if (is_published == va->is_attached)
        return true;
    log_info("attachment differs from the driver's list, syncing it again",
             LOG_STR("attachment", va->obj.name), LOG_BOOL("attached", va->is_attached),
             LOG_BOOL("published", is_published));
    csi_attacher_force(c->attacher, va);
    return true;
}

static bool take_entry(struct csi_attach_reconcile *c, const Csi__V1__ListVolumesResponse__Entry *e)
{
    if (!e->volume || !e->status || !map_get(&c->handles, str_of(e->volume->volume_id)))
        return true;
    for (size_t i = 0; i < e->status->n_published_node_ids; i++)
        if (!add_key(&c->published,
                     pair_key(&c->arena, e->volume->volume_id, e->status->published_node_ids[i])))
            return false;
    return true;
}

static void on_page(struct csi_controller_call *call, const struct csi_answer *a);

static void request_page(struct csi_attach_reconcile *c, const char *token)
{
    const struct csi_function_options *o = &c->attacher->o;
    Csi__V1__ListVolumesRequest m;

    csi__v1__list_volumes_request__init(&m);
    m.starting_token = (char *)(uintptr_t)token; /* is not modified */
    c->call.done = on_page;
    csi_controller_call_start(o->peer, &c->call, CSI_LIST_VOLUMES, &m.base, o->settings->attach_timeout_ns);
}

static void on_page(struct csi_controller_call *call, const struct csi_answer *a)
{
    struct csi_attach_reconcile *c = CONTAINER_OF(call, struct csi_attach_reconcile, call);
    const Csi__V1__ListVolumesResponse *m = (const void *)a->message;

    if (a->outcome != CSI_DONE) {
        round_fail(c, a->err->msg);
        return;
    }
    for (size_t i = 0; i < m->n_entries; i++)
        if (!take_entry(c, m->entries[i])) {
            round_fail(c, "the list is too large");
            return;
        }
    if (m->next_token[0] && ++c->pages >= PAGES_MAX) {
        round_fail(c, "the list has too many pages");
    } else if (m->next_token[0]) {
        request_page(c, m->next_token);
    } else {
        if (!each_attachment(c, compare_one))
            log_warn("no memory to compare attachments");
        round_end(c);
    }
}

/* Without attachments there is nothing to compare, and the driver is not asked. */
static void round_begin(void *ctx)
{
    struct csi_attach_reconcile *c = ctx;

    c->pages = 0;
    if (!each_attachment(c, want_handle))
        round_fail(c, "there are too many attachments");
    else if (c->handles.count == 0)
        round_end(c);
    else
        request_page(c, "");
}

/* --- Life --- */

int csi_attach_reconcile_new(struct csi_attacher *a, struct csi_attach_reconcile **ret, struct error *err)
{
    struct csi_attach_reconcile *c = calloc(1, sizeof *c);
    struct hash_seed seed = { rng_u64(&a->rng), rng_u64(&a->rng) };

    if (!c)
        return error_no_memory(err);
    c->attacher = a;
    c->arena = ARENA_INIT(ROUND_BYTES_MAX);
    map_init(&c->handles, seed);
    map_init(&c->published, seed);
    timer_init(&c->timer, a->o.part.loop, round_begin, c);
    *ret = c;
    return 0;
}

void csi_attach_reconcile_start(struct csi_attach_reconcile *c)
{
    timer_arm_after(&c->timer, c->attacher->o.settings->reconcile_ns);
}

struct csi_attach_reconcile *csi_attach_reconcile_free(struct csi_attach_reconcile *c)
{
    if (!c)
        return NULL;
    csi_controller_call_cancel(&c->call);
    timer_disarm(&c->timer);
    map_done(&c->handles);
    map_done(&c->published);
    arena_done(&c->arena);
    free(c);
    return NULL;
}

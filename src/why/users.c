/* Finds the pods that use a claim, the nodes that reach a volume, its attachments and the last events about
 * an object, for the texts of explanations. */
#include "why/users.h"

#include <stdio.h>
#include <string.h>

#include "api/migration.h"
#include "api/node.h"
#include "api/pod_claims.h"
#include "base/cleanup.h"
#include "host/mount_syscall.h"
#include "machinery/component_deps.h"
#include "why/why_walk.h"

/* A list being written. */
struct list {
    struct buf *out;
    size_t count;
};

static void list_add(struct list *l, const char *name, const char *node)
{
    if (l->count < WHY_EXAMPLES)
        buf_addf(l->out, "%s%s%s%s", l->count ? ", " : "", name, node[0] ? " on " : "", node);
    l->count++;
}

static size_t list_end(struct list *l)
{
    if (l->count > WHY_EXAMPLES)
        buf_addf(l->out, ", … (%zu)", l->count);
    return l->count;
}

size_t why_users(const struct why_world *w, const char *ns, const char *claim, const char *except_uid,
                 bool is_placed, struct buf *out)
{
    struct list l = { .out = out };
    struct informer_cursor at;
    char key[CLAIM_KEY_BYTES_MAX];

    if (!w->caches[KIND_POD])
        return 0;
    (void)snprintf(key, sizeof key, "%s/%s", ns, claim);
    for (const struct object *o = informer_first_by(w->caches[KIND_POD], PODS_BY_CLAIM, str_of(key), &at); o;
         o = informer_next(&at)) {
        const struct pod *p = pod_of(o);

        if (!pod_is_terminated(p) && !(except_uid && strcmp(o->uid, except_uid) == 0) &&
            (p->node_name[0] || !is_placed))
            list_add(&l, o->name, p->node_name);
    }
    return list_end(&l);
}

size_t why_reach(const struct why_world *w, const struct volume *v, struct buf *out)
{
    _cleanup_(object_unref_p) struct object *is = NULL;
    struct list l = { .out = out };
    struct informer_cursor at;
    struct error ignored; /* an invalid affinity matches no node */

    if (!w->caches[KIND_NODE])
        return 0;
    if (migration_plugin(v->source.kind) && migration_translate(v, &is, &ignored) == 0)
        v = volume_of(is); /* nodes compare the driver's topology */
    for (const struct object *o = informer_first(w->caches[KIND_NODE], &at); o; o = informer_next(&at))
        if (node_affinity_check(v->affinity, o->labels.items, o->labels.count, &ignored) == 0)
            list_add(&l, o->name, "");
    return list_end(&l);
}

static const struct attachment *attachment_of(const struct object *o)
{
    return (const struct attachment *)(const void *)o;
}

/* The node, with its value of the label if the name does not show it. */
static void add_node(struct list *l, const struct object *node, const char *key)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(WHY_LINE_BYTES_MAX);
    const char *has = key ? object_label(node, key) : NULL;

    buf_add_cstr(&text, node->name);
    if (has && strcmp(has, node->name) != 0)
        buf_addf(&text, " (%s=%s)", key, has);
    else if (key && !has)
        buf_addf(&text, " (without %s)", key);
    list_add(l, buf_cstr(&text), "");
}

void why_write_need(const struct why_world *w, const struct volume *v, struct buf *out)
{
    _cleanup_(buf_done_p) struct buf nodes = BUF_INIT(WHY_LINE_BYTES_MAX);
    struct list l = { .out = &nodes };
    const char *key = NULL; /* the first label that the affinity requires */
    struct informer_cursor at;

    if (v->affinity->count && v->affinity->terms[0].labels.count)
        key = v->affinity->terms[0].labels.items[0].key;
    for (const struct object *o = informer_first(w->caches[KIND_NODE], &at); o; o = informer_next(&at))
        add_node(&l, o, key);
    buf_add_cstr(out, "a node labelled ");
    node_selector_words(v->affinity, out);
    if (list_end(&l) == 0)
        buf_add_cstr(out, "; no node exists");
    else
        buf_addf(out, "; the %s %s", l.count == 1 ? "only node is" : "nodes are", buf_cstr(&nodes));
}

void why_advise_need(struct why_report *r, const struct volume *v)
{
    _cleanup_(buf_done_p) struct buf labels = BUF_INIT(WHY_LINE_BYTES_MAX);

    node_selector_words(v->affinity, &labels);
    report_advise(r,
                  "Add a node labelled %s, or recreate volume %s with a node affinity for an existing node.",
                  buf_cstr(&labels), v->obj.name);
}

/* --- Attachments of a volume --- */

struct attachments_walk {
    struct why_walk walk; /* about a volume */
    struct why_found found;
};

static size_t visit_attachment(const struct why_world *w, struct why_walk *walk, const struct object *o)
{
    struct attachments_walk *attachments_walk = CONTAINER_OF(walk, struct attachments_walk, walk);

    if (strcmp(attachment_of(o)->volume_name, walk->about->name) == 0)
        why_found_add(w, &attachments_walk->found, o);
    return 1;
}

static void clear_attachments(struct why_walk *walk)
{
    why_found_clear(&CONTAINER_OF(walk, struct attachments_walk, walk)->found);
}

static const struct why_walk_type attachments_walk_type = { .bytes = sizeof(struct attachments_walk),
                                                            .kind = KIND_ATTACHMENT,
                                                            .visit = visit_attachment,
                                                            .clear = clear_attachments };

/* The result of a walk; NULL before it is done. */
static const struct why_found *attachments_of(const struct why_world *w, const struct volume *v)
{
    const struct attachments_walk *attachments_walk = NULL;

    if (w->caches[KIND_ATTACHMENT])
        attachments_walk =
            why_walk_result(w, &attachments_walk_type, &v->obj, /* other= */ NULL, /* flags= */ 0);
    return attachments_walk ? &attachments_walk->found : NULL;
}

size_t why_attached(const struct why_world *w, const struct volume *v, const char *except_node,
                    enum why_attachments which, struct buf *out)
{
    const struct why_found *found = attachments_of(w, v);
    struct list l = { .out = out };

    for (size_t i = 0; found && i < found->items.count; i++) {
        const struct attachment *a = attachment_of(found->items.items[i]);

        if ((which == WHY_ANY || a->is_attached == (which == WHY_ATTACHED)) &&
            !(except_node && strcmp(a->node_name, except_node) == 0))
            list_add(&l, a->node_name, "");
    }
    return list_end(&l);
}

const struct attachment *why_find_attachment(const struct why_world *w, const struct volume *v,
                                             const char *node)
{
    const struct why_found *found = attachments_of(w, v);

    for (size_t i = 0; found && i < found->items.count; i++)
        if (strcmp(attachment_of(found->items.items[i])->node_name, node) == 0)
            return attachment_of(found->items.items[i]);
    return NULL;
}

const struct claim *why_claim_of(const struct why_world *w, const struct volume *v)
{
    const struct object *o = v->claim.is_set ? why_get(w, KIND_CLAIM, v->claim.ns, v->claim.name) : NULL;

    return o ? claim_of(o) : NULL;
}

/* --- Events --- */

struct event_search {
    const char *const *reasons;
    struct why_warning *found;
    bool is_found;
};

static void on_event(void *ctx, const struct event *e)
{
    struct event_search *search = ctx;
    struct timestamp at = why_event_at(e);

    if ((search->is_found && timestamp_cmp(at, search->found->at) < 0) ||
        !why_is_one_of(search->reasons, e->reason))
        return;
    search->is_found = true;
    search->found->at = at;
    (void)snprintf(search->found->reason, sizeof search->found->reason, "%s", e->reason);
    (void)snprintf(search->found->message, sizeof search->found->message, "%s", e->message);
}

bool why_last_event(const struct why_world *w, const struct object *about, const char *const *reasons,
                    struct why_warning *ret)
{
    struct event_search x = { .reasons = reasons, .found = ret };

    why_each_event(w, about, on_event, &x);
    return x.is_found;
}

bool why_advise_install(struct why_report *r, const char *message, const char *machine)
{
    const char *missing = strstr(message, MOUNT_HELPER_MISSING), *helper = missing;
    struct str what;

    while (helper && helper > message && helper[-1] != ' ')
        helper--;
    if (!helper || !str_has_prefix(str_of(helper), "mount."))
        return false;
    what = (struct str){ helper, (size_t)(missing - helper) };
    missing += strlen(MOUNT_HELPER_MISSING);
    if (str_has_prefix(str_of(missing), MOUNT_HELPER_PACKAGE)) {
        missing += strlen(MOUNT_HELPER_PACKAGE);
        what = (struct str){ missing, strcspn(missing, " \n") };
    }
    report_advise(r, "Install %.*s on %s.", STR_ARG(what), machine);
    return true;
}

/* Restrictions of the CSI controllers of one node (berth:csi-node:NAME in berth:csi-nodes): which volumes,
 * claims, capacity objects and records they may write. Compares fields of the old and the new object. Only
 * writes of these users cost more than a comparison of groups. */
#include "apiserver/node_restriction.h"

#include <string.h>

#include "api/claim.h"
#include "api/class.h"
#include "api/csi_objects.h"
#include "api/storage.h"
#include "apiserver/roles.h"
#include "apiserver/user.h"
#include "base/cleanup.h"

#define REFUSAL_BYTES_MAX 8192
#define NAME_BYTES_MAX 512

/* One write that is checked. */
struct csi_node_write {
    const struct restricted_write *w;
    const struct access_lookup *lookup;
    struct str node;
    json_ref old; /* in the same document; 0: none */
    struct error *err;
};

/* `persistentvolumes "x" is forbidden: …`. */
static int refuse_write(const struct csi_node_write *j, const char *why)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(REFUSAL_BYTES_MAX);
    const struct restricted_write *w = j->w;
    json_ref meta = json_get(w->d, w->object, "metadata");

    forbidden_prefix(str_of(w->kind->plural), str_of(w->kind->group),
                     w->old ? str_of(w->old->name) : json_get_text(w->d, meta, "name"), &text);
    buf_addf(&text, "user \"" USER_CSI_NODE_PREFIX "%.*s\" %s", STR_ARG(j->node), why);
    return error_set(j->err, ERR_DENIED, "%s", text.failed ? "forbidden" : buf_cstr(&text));
}

/* A text as a string for lookups; false if it is longer than any name. */
static bool copy_name(struct str text, char ret[NAME_BYTES_MAX])
{
    if (text.len >= NAME_BYTES_MAX || memchr(text.s, '\0', text.len))
        return false;
    memcpy(ret, text.s, text.len);
    ret[text.len] = '\0';
    return true;
}

static struct str annotation_of(const struct csi_node_write *j, json_ref object, const char *key)
{
    return json_get_text(j->w->d, json_path(j->w->d, object, "metadata", "annotations"), key);
}

/* --- Volumes --- */

/* A requirement `KEY In [NAME]`. */
static bool expression_names_node(const struct csi_node_write *j, json_ref expression)
{
    const struct json *d = j->w->d;
    json_ref values = json_get(d, expression, "values");

    return json_is_string(d, json_get(d, expression, "operator"), "In") && json_count(d, values) == 1 &&
           str_eq(json_text(d, json_first(d, values)), j->node);
}

/* Every term of the affinity has a requirement that names the node. */
static bool volume_is_of_node(const struct csi_node_write *j, json_ref volume)
{
    const struct json *d = j->w->d;
    json_ref terms = json_path(d, volume, "spec", "nodeAffinity", "required", "nodeSelectorTerms");

    for (json_ref term = json_first(d, terms); term; term = json_next(d, term)) {
        json_ref expressions = json_get(d, term, "matchExpressions");
        bool is_named = false;

        for (json_ref e = json_first(d, expressions); e && !is_named; e = json_next(d, e))
            is_named = expression_names_node(j, e);
        if (!is_named)
            return false;
    }
    return json_count(d, terms) > 0;
}

/* The claim that a new volume is for may be gone, but it is not one that another node serves. */
static bool claim_is_of_node(const struct csi_node_write *j, json_ref volume)
{
    const struct json *d = j->w->d;
    json_ref ref = json_path(d, volume, "spec", "claimRef");
    struct str uid = json_get_text(d, ref, "uid");
    char ns[NAME_BYTES_MAX], name[NAME_BYTES_MAX];
    const struct object *claim;
    const char *selected;

    if (!uid.len || !copy_name(json_get_text(d, ref, "namespace"), ns) ||
        !copy_name(json_get_text(d, ref, "name"), name))
        return false;
    claim = j->lookup->get(j->lookup->ctx, KIND_CLAIM, ns, name);
    if (!claim || !str_is(uid, claim->uid))
        return true;
    selected = object_annotation(claim, ANN_SELECTED_NODE);
    return selected && str_is(j->node, selected);
}

static int check_volume(const struct csi_node_write *j)
{
    const struct json *d = j->w->d;
    json_ref now = j->w->object, spec = json_get(d, now, "spec");

    if ((j->old && !volume_is_of_node(j, j->old)) || (now && !volume_is_of_node(j, now)))
        return refuse_write(j, "can only write volumes whose node affinity names its node");
    if (!now)
        return 0;
    if (!json_get(d, spec, "csi"))
        return refuse_write(j, "can only write volumes with a csi source");
    if (json_is_string(d, json_get(d, spec, "persistentVolumeReclaimPolicy"), "Recycle"))
        return refuse_write(j, "cannot set the reclaim policy Recycle");
    if (!j->old && !claim_is_of_node(j, now))
        return refuse_write(j, "can only create volumes for claims whose selected node is its node");
    if (j->old && !json_equal(d, json_path(d, j->old, "spec", "claimRef"), json_get(d, spec, "claimRef")))
        return refuse_write(j, "cannot change the claim of a volume");
    return 0;
}

/* --- Claims --- */

/* No scheduler selects a node for the claim. */
static bool claim_binds_at_once(const struct csi_node_write *j)
{
    const char *name = claim_of(j->w->old)->class;
    const struct object *class = name[0] ? j->lookup->get(j->lookup->ctx, KIND_CLASS, "", name) : NULL;

    return class &&
           ((const struct storage_class *)(const void *)class)->binding != BINDING_WAIT_FOR_FIRST_CONSUMER;
}

/* Nothing but the selected node has changed. */
static bool only_selection_changed(const struct csi_node_write *j)
{
    static const char *const kept[] = { "labels", "finalizers", "ownerReferences" };
    const struct json *d = j->w->d;
    json_ref was = json_get(d, j->old, "metadata"), is = json_get(d, j->w->object, "metadata");
    json_ref old = json_get(d, was, "annotations"), now = json_get(d, is, "annotations");

    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        if (!json_equal(d, json_get(d, was, kept[i]), json_get(d, is, kept[i])))
            return false;
    for (json_ref a = json_first(d, old); a; a = json_next(d, a))
        if (!str_is(json_key(d, a), ANN_SELECTED_NODE) &&
            !str_eq(json_text(d, a), json_text(d, json_get_key(d, now, json_key(d, a)))))
            return false;
    for (json_ref a = json_first(d, now); a; a = json_next(d, a))
        if (!str_is(json_key(d, a), ANN_SELECTED_NODE) && !json_get_key(d, old, json_key(d, a)))
            return false;
    return json_equal(d, json_get(d, j->old, "spec"), json_get(d, j->w->object, "spec"));
}

static int check_claim(const struct csi_node_write *j)
{
    struct str was = annotation_of(j, j->old, ANN_SELECTED_NODE),
               is = annotation_of(j, j->w->object, ANN_SELECTED_NODE);

    if (!j->old || !j->w->object)
        return refuse_write(j, "can only change claims");
    if (was.len && !str_eq(was, j->node))
        return refuse_write(j, "can only write claims whose selected node is its node");
    if (is.len && !str_eq(is, j->node))
        return refuse_write(j, "can only select its own node");
    if (!was.len && is.len && !claim_binds_at_once(j))
        return refuse_write(j, "cannot select a node for a claim that waits for its first consumer");
    if (!only_selection_changed(j))
        return refuse_write(j, "can only change the selected node of a claim");
    return 0;
}

/* --- Capacity --- */

static bool capacity_is_of_node(const struct csi_node_write *j, json_ref capacity, const char *manager)
{
    const struct json *d = j->w->d;
    json_ref labels = json_path(d, capacity, "metadata", "labels");
    json_ref topology = json_path(d, capacity, "nodeTopology", "matchLabels");
    bool is_named = false;

    for (json_ref l = json_first(d, topology); l && !is_named; l = json_next(d, l))
        is_named = str_eq(json_text(d, l), j->node);
    return is_named && str_is(json_get_text(d, labels, LABEL_CAPACITY_MANAGER), manager);
}

static int check_capacity(const struct csi_node_write *j)
{
    char node[NAME_BYTES_MAX], manager[CSI_MANAGER_BYTES];
    json_ref now = j->w->object;

    if (!copy_name(j->node, node))
        return refuse_write(j, "has a name that is too long");
    if (csi_capacity_manager(node, manager, j->err) < 0)
        return -(int)j->err->code;
    if ((j->old && !capacity_is_of_node(j, j->old, manager)) ||
        (now && !capacity_is_of_node(j, now, manager)))
        return refuse_write(j, "can only write capacity objects of its node");
    return 0;
}

/* --- Records of calls --- */

static int check_record(const struct csi_node_write *j)
{
    json_ref now = j->w->object;
    struct str name = j->w->old ? str_of(j->w->old->name)
                                : json_get_text(j->w->d, json_get(j->w->d, now, "metadata"), "name");

    if (!csi_record_is_of_node(name, j->node) ||
        (j->old && !str_eq(annotation_of(j, j->old, ANN_RECORD_NODE), j->node)) ||
        (now && !str_eq(annotation_of(j, now, ANN_RECORD_NODE), j->node)))
        return refuse_write(j, "can only write the records of calls of its node");
    return 0;
}

/* --- All --- */

int csi_node_restriction(const struct user *u, const struct restricted_write *w,
                         const struct access_lookup *f, struct error *err)
{
    static const struct {
        enum kind kind;
        int (*check)(const struct csi_node_write *j);
    } checks[] = {
        { KIND_VOLUME, check_volume },
        { KIND_CLAIM, check_claim },
        { KIND_CSI_CAPACITY, check_capacity },
        { KIND_CONFIG_MAP, check_record },
    };
    struct csi_node_write j = { .w = w, .lookup = f, .node = user_csi_node(u), .err = err };
    int r;

    if (!j.node.len || user_is_in(u, GROUP_MASTERS) || w->access->sub.len)
        return 0;
    r = w->old ? json_parse(w->d, w->old->text, &j.old, err) : 0;
    for (size_t i = 0; i < ARRAY_LEN(checks) && r == 0; i++)
        if (checks[i].kind == w->kind->kind)
            r = checks[i].check(&j);
    return r < 0 ? r : json_check(w->d, err);
}

/* Builds the tree of classes, volumes, claims, pods and nodes for `berth tree`, and writes it as JSON.
 *
 * Each object is visited once, in the order of the inventory; causes are looked up only for nodes of the tree
 * that are shown. */
#include "why/relation_tree.h"

#include <stdlib.h>
#include <string.h>

#include "api/node.h"

/* Causes looked up per parent: as many children as are shown, in a few states. */
#define EXPLAINED_MAX (3 * (TREE_ALIKE_MAX + 1))

struct builder {
    const struct inventory *all;
    const struct tree_selection *what;
    struct relation_tree *tree;
    VEC(const char *) names;              /* of classes; "" is last */
    struct twig **classes;                /* one per name */
    VEC(const struct claim *) on_volumes; /* claims that are shown below a volume */
    struct buf text;
};

void relation_tree_done(struct relation_tree *t)
{
    arena_done(&t->memory);
}

/* --- Nodes of the tree --- */

static struct twig *add_twig(struct builder *b, struct twig *on, struct twig what)
{
    struct twig *t = arena_alloc(&b->tree->memory, sizeof *t);

    if (!t)
        return NULL;
    *t = what;
    t->capacity = t->capacity ? t->capacity : "";
    t->note = t->note ? t->note : "";
    if (on->last)
        on->last->next = t;
    else
        on->first = t;
    on->last = t;
    return t;
}

/* Copies b->text into the arena. */
static const char *keep_text(struct builder *b)
{
    const char *text = arena_dup(&b->tree->memory, buf_str(&b->text));

    buf_clear(&b->text);
    return text ? text : "";
}

static const char *keep_quantity(struct builder *b, const struct quantity *q)
{
    quantity_format(q, &b->text);
    return keep_text(b);
}

static const char *state_of(const struct object *o, const char *phase)
{
    return o->is_deleting ? "Terminating" : phase;
}

/* --- Causes --- */

/* Adds the cause to b->text, after `between` if there is text already. False when it is not known, or the
 * node will not be shown. */
static bool write_cause(struct builder *b, struct twig *on, const struct object *o, const char *between,
                        struct cause *ret)
{
    if (!b->what->is_whole && on->explained > EXPLAINED_MAX)
        return false;
    on->explained++;
    if (!causes_find(b->what->causes, o, ret) || strcmp(ret->code, WHY_NOTHING) == 0)
        return false;
    buf_addf(&b->text, "%s%s", b->text.len ? between : "", ret->sentence);
    return true;
}

/* --- Pods and nodes --- */

static void grow_node(struct builder *b, struct twig *on, const char *name)
{
    const struct object *o = inventory_find(b->all, KIND_NODE, "", name);
    const char *state = "", *note = "";

    if (o)
        state = node_is_ready(node_of(o)) ? "Ready" : "NotReady";
    else if (b->all->kinds[KIND_NODE].is_known)
        note = "does not exist";
    (void)add_twig(b, on, (struct twig){ KIND_NODE, "", name, state, .note = note });
}

/* claim: what blocks the claim above it; "" for nothing. */
static void grow_pod(struct builder *b, struct twig *on, const struct pod *p, const char *claim)
{
    const char *phase = pod_phase_names[p->phase];
    bool is_waiting = p->obj.is_deleting || p->phase == POD_PENDING || p->phase == POD_PHASE_UNSET;
    struct cause cause = { "", "" };
    struct twig *t;

    if (is_waiting && write_cause(b, on, &p->obj, "", &cause) && claim[0] && strstr(cause.sentence, claim)) {
        buf_clear(&b->text);
        buf_add_cstr(&b->text, "waits for this claim");
    }
    if (strcmp(cause.code, WHY_NOTHING) == 0)
        buf_add_cstr(&b->text, cause.sentence);
    else if (!cause.sentence[0] && !p->node_name[0])
        buf_add_cstr(&b->text, "not scheduled");
    t = add_twig(b, on,
                 (struct twig){ KIND_POD, p->obj.ns, p->obj.name,
                                state_of(&p->obj, phase[0] ? phase : "Pending"), .note = keep_text(b) });
    if (t && p->node_name[0])
        grow_node(b, t, p->node_name);
}

static void grow_pods(struct builder *b, struct twig *on, const char *ns, const char *claim,
                      const char *cause)
{
    size_t count;
    const struct claim_user *users = inventory_users_of(b->all, ns, claim, &count);

    for (size_t i = 0; i < count; i++)
        grow_pod(b, on, users[i].pod, cause);
}

/* --- Claims --- */

static void grow_claim(struct builder *b, struct twig *on, const struct claim *c)
{
    const char *phase = claim_phase_name((enum claim_phase)c->phase), *capacity = "", *note = "";
    struct cause cause = { "", "" };
    struct twig *t;

    if (c->has_capacity)
        capacity = keep_quantity(b, &c->capacity);
    if (c->phase != CLAIM_BOUND) {
        if (c->has_request) {
            buf_add_cstr(&b->text, "requests ");
            quantity_format(&c->request, &b->text);
        }
        (void)write_cause(b, on, &c->obj, ": ", &cause);
        note = keep_text(b);
    }
    t = add_twig(b, on,
                 (struct twig){ KIND_CLAIM, c->obj.ns, c->obj.name,
                                state_of(&c->obj, phase[0] ? phase : "Pending"), capacity, .note = note });
    if (t)
        grow_pods(b, t, c->obj.ns, c->obj.name, cause.sentence);
}

/* The claim that a volume names and that is not bound to it. */
static void grow_absent_claim(struct builder *b, struct twig *on, const struct volume *v)
{
    const struct object *o = inventory_find(b->all, KIND_CLAIM, v->claim.ns, v->claim.name);

    if (!b->all->kinds[KIND_CLAIM].is_known)
        return;
    if (!o)
        buf_add_cstr(&b->text, "does not exist");
    else if (!inventory_is_of(v, claim_of(o)))
        buf_add_cstr(&b->text, "is a different claim with that name");
    else
        buf_addf(&b->text, "is bound to volume %s", claim_of(o)->volume_name);
    (void)add_twig(b, on, (struct twig){ KIND_CLAIM, v->claim.ns, v->claim.name, "", .note = keep_text(b) });
}

/* --- Volumes --- */

static void grow_volume(struct builder *b, struct twig *on, const struct volume *v)
{
    const struct claim *c = inventory_claim_of(b->all, v);
    const char *phase = volume_phase_name((enum volume_phase)v->phase),
               *capacity = v->has_capacity ? keep_quantity(b, &v->capacity) : "", *note;
    struct twig *t;

    access_modes_short(v->modes, &b->text);
    if (v->reclaim != RECLAIM_UNKNOWN)
        buf_addf(&b->text, "%s%s", b->text.len ? " " : "", reclaim_policy_names[v->reclaim]);
    if (v->phase == VOLUME_FAILED && v->message[0])
        buf_addf(&b->text, ", %s", v->message);
    note = keep_text(b);
    t = add_twig(b, on,
                 (struct twig){ KIND_VOLUME, "", v->obj.name, state_of(&v->obj, phase[0] ? phase : "Pending"),
                                capacity, .note = note });
    if (!t || !v->claim.is_set)
        return;
    if (c && (!c->volume_name[0] || strcmp(c->volume_name, v->obj.name) == 0)) {
        grow_claim(b, t, c);
        if (vec_push(&b->on_volumes, c) < 0)
            b->tree->memory.failed = ERR_NO_MEMORY;
    } else {
        grow_absent_claim(b, t, v);
    }
}

/* --- Selection --- */

static bool has_root(const struct builder *b, enum kind kind)
{
    return b->what->name && b->what->kind == kind;
}

static bool wants_class(const struct builder *b, const char *name)
{
    return !has_root(b, KIND_CLASS) || strcmp(name, b->what->name) == 0;
}

static bool wants_claim(const struct builder *b, const char *ns, const char *name)
{
    if (b->what->ns && strcmp(ns, b->what->ns) != 0)
        return false;
    return !has_root(b, KIND_CLAIM) || strcmp(name, b->what->name) == 0;
}

static bool wants_volume(const struct builder *b, const struct volume *v)
{
    if (has_root(b, KIND_VOLUME))
        return strcmp(v->obj.name, b->what->name) == 0;
    if (v->claim.is_set && !wants_claim(b, v->claim.ns, v->claim.name))
        return false;
    return wants_class(b, v->class) && (v->claim.is_set || !has_root(b, KIND_CLAIM));
}

static bool wants_unbound_claim(const struct builder *b, const struct claim *c)
{
    return !has_root(b, KIND_VOLUME) && wants_claim(b, c->obj.ns, c->obj.name) && wants_class(b, c->class);
}

/* --- Classes --- */

static int compare_class_names(const void *a, const void *b)
{
    const char *const *left = a, *const *right = b;

    if (!(*left)[0] || !(*right)[0])
        return ((*left)[0] == '\0') - ((*right)[0] == '\0');
    return strcmp(*left, *right);
}

static int collect_names(struct builder *b)
{
    const struct inventory *all = b->all;
    size_t kept = 0;
    int r = 0;

    for (size_t i = 0; i < all->kinds[KIND_CLASS].list.count && r == 0; i++) {
        const struct object *o = all->kinds[KIND_CLASS].list.items[i];

        if (!b->what->name || (b->what->kind == KIND_CLASS && wants_class(b, o->name)))
            r = vec_push(&b->names, o->name);
    }
    for (size_t i = 0; i < all->kinds[KIND_VOLUME].list.count && r == 0; i++) {
        const struct volume *v = volume_of(all->kinds[KIND_VOLUME].list.items[i]);

        if (wants_volume(b, v))
            r = vec_push(&b->names, v->class);
    }
    for (size_t i = 0; i < all->kinds[KIND_CLAIM].list.count && r == 0; i++) {
        const struct claim *c = claim_of(all->kinds[KIND_CLAIM].list.items[i]);

        if (wants_unbound_claim(b, c))
            r = vec_push(&b->names, c->class);
    }
    if (r < 0 || b->names.count == 0)
        return r;
    qsort(b->names.items, b->names.count, sizeof *b->names.items, compare_class_names);
    for (size_t i = 0; i < b->names.count; i++)
        if (i == 0 || strcmp(b->names.items[i], b->names.items[kept - 1]) != 0)
            b->names.items[kept++] = b->names.items[i];
    b->names.count = kept;
    return 0;
}

static void grow_class(struct builder *b, size_t at)
{
    const char *name = b->names.items[at];
    const struct storage_class *k =
        (const struct storage_class *)(const void *)inventory_find(b->all, KIND_CLASS, "", name);

    if (k)
        buf_addf(&b->text, "%s, %s, %s%s", k->provisioner,
                 k->reclaim == RECLAIM_UNKNOWN ? "?" : reclaim_policy_names[k->reclaim],
                 binding_mode_names[k->binding], k->is_default ? ", default" : "");
    else if (name[0] && b->all->kinds[KIND_CLASS].is_known)
        buf_add_cstr(&b->text, "does not exist");
    b->classes[at] =
        add_twig(b, &b->tree->root, (struct twig){ KIND_CLASS, "", name, "", .note = keep_text(b) });
}

static struct twig *class_twig(const struct builder *b, const char *name)
{
    const char *const *found =
        b->names.count ? bsearch(&name, b->names.items, b->names.count, sizeof name, compare_class_names)
                       : NULL;

    return found ? b->classes[found - b->names.items] : NULL;
}

static int compare_claims(const void *a, const void *b)
{
    const struct claim *const *left = a, *const *right = b;
    int order = strcmp((*left)->obj.ns, (*right)->obj.ns);

    return order ? order : strcmp((*left)->obj.name, (*right)->obj.name);
}

static void grow_volumes(struct builder *b)
{
    for (size_t i = 0; i < b->all->kinds[KIND_VOLUME].list.count; i++) {
        const struct volume *v = volume_of(b->all->kinds[KIND_VOLUME].list.items[i]);
        struct twig *class = wants_volume(b, v) ? class_twig(b, v->class) : NULL;

        if (class)
            grow_volume(b, class, v);
    }
    if (b->on_volumes.count)
        qsort(b->on_volumes.items, b->on_volumes.count, sizeof *b->on_volumes.items, compare_claims);
}

static void grow_unbound_claims(struct builder *b)
{
    for (size_t i = 0; i < b->all->kinds[KIND_CLAIM].list.count; i++) {
        const struct claim *c = claim_of(b->all->kinds[KIND_CLAIM].list.items[i]);
        struct twig *class = wants_unbound_claim(b, c) ? class_twig(b, c->class) : NULL;
        bool has_volume = b->on_volumes.count &&
                          bsearch(&c, b->on_volumes.items, b->on_volumes.count, sizeof c, compare_claims);

        if (class && !has_volume)
            grow_claim(b, class, c);
    }
}

/* --- Objects without a class --- */

static bool wants_pod(const struct builder *b, const struct pod *p)
{
    return !b->what->name && (!b->what->ns || strcmp(p->obj.ns, b->what->ns) == 0);
}

/* Claims that pods name and that do not exist; users are sorted by claim. */
static void grow_missing_claims(struct builder *b, struct twig *on)
{
    const struct claim_user *before = NULL;

    for (size_t i = 0; i < b->all->users.count; i++) {
        const struct claim_user *u = &b->all->users.items[i];
        struct twig *t;

        if (before && strcmp(before->ns, u->ns) == 0 && strcmp(before->claim, u->claim) == 0)
            continue;
        before = u;
        if (!wants_pod(b, u->pod) || inventory_find(b->all, KIND_CLAIM, u->ns, u->claim))
            continue;
        t = add_twig(b, on, (struct twig){ KIND_CLAIM, u->ns, u->claim, "", .note = "does not exist" });
        if (t)
            grow_pods(b, t, u->ns, u->claim, "does not exist");
    }
}

static void grow_others(struct builder *b)
{
    struct twig *root;

    if (b->what->name || !b->all->kinds[KIND_POD].is_known || !b->all->kinds[KIND_CLAIM].is_known)
        return;
    root = add_twig(b, &b->tree->root, (struct twig){ KIND_POD, "", "", "" });
    if (!root)
        return;
    grow_missing_claims(b, root);
    for (size_t i = 0; i < b->all->kinds[KIND_POD].list.count; i++) {
        const struct pod *p = pod_of(b->all->kinds[KIND_POD].list.items[i]);

        if (wants_pod(b, p) && !inventory_pod_has_claims(p))
            grow_pod(b, root, p, "");
    }
}

/* Removes classes that exist only as a name in claims of other namespaces and have no children. */
static void drop_empty_classes(struct builder *b)
{
    struct twig *kept = NULL;

    for (struct twig *t = b->tree->root.first, *next; t; t = next) {
        next = t->next;
        t->next = NULL;
        if (!t->first && (t->kind == KIND_POD || !inventory_find(b->all, KIND_CLASS, "", t->name)))
            continue;
        if (kept)
            kept->next = t;
        else
            b->tree->root.first = t;
        kept = t;
    }
    if (!kept)
        b->tree->root.first = NULL;
    b->tree->root.last = kept;
}

static int build_tree(struct builder *b, struct error *err)
{
    if (collect_names(b) < 0)
        return error_no_memory(err);
    b->classes = arena_array(&b->tree->memory, b->names.count + 1, sizeof(struct twig *));
    if (!b->classes)
        return error_no_memory(err);
    for (size_t i = 0; i < b->names.count; i++)
        grow_class(b, i);
    grow_volumes(b);
    grow_unbound_claims(b);
    grow_others(b);
    drop_empty_classes(b);
    if (b->text.failed)
        return buf_check(&b->text, "a line", err);
    return arena_check(&b->tree->memory, err);
}

int relation_tree_build(const struct inventory *v, const struct tree_selection *what,
                        struct relation_tree *ret, struct error *err)
{
    struct builder b = { .all = v, .what = what, .tree = ret, .text = BUF_INIT(1 << 20) };
    int r = build_tree(&b, err);

    vec_done(&b.names);
    vec_done(&b.on_volumes);
    buf_done(&b.text);
    if (r == 0 && what->name && !ret->root.first)
        r = error_set(err, ERR_NOT_FOUND, "%s '%s' not found",
                      what->kind == KIND_CLASS    ? "class"
                      : what->kind == KIND_VOLUME ? "volume"
                                                  : "claim",
                      what->name);
    return r;
}

/* --- As JSON --- */

static void set_text(struct json *d, json_ref object, const char *key, const char *text)
{
    if (text[0])
        json_set_string(d, object, key, text);
}

/* only: this kind; KIND_COUNT for all. */
static json_ref below_as_json(struct json *d, const struct twig *on, enum kind only)
{
    json_ref array = json_new_array(d);

    for (const struct twig *t = on->first; t; t = t->next) {
        json_ref o = only == KIND_COUNT || t->kind == only ? json_new_object(d) : 0;

        if (!o)
            continue;
        json_set_string(d, o, "kind", kind_info(t->kind)->name);
        set_text(d, o, "namespace", t->ns);
        json_set_string(d, o, "name", t->name);
        set_text(d, o, "state", t->state);
        set_text(d, o, "capacity", t->capacity);
        set_text(d, o, "note", t->note);
        if (t->first)
            json_set(d, o, "children", below_as_json(d, t, KIND_COUNT));
        json_append(d, array, o);
    }
    return array;
}

json_ref relation_tree_as_json(const struct relation_tree *t, struct json *d)
{
    json_ref root = json_new_object(d);

    json_set(d, root, "classes", below_as_json(d, &t->root, KIND_CLASS));
    for (const struct twig *on = t->root.first; on; on = on->next)
        if (on->kind == KIND_POD) /* pods without claims, and claims that do not exist */
            json_set(d, root, "others", below_as_json(d, on, KIND_COUNT));
    return root;
}

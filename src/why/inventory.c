/* The lists of objects that tree, check and top read: sorted once after loading, then searched by name. */
#include "why/inventory.h"

#include <stdlib.h>
#include <string.h>

void inventory_done(struct inventory *v)
{
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        for (size_t i = 0; i < v->kinds[k].list.count; i++)
            (void)object_unref(v->kinds[k].list.items[i]);
        vec_done(&v->kinds[k].list);
    }
    vec_done(&v->users);
}

/* --- Adding --- */

int inventory_add_take(struct inventory *v, struct object *o, struct error *err)
{
    if (vec_push(&v->kinds[o->kind->kind].list, o) == 0)
        return 0;
    (void)object_unref(o);
    return error_no_memory(err);
}

void inventory_set_known(struct inventory *v, enum kind kind, bool is_whole)
{
    v->kinds[kind].is_known = true;
    v->kinds[kind].is_whole = is_whole;
}

/* --- Sorting --- */

static int compare_names(const char *a_ns, const char *a, const char *b_ns, const char *b)
{
    int order = strcmp(a_ns, b_ns);

    return order ? order : strcmp(a, b);
}

static int compare_objects(const void *a, const void *b)
{
    const struct object *const *left = a, *const *right = b;

    return compare_names((*left)->ns, (*left)->name, (*right)->ns, (*right)->name);
}

static int compare_users(const void *a, const void *b)
{
    const struct claim_user *left = a, *right = b;
    int order = compare_names(left->ns, left->claim, right->ns, right->claim);

    return order ? order : strcmp(left->pod->obj.name, right->pod->obj.name);
}

int inventory_tie(struct inventory *v, struct error *err)
{
    size_t kept = 0;

    for (unsigned k = 0; k < KIND_COUNT; k++)
        if (v->kinds[k].list.count)
            qsort(v->kinds[k].list.items, v->kinds[k].list.count, sizeof *v->kinds[k].list.items,
                  compare_objects);
    for (size_t i = 0; i < v->kinds[KIND_POD].list.count; i++) {
        const struct pod *p = pod_of(v->kinds[KIND_POD].list.items[i]);

        for (uint32_t n = 0; n < p->volumes.count; n++) {
            const char *claim = pod_claim_name(&p->volumes.items[n]);

            if (claim && vec_push(&v->users, (struct claim_user){ p->obj.ns, claim, p }) < 0)
                return error_no_memory(err);
        }
    }
    if (v->users.count)
        qsort(v->users.items, v->users.count, sizeof *v->users.items, compare_users);
    for (size_t i = 0; i < v->users.count; i++) /* a pod may use one claim in two volumes */
        if (i == 0 || compare_users(&v->users.items[i], &v->users.items[kept - 1]) != 0)
            v->users.items[kept++] = v->users.items[i];
    v->users.count = kept;
    return 0;
}

/* --- Lookup --- */

const struct object *inventory_find(const struct inventory *v, enum kind kind, const char *ns,
                                    const char *name)
{
    size_t low = 0, high = v->kinds[kind].list.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct object *o = v->kinds[kind].list.items[middle];
        int order = compare_names(o->ns, o->name, ns, name);

        if (order == 0)
            return o;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

bool inventory_covers(const struct inventory *v, enum kind kind)
{
    return v->kinds[kind].is_known && v->kinds[kind].is_whole;
}

bool inventory_is_explicable(const struct inventory *v)
{
    return v->kinds[KIND_CLASS].is_known && v->kinds[KIND_VOLUME].is_known && v->kinds[KIND_CLAIM].is_known &&
           v->kinds[KIND_POD].is_known;
}

const struct claim_user *inventory_users(const struct inventory *v, const struct claim *c, size_t *ret_count)
{
    return inventory_users_of(v, c->obj.ns, c->obj.name, ret_count);
}

const struct claim_user *inventory_users_of(const struct inventory *v, const char *ns, const char *claim,
                                            size_t *ret_count)
{
    size_t low = 0, high = v->users.count, end;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct claim_user *u = &v->users.items[middle];

        if (compare_names(u->ns, u->claim, ns, claim) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (end = low; end < v->users.count; end++) {
        const struct claim_user *u = &v->users.items[end];

        if (compare_names(u->ns, u->claim, ns, claim) != 0)
            break;
    }
    *ret_count = end - low;
    return end > low ? &v->users.items[low] : NULL;
}

bool inventory_is_of(const struct volume *v, const struct claim *c)
{
    return v->claim.is_set && strcmp(v->claim.name, c->obj.name) == 0 &&
           strcmp(v->claim.ns, c->obj.ns) == 0 && (!v->claim.uid[0] || strcmp(v->claim.uid, c->obj.uid) == 0);
}

const struct claim *inventory_claim_of(const struct inventory *v, const struct volume *volume)
{
    const struct object *o =
        volume->claim.is_set ? inventory_find(v, KIND_CLAIM, volume->claim.ns, volume->claim.name) : NULL;

    return o && inventory_is_of(volume, claim_of(o)) ? claim_of(o) : NULL;
}

bool inventory_pod_has_claims(const struct pod *p)
{
    for (uint32_t i = 0; i < p->volumes.count; i++)
        if (pod_claim_name(&p->volumes.items[i]))
            return true;
    return false;
}

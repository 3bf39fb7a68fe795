/* Builds the table of `berth top` from usages and claims, sorts it and writes it as JSON. */
#include "why/top.h"

#include <stdlib.h>
#include <string.h>

const char *const top_order_names[] = {
    [TOP_BY_NAME] = "name",
    [TOP_BY_USED] = "used",
    [TOP_BY_CAPACITY] = "capacity",
    [TOP_BY_PERCENT] = "percent",
};
static_assert(ARRAY_LEN(top_order_names) == TOP_ORDER_COUNT, "name every order");

/* --- Lines --- */

static int add_line(struct top_table *t, struct top_line line, struct error *err)
{
    line.at = t->lines.count;
    return vec_push(&t->lines, line) < 0 ? error_no_memory(err) : 0;
}

static int compare_claims(const void *a, const void *b)
{
    const struct volume_usage *const *left = a, *const *right = b;
    int order = strcmp((*left)->claim_ns, (*right)->claim_ns);

    if (order == 0)
        order = strcmp((*left)->claim, (*right)->claim);
    return order ? order : strcmp((*left)->pod, (*right)->pod);
}

/* The number of usages of this claim, starting at `at`. Usages and claims have the same order, so both lists
 * are traversed once. Usages of deleted claims before this one are skipped. */
static size_t count_users(const struct volume_usage *const *items, size_t count, size_t *at,
                          const struct object *o)
{
    size_t users = 0;

    while (*at + users < count) {
        const struct volume_usage *u = items[*at + users];
        int order = strcmp(u->claim_ns, o->ns);

        if (order == 0)
            order = strcmp(u->claim, o->name);
        if (order > 0)
            break;
        if (order == 0)
            users++;
        else
            (*at)++;
    }
    return users;
}

static int add_claims(struct top_table *t, const struct inventory *all, struct error *err)
{
    _cleanup_(vec_done_p) VEC(const struct volume_usage *) mounted = { 0 };
    size_t at = 0;
    int r = 0;

    for (size_t i = 0; i < t->usages.items.count; i++)
        if (t->usages.items.items[i].claim[0] && vec_push(&mounted, &t->usages.items.items[i]) < 0)
            return error_no_memory(err);
    if (mounted.count)
        qsort(mounted.items, mounted.count, sizeof *mounted.items, compare_claims);
    for (size_t i = 0; i < all->kinds[KIND_CLAIM].list.count && r == 0; i++) {
        const struct object *o = all->kinds[KIND_CLAIM].list.items[i];
        size_t users = count_users(mounted.items, mounted.count, &at, o);
        struct top_line line = { .claim = claim_of(o),
                                 .users = users,
                                 .usage = users ? mounted.items[at] : &usage_none };

        if (users || t->shows_all)
            r = add_line(t, line, err);
        at += users;
    }
    return r;
}

static int64_t line_amount(const struct top_line *l, enum top_order order)
{
    const struct volume_usage *u = l->usage;

    switch (order) {
    case TOP_BY_USED:
        return u->used;
    case TOP_BY_CAPACITY:
        return u->capacity;
    case TOP_BY_PERCENT:
        return usage_percent(u->used, u->capacity);
    case TOP_BY_NAME:
    case TOP_ORDER_COUNT:
        break;
    }
    return 0; /* the lines are in that order already */
}

/* The largest first, unknown amounts last. */
static int compare_lines(const void *a, const void *b)
{
    const struct top_line *left = a, *right = b;

    if (left->amount != right->amount)
        return left->amount > right->amount ? -1 : 1;
    return left->at < right->at ? -1 : left->at > right->at;
}

int top_build(struct top_table *t, const struct inventory *all, struct error *err)
{
    int r = t->is_of_claims ? add_claims(t, all, err) : 0;

    for (size_t i = 0; i < t->usages.items.count && !t->is_of_claims && r == 0; i++)
        if (!t->ns || strcmp(t->usages.items.items[i].ns, t->ns) == 0)
            r = add_line(t, (struct top_line){ .usage = &t->usages.items.items[i] }, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < t->lines.count; i++)
        t->lines.items[i].amount = line_amount(&t->lines.items[i], t->order);
    if (t->lines.count)
        qsort(t->lines.items, t->lines.count, sizeof *t->lines.items, compare_lines);
    return 0;
}

void top_done(struct top_table *t)
{
    vec_done(&t->lines);
    usages_done(&t->usages);
}

/* --- As JSON --- */

static void set_number(struct json *d, json_ref object, const char *key, int64_t n)
{
    if (n >= 0)
        json_set(d, object, key, json_new_int(d, n));
}

static void set_text(struct json *d, json_ref object, const char *key, const char *text)
{
    if (text[0])
        json_set_string(d, object, key, text);
}

static json_ref line_as_json(struct json *d, const struct top_line *l)
{
    const struct volume_usage *u = l->usage;
    json_ref o = json_new_object(d);
    _cleanup_(buf_done_p) struct buf asked = BUF_INIT(QUANTITY_TEXT_BYTES_MAX);

    if (l->claim) {
        json_set_string(d, o, "namespace", l->claim->obj.ns);
        json_set_string(d, o, "name", l->claim->obj.name);
        set_text(d, o, "volume", l->claim->volume_name);
        if (l->claim->has_request)
            quantity_format(&l->claim->request, &asked);
        if (asked.len && !asked.failed)
            json_set_string(d, o, "asked", buf_cstr(&asked));
        set_number(d, o, "pods", (int64_t)l->users);
    } else {
        json_set_string(d, o, "namespace", u->ns);
        json_set_string(d, o, "volume", u->volume);
        set_text(d, o, "plugin", u->plugin);
        set_text(d, o, "claim", u->claim);
    }
    set_text(d, o, "pod", u->pod);
    set_text(d, o, "node", u->node);
    set_number(d, o, "usedBytes", u->used);
    set_number(d, o, "availableBytes", u->available);
    set_number(d, o, "capacityBytes", u->capacity);
    set_number(d, o, "percent", usage_percent(u->used, u->capacity));
    set_number(d, o, "inodesUsed", u->inodes_used);
    set_number(d, o, "inodesFree", u->inodes_free);
    set_number(d, o, "inodes", u->inodes);
    set_text(d, o, "error", u->error);
    return o;
}

json_ref top_as_json(const struct top_table *t, struct json *d)
{
    json_ref root = json_new_object(d), lines = json_new_array(d), silent = json_new_array(d);

    for (size_t i = 0; i < t->lines.count; i++)
        json_append(d, lines, line_as_json(d, &t->lines.items[i]));
    for (size_t i = 0; i < t->usages.silent.count; i++) {
        json_ref o = json_new_object(d);

        json_set_string(d, o, "node", t->usages.silent.items[i].name);
        json_set_string(d, o, "error", t->usages.silent.items[i].why);
        json_append(d, silent, o);
    }
    json_set(d, root, t->is_of_claims ? "claims" : "volumes", lines);
    json_set(d, root, "silentNodes", silent);
    return root;
}

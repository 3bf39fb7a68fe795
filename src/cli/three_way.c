/* Computes the patch of `berth apply` by walking the three objects together.
 *
 * Items of keyed lists are found by linear search, which costs the product of the lengths: longer lists than
 * the limit are replaced as a whole. */
#include "cli/three_way.h"

#include <stdbool.h>
#include <stdio.h>

#define DEPTH_MAX 200
#define KEYED_ITEMS_MAX 5000
#define DIRECTIVE_BYTES_MAX 256

struct comparison {
    struct json *d;
    unsigned depth;
    struct error *err;
};

/* The same position in the three objects. */
struct spot {
    json_ref last, wanted, there;
};

static int compare_objects(struct comparison *c, const struct schema *s, struct spot at, json_ref out);

/* --- Lists --- */

static json_ref find_item(const struct json *d, json_ref list, const char *key, json_ref value)
{
    for (json_ref item = json_first(d, list); item; item = json_next(d, item))
        if (json_get(d, item, key) && json_equal(d, json_get(d, item, key), value))
            return item;
    return 0;
}

static bool has_element(const struct json *d, json_ref list, json_ref value)
{
    for (json_ref item = json_first(d, list); item; item = json_next(d, item))
        if (json_equal(d, item, value))
            return true;
    return false;
}

static int compare_item(struct comparison *c, const struct field *f, struct spot at, json_ref out)
{
    json_ref change = json_new_object(c->d);
    int r = compare_objects(c, f->sub, at, change);

    if (r < 0 || !json_first(c->d, change))
        return r;
    json_set_key(c->d, change, str_of(f->merge_key),
                 json_copy(c->d, json_get(c->d, at.wanted, f->merge_key)));
    json_append(c->d, out, change);
    return 0;
}

/* Items by key: new ones, changed ones, and those that only the last manifest had. */
static int compare_keyed(struct comparison *c, const struct field *f, struct spot at, json_ref out)
{
    struct json *d = c->d;
    int r = 0;

    for (json_ref w = json_first(d, at.wanted); w && r == 0; w = json_next(d, w)) {
        json_ref key = json_get(d, w, f->merge_key),
                 now = key ? find_item(d, at.there, f->merge_key, key) : 0;

        if (now)
            r = compare_item(c, f, (struct spot){ find_item(d, at.last, f->merge_key, key), w, now }, out);
        else
            json_append(d, out, json_copy(d, w));
    }
    for (json_ref l = json_first(d, at.last); l && r == 0; l = json_next(d, l)) {
        json_ref key = json_get(d, l, f->merge_key), gone;

        if (!key || find_item(d, at.wanted, f->merge_key, key) || !find_item(d, at.there, f->merge_key, key))
            continue;
        gone = json_new_object(d);
        json_set_string(d, gone, "$patch", "delete");
        json_set_key(c->d, gone, str_of(f->merge_key), json_copy(d, key));
        json_append(d, out, gone);
    }
    return r;
}

/* The order of the manifest, as a directive for the server. */
static void set_order(struct comparison *c, const struct field *f, json_ref wanted, json_ref out)
{
    struct json *d = c->d;
    json_ref order = json_new_array(d);
    char directive[DIRECTIVE_BYTES_MAX];

    for (json_ref w = json_first(d, wanted); w; w = json_next(d, w)) {
        json_ref item = f->merge_key ? json_new_object(d) : json_copy(d, w);

        if (f->merge_key)
            json_set_key(c->d, item, str_of(f->merge_key), json_copy(d, json_get(d, w, f->merge_key)));
        json_append(d, order, item);
    }
    (void)snprintf(directive, sizeof directive, "$setElementOrder/%s", f->name);
    json_set_key(c->d, out, str_of(directive), order);
}

static int compare_set(struct comparison *c, const struct field *f, struct spot at, json_ref out)
{
    struct json *d = c->d;
    json_ref added = json_new_array(d), gone = json_new_array(d);
    char directive[DIRECTIVE_BYTES_MAX];

    for (json_ref w = json_first(d, at.wanted); w; w = json_next(d, w))
        if (!has_element(d, at.there, w))
            json_append(d, added, json_copy(d, w));
    for (json_ref l = json_first(d, at.last); l; l = json_next(d, l))
        if (!has_element(d, at.wanted, l) && has_element(d, at.there, l))
            json_append(d, gone, json_copy(d, l));
    if (json_first(d, added))
        json_set_key(c->d, out, str_of(f->name), added);
    if (json_first(d, gone)) {
        (void)snprintf(directive, sizeof directive, "$deleteFromPrimitiveList/%s", f->name);
        json_set_key(c->d, out, str_of(directive), gone);
    }
    if (json_first(d, added) || json_first(d, gone))
        set_order(c, f, at.wanted, out);
    return 0;
}

static bool is_short(const struct json *d, struct spot at)
{
    return json_count(d, at.last) <= KEYED_ITEMS_MAX && json_count(d, at.wanted) <= KEYED_ITEMS_MAX &&
           json_count(d, at.there) <= KEYED_ITEMS_MAX;
}

static int compare_lists(struct comparison *c, const struct field *f, struct str key, struct spot at,
                         json_ref out)
{
    json_ref changes;
    int r;

    if (f && f->type == FIELD_LIST && f->merge_key && is_short(c->d, at)) {
        changes = json_new_array(c->d);
        r = compare_keyed(c, f, at, changes);
        if (r == 0 && json_first(c->d, changes)) {
            json_set_key(c->d, out, key, changes);
            set_order(c, f, at.wanted, out);
        }
        return r;
    }
    if (f && f->type == FIELD_LIST && (f->flags & FIELD_SET) && is_short(c->d, at))
        return compare_set(c, f, at, out);
    if (!json_equal(c->d, at.wanted, at.there))
        json_set_key(c->d, out, key, json_copy(c->d, at.wanted));
    return 0;
}

/* --- Objects --- */

static int compare_member(struct comparison *c, const struct field *f, struct str key, struct spot at,
                          json_ref out)
{
    enum json_type wanted = json_type(c->d, at.wanted), there = json_type(c->d, at.there);
    json_ref change;
    int r;

    if (wanted == JSON_NULL && !at.there)
        return 0;
    if (wanted == JSON_OBJECT && there == JSON_OBJECT) {
        change = json_new_object(c->d);
        r = compare_objects(c, f && f->type == FIELD_OBJECT ? f->sub : NULL, at, change);
        if (r == 0 && json_first(c->d, change))
            json_set_key(c->d, out, key, change);
        return r;
    }
    if (wanted == JSON_ARRAY && there == JSON_ARRAY)
        return compare_lists(c, f, key, at, out);
    if (!at.there || !json_equal(c->d, at.wanted, at.there))
        json_set_key(c->d, out, key, json_copy(c->d, at.wanted));
    return 0;
}

static int compare_objects(struct comparison *c, const struct schema *s, struct spot at, json_ref out)
{
    struct json *d = c->d;
    int r = 0;

    if (c->depth == DEPTH_MAX)
        return error_set(c->err, ERR_TOO_LARGE, "the object is nested too deeply");
    c->depth++;
    for (json_ref w = json_first(d, at.wanted); w && r == 0; w = json_next(d, w)) {
        struct str key = json_key(d, w);
        struct spot below = { json_get_key(d, at.last, key), w, json_get_key(d, at.there, key) };

        r = compare_member(c, s ? schema_field(s, key) : NULL, key, below, out);
    }
    for (json_ref l = json_first(d, at.last); l && r == 0; l = json_next(d, l)) {
        struct str key = json_key(d, l);

        if (!json_get_key(d, at.wanted, key) && json_get_key(d, at.there, key))
            json_set_key(c->d, out, key, json_new_null(d));
    }
    c->depth--;
    return r;
}

int three_way_patch(struct json *d, const struct schema *s, json_ref last, json_ref wanted, json_ref there,
                    json_ref *ret, struct error *err)
{
    struct comparison c = { .d = d, .err = err };
    json_ref out = json_new_object(d);
    int r = compare_objects(&c, s, (struct spot){ last, wanted, there }, out);

    if (r == 0)
        r = json_check(d, err);
    if (r < 0)
        return r;
    *ret = out;
    return 0;
}

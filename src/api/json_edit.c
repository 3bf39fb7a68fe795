/* Building and editing JSON documents. Nothing recurses. An edit clears the marks of canonical form that it
 * invalidates (json_int.h). */
#include "api/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/json_int.h"

json_ref json_new_object(struct json *d)
{
    return json_add_node(d, JSON_OBJECT);
}

json_ref json_new_array(struct json *d)
{
    return json_add_node(d, JSON_ARRAY);
}

static json_ref json_new_text(struct json *d, enum json_type type, struct str text)
{
    json_ref v = json_add_node(d, type);
    char *copy = v ? arena_dup(&d->texts, text) : NULL;

    if (!copy) {
        d->failed = d->failed ? d->failed : d->texts.failed;
        return 0;
    }
    d->nodes[v].text.s = copy;
    d->nodes[v].text.len = (uint32_t)text.len;
    return v;
}

json_ref json_new_string(struct json *d, struct str text)
{
    return json_new_text(d, JSON_STRING, text);
}

json_ref json_new_number(struct json *d, struct str literal)
{
    return json_new_text(d, JSON_NUMBER, literal);
}

json_ref json_new_int(struct json *d, int64_t value)
{
    char text[24];
    int n = snprintf(text, sizeof text, "%" PRId64, value);

    return json_new_number(d, (struct str){ text, (size_t)n });
}

json_ref json_new_bool(struct json *d, bool value)
{
    return json_add_node(d, value ? JSON_TRUE : JSON_FALSE);
}

json_ref json_new_null(struct json *d)
{
    return json_add_node(d, JSON_NULL);
}

/* Copies one node without its children; texts are shared, because they never change. */
static json_ref json_copy_node(struct json *d, json_ref v)
{
    json_ref copy = json_add_node(d, JSON_NONE);
    struct json_node *n = &d->nodes[copy];

    if (!copy)
        return 0;
    *n = d->nodes[v];
    n->parent = n->next = 0;
    if (json_is_container(n)) {
        n->child.first = n->child.last = n->child.count = 0;
        n->child.is_canonical = false;
    }
    return copy;
}

json_ref json_copy(struct json *d, json_ref v)
{
    json_ref top = v ? json_copy_node(d, v) : 0;
    json_ref from = v, to = top;

    /* Down to the first child, else to the next sibling, else up: no recursion. */
    while (to) {
        json_ref child = json_is_container(&d->nodes[from]) ? d->nodes[from].child.first : 0;
        if (!child) {
            while (from != v && !d->nodes[from].next) {
                from = d->nodes[from].parent;
                to = d->nodes[to].parent;
            }
            if (from == v)
                break;
            child = d->nodes[from].next;
            to = d->nodes[to].parent;
        }
        json_ref copy = json_copy_node(d, child);
        if (!copy)
            return 0;
        json_link(d, to, copy);
        from = child;
        to = copy;
    }
    return top;
}

json_ref json_copy_canonical(struct json *d, json_ref v)
{
    json_ref first = d->count, top = json_copy(d, v);

    for (json_ref copy = first; top && copy < d->count; copy++)
        if (json_is_container(&d->nodes[copy]))
            json_mark_canonical(d, copy);
    return top;
}

/* Clears the marks of v and everything below it, because it moves to another place. */
static void json_unmark(struct json *d, json_ref top)
{
    json_ref v = top;

    if (!d->has_marks)
        return;
    for (;;) {
        bool is_container = json_is_container(&d->nodes[v]);
        if (is_container)
            d->nodes[v].child.is_canonical = false;
        if (is_container && d->nodes[v].child.first) {
            v = d->nodes[v].child.first;
            continue;
        }
        while (v != top && !d->nodes[v].next)
            v = d->nodes[v].parent;
        if (v == top)
            return;
        v = d->nodes[v].next;
    }
}

void json_add_member(struct json *d, json_ref object, struct str key, json_ref value)
{
    if (d->failed || !object || !value)
        return;
    assert(json_type(d, object) == JSON_OBJECT);
    d->nodes[value].key = arena_dup(&d->texts, key);
    d->nodes[value].key_len = (uint32_t)key.len;
    json_unmark(d, value);
    if (d->nodes[value].key)
        json_link(d, object, value);
    else
        d->failed = d->texts.failed;
}

void json_set_key(struct json *d, json_ref object, struct str key, json_ref value)
{
    json_ref old = json_get_key(d, object, key);

    if (old)
        json_replace(d, old, value);
    else
        json_add_member(d, object, key, value);
}

void json_set(struct json *d, json_ref object, const char *key, json_ref value)
{
    json_set_key(d, object, str_of(key), value);
}

void json_set_string(struct json *d, json_ref object, const char *key, const char *text)
{
    json_set(d, object, key, json_new_string(d, str_of(text)));
}

void json_append(struct json *d, json_ref array, json_ref value)
{
    json_insert(d, array, 0, value);
}

/* The sibling before v; 0 for the first. */
static json_ref json_previous(const struct json *d, json_ref v)
{
    json_ref at = d->nodes[d->nodes[v].parent].child.first;

    if (at == v)
        return 0;
    while (d->nodes[at].next != v)
        at = d->nodes[at].next;
    return at;
}

void json_insert(struct json *d, json_ref array, json_ref before, json_ref value)
{
    json_ref previous;

    if (d->failed || !array || !value)
        return;
    assert(json_type(d, array) == JSON_ARRAY);
    d->nodes[value].key = NULL;
    d->nodes[value].key_len = 0;
    json_unmark(d, value);
    json_touch(d, array);
    if (!before) {
        json_link(d, array, value);
        return;
    }
    assert(d->nodes[before].parent == array);
    previous = json_previous(d, before);
    d->nodes[value].parent = array;
    d->nodes[value].next = before;
    if (previous)
        d->nodes[previous].next = value;
    else
        d->nodes[array].child.first = value;
    d->nodes[array].child.count++;
}

void json_link_after(struct json *d, json_ref container, json_ref previous, json_ref v)
{
    struct json_node *c = &d->nodes[container];
    json_ref next = previous ? d->nodes[previous].next : c->child.first;

    assert(json_is_container(c));
    assert(d->nodes[v].parent == 0);
    json_unmark(d, v);
    json_touch(d, container);
    d->nodes[v].parent = container;
    d->nodes[v].next = next;
    if (previous)
        d->nodes[previous].next = v;
    else
        c->child.first = v;
    if (!next)
        c->child.last = v;
    c->child.count++;
}

void json_unlink(struct json *d, json_ref v)
{
    json_ref container = v ? d->nodes[v].parent : 0;
    json_ref previous;

    if (!container)
        return;
    json_touch(d, container);
    previous = json_previous(d, v);
    if (previous)
        d->nodes[previous].next = d->nodes[v].next;
    else
        d->nodes[container].child.first = d->nodes[v].next;
    if (d->nodes[container].child.last == v)
        d->nodes[container].child.last = previous;
    d->nodes[container].child.count--;
    d->nodes[v].parent = 0;
    d->nodes[v].next = 0;
}

bool json_remove(struct json *d, json_ref object, const char *key)
{
    json_ref v = json_get(d, object, key);

    json_unlink(d, v);
    return v != 0;
}

void json_replace(struct json *d, json_ref old, json_ref value)
{
    json_ref container, previous;

    if (d->failed || !old || !value)
        return;
    container = d->nodes[old].parent;
    assert(container);
    assert(d->nodes[value].parent == 0);
    json_unmark(d, value);
    json_touch(d, container);
    previous = json_previous(d, old);
    d->nodes[value].key = d->nodes[old].key;
    d->nodes[value].key_len = d->nodes[old].key_len;
    d->nodes[value].parent = container;
    d->nodes[value].next = d->nodes[old].next;
    if (previous)
        d->nodes[previous].next = value;
    else
        d->nodes[container].child.first = value;
    if (d->nodes[container].child.last == old)
        d->nodes[container].child.last = value;
    d->nodes[old].parent = 0;
    d->nodes[old].next = 0;
}

json_ref json_ensure_object(struct json *d, json_ref object, const char *key)
{
    json_ref v = json_get(d, object, key);

    if (json_type(d, v) == JSON_OBJECT)
        return v;
    v = json_new_object(d);
    json_set(d, object, key, v);
    return d->failed ? 0 : v;
}

static bool json_members_are(const struct json *d, json_ref object, const json_ref *members, uint32_t count)
{
    uint32_t n = 0;

    if (json_count(d, object) != count)
        return false;
    for (json_ref v = json_first(d, object); v; v = json_next(d, v))
        if (members[n++] != v)
            return false;
    return true;
}

void json_keep_members(struct json *d, json_ref object, const json_ref *members, uint32_t count)
{
    if (d->failed || !object || json_members_are(d, object, members, count))
        return;
    assert(json_type(d, object) == JSON_OBJECT);
    json_touch(d, object);
    d->nodes[object].child.first = d->nodes[object].child.last = 0;
    d->nodes[object].child.count = 0;
    for (uint32_t i = 0; i < count; i++) {
        assert(d->nodes[members[i]].parent == object);
        d->nodes[members[i]].parent = 0;
        json_link(d, object, members[i]);
    }
}

static int json_compare_members(const void *a, const void *b, void *ctx)
{
    const struct json *d = ctx;
    json_ref x = *(const json_ref *)a, y = *(const json_ref *)b;
    int r = str_cmp(json_key(d, x), json_key(d, y));

    return r ? r : (x > y) - (x < y); /* later parsed nodes have higher references */
}

json_ref *json_sorted_members(const struct json *d, json_ref object)
{
    uint32_t count = json_count(d, object), n = 0;
    json_ref *sorted = malloc((count ? count : 1) * sizeof *sorted);
    union {
        const struct json *in;
        void *out;
    } ctx = { d }; /* qsort_r() has a non-const context; it is not modified */

    if (!sorted)
        return NULL;
    for (json_ref v = json_first(d, object); v; v = json_next(d, v))
        sorted[n++] = v;
    assert(n == count);
    qsort_r(sorted, count, sizeof *sorted, json_compare_members, ctx.out);
    return sorted;
}

void json_sort_members(struct json *d, json_ref object)
{
    uint32_t count = json_count(d, object);
    bool sorted = true;
    json_ref *members;

    for (json_ref v = json_first(d, object); v && sorted; v = json_next(d, v))
        sorted = !json_next(d, v) || str_cmp(json_key(d, v), json_key(d, json_next(d, v))) <= 0;
    if (sorted || d->failed)
        return;
    members = json_sorted_members(d, object);
    if (members)
        json_keep_members(d, object, members, count);
    else
        d->failed = ERR_NO_MEMORY;
    free(members);
}

void json_become(struct json *d, json_ref v, json_ref value)
{
    json_ref parent = d->nodes[v].parent, next = d->nodes[v].next;
    const char *key = d->nodes[v].key;
    uint32_t key_len = d->nodes[v].key_len;

    assert(v != value);
    json_unmark(d, value);
    json_touch(d, parent);
    if (json_is_container(&d->nodes[v]))
        json_relink(d, v, NULL, 0);
    for (json_ref child = json_first(d, value); child; child = d->nodes[child].next)
        d->nodes[child].parent = v;
    d->nodes[v] = d->nodes[value];
    d->nodes[v].parent = parent;
    d->nodes[v].next = next;
    d->nodes[v].key = key;
    d->nodes[v].key_len = key_len;
    if (json_is_container(&d->nodes[value]))
        d->nodes[value].child.first = d->nodes[value].child.last = d->nodes[value].child.count = 0;
}

void json_drop(struct json *d, json_ref v)
{
    json_touch(d, d->nodes[v].parent);
    d->nodes[v].type = JSON_NONE;
}

void json_sweep(struct json *d, json_ref container)
{
    json_ref v = json_first(d, container);

    json_touch(d, container);
    d->nodes[container].child.first = d->nodes[container].child.last = 0;
    d->nodes[container].child.count = 0;
    while (v) {
        json_ref next = d->nodes[v].next;
        d->nodes[v].parent = 0;
        d->nodes[v].next = 0;
        if (d->nodes[v].type != JSON_NONE)
            json_link(d, container, v);
        v = next;
    }
}

void json_relink(struct json *d, json_ref container, const json_ref *children, uint32_t count)
{
    json_ref v = json_first(d, container);

    for (uint32_t i = 0; i < count; i++)
        if (d->nodes[children[i]].parent != container)
            json_unmark(d, children[i]);
    json_touch(d, container);
    d->nodes[container].child.first = d->nodes[container].child.last = 0;
    d->nodes[container].child.count = 0;
    while (v) {
        json_ref next = d->nodes[v].next;
        d->nodes[v].parent = 0;
        d->nodes[v].next = 0;
        v = next;
    }
    for (uint32_t i = 0; i < count; i++)
        json_link(d, container, children[i]);
}

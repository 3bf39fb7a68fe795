/* Sets of fields: parsing of path elements, set operations and printing. Operations walk two sorted trees
 * side by side and edit the first in place. Recursion is limited by OWNED_DEPTH_MAX, which owned_check()
 * enforces. */
#include "api/owned_fields.h"

#include "api/json_int.h"
#include "base/cleanup.h"

#define OWNED_PATH_BYTES_MAX ((size_t)16 << 10)

/* --- Path elements --- */

/* Takes a JSON scalar from the front of *rest. Strings end at their closing quote; escapes are not decoded.
 */
static bool element_scalar(struct str *rest, struct str *ret)
{
    size_t len = 0;

    if (rest->len && rest->s[0] == '"') {
        for (len = 1; len < rest->len && rest->s[len] != '"'; len++) {
            if ((unsigned char)rest->s[len] < ' ')
                return false;
            if (rest->s[len] == '\\')
                len++;
        }
        if (len >= rest->len)
            return false;
        len++;
    } else {
        while (len < rest->len && strchr("+-.0123456789Eaeflnrstu", rest->s[len]) && rest->s[len])
            len++;
    }
    *ret = (struct str){ rest->s, len };
    *rest = (struct str){ rest->s + len, rest->len - len };
    return len > 0;
}

static bool element_take(struct str *rest, char c)
{
    if (!rest->len || rest->s[0] != c)
        return false;
    *rest = (struct str){ rest->s + 1, rest->len - 1 };
    return true;
}

/* Takes `"name":scalar` and the comma or brace after it. */
static bool element_pair(struct str *rest, struct str *name, struct str *value, bool *more)
{
    if (!element_scalar(rest, name) || name->s[0] != '"' || !element_take(rest, ':') ||
        !element_scalar(rest, value))
        return false;
    *more = element_take(rest, ',');
    return *more || (element_take(rest, '}') && !rest->len);
}

static bool element_is_keys(struct str text)
{
    struct str name, value;
    bool more = true;

    if (!element_take(&text, '{'))
        return false;
    while (more)
        if (!element_pair(&text, &name, &value, &more))
            return false;
    return true;
}

static bool element_is_valid(struct str key)
{
    struct str rest, scalar;
    uint64_t index;

    if (key.len < 2 || key.s[1] != ':')
        return false;
    rest = (struct str){ key.s + 2, key.len - 2 };
    switch (key.s[0]) {
    case 'f':
        return true;
    case 'k':
        return element_is_keys(rest);
    case 'v':
        return element_scalar(&rest, &scalar) && !rest.len;
    case 'i':
        return str_to_uint64(rest, &index);
    default:
        return false;
    }
}

/* Printed as by structured-merge-diff; a string's JSON equals Go's quoting for all texts that occur in names.
 */
static void element_print(struct str key, struct buf *out)
{
    struct str rest = { key.s + 2, key.len - 2 }, name, value;
    bool more = key.s[0] == 'k' && element_take(&rest, '{');
    const char *mark = key.s[0] == 'f' ? "." : key.s[0] == 'v' ? "[=" : "[";

    buf_add_cstr(out, mark);
    while (more && element_pair(&rest, &name, &value, &more))
        buf_addf(out, "%.*s=%.*s%s", (int)name.len - 2, name.s + 1, STR_ARG(value), more ? "," : "");
    if (key.s[0] != 'k')
        buf_add_str(out, rest);
    if (key.s[0] != 'f')
        buf_add_char(out, ']');
}

/* --- Places --- */

static bool is_dot(const struct json *d, json_ref v)
{
    const struct json_node *n = json_node(d, v);

    return n->key_len == 1 && n->key[0] == '.';
}

bool owned_has_self(const struct json *d, json_ref place)
{
    json_ref first = json_first(d, place);

    return place && (!first || is_dot(d, first));
}

json_ref owned_first(const struct json *d, json_ref place)
{
    json_ref first = json_first(d, place);

    return first && is_dot(d, first) ? json_next(d, first) : first;
}

/* Updates whether the place itself is in the set: "." if there are places below it, otherwise nothing.
 * Dropped children are unlinked. */
static void place_settle(struct json *d, json_ref place, bool self, bool dropped)
{
    json_ref first = json_first(d, place);
    bool has_dot = first && is_dot(d, first);

    if (has_dot && (!self || json_count(d, place) == 1)) {
        json_drop(d, first);
        dropped = true;
    }
    if (dropped)
        json_sweep(d, place);
    first = json_first(d, place);
    if (self && first && !is_dot(d, first)) {
        json_ref dot = json_new_object(d);
        if (!dot)
            return;
        d->nodes[dot].key = ".";
        d->nodes[dot].key_len = 1;
        json_link_after(d, place, /* previous= */ 0, dot);
    } else if (self && first && json_count(d, place) == 1) {
        json_unlink(d, first);
    }
}

/* --- Checking --- */

static bool check_place(struct json *d, json_ref place, unsigned depth)
{
    bool self = depth > 0 && json_count(d, place) == 0, dropped = false;

    if (json_type(d, place) != JSON_OBJECT || depth > OWNED_DEPTH_MAX)
        return false;
    for (json_ref v = json_first(d, place); v; v = json_next(d, v)) {
        if (is_dot(d, v)) {
            self = depth > 0;
            if (json_type(d, v) != JSON_OBJECT || json_first(d, v)) {
                json_drop(d, v); /* replaced by an empty object */
                dropped = true;
            }
        } else if (!element_is_valid(json_key(d, v)) || !check_place(d, v, depth + 1)) {
            return false;
        }
    }
    if (json_count(d, place) > 1)
        json_sort_members(d, place);
    place_settle(d, place, self, dropped);
    return true;
}

bool owned_check(struct json *d, json_ref set)
{
    return check_place(d, set, 0) && !d->failed;
}

/* --- Operations --- */

/* Returns whether anything is left. The root of a set is not a place: it is never in the set itself. */
static bool subtract_place(struct json *d, json_ref place, json_ref what, bool is_root)
{
    bool self = !is_root && owned_has_self(d, place) && !owned_has_self(d, what);
    bool had_self = !is_root && owned_has_self(d, place), dropped = false;
    json_ref v = owned_first(d, place), w = owned_first(d, what);
    uint32_t left = 0;

    while (v && w) {
        int order = str_cmp(json_key(d, v), json_key(d, w));
        json_ref next = json_next(d, v);
        if (order == 0 && !subtract_place(d, v, w, /* is_root= */ false)) {
            json_drop(d, v);
            dropped = true;
        } else if (order <= 0) {
            left++;
        }
        if (order <= 0)
            v = next;
        if (order >= 0)
            w = json_next(d, w);
    }
    left += v != 0;
    if (dropped || self != had_self)
        place_settle(d, place, self, dropped);
    return self || left;
}

void owned_subtract(struct json *d, json_ref set, json_ref what)
{
    if (set && what)
        (void)subtract_place(d, set, what, /* is_root= */ true);
}

static void add_place(struct json *d, json_ref place, json_ref more, bool is_root)
{
    bool self = !is_root && (owned_has_self(d, place) || owned_has_self(d, more));
    json_ref v = owned_first(d, place), w = owned_first(d, more);
    json_ref previous = v != json_first(d, place) ? json_first(d, place) : 0;

    if (w != json_first(d, more))
        json_unlink(d, json_first(d, more)); /* the dot: from here on the first child is always the next */
    for (; w; w = json_first(d, more)) {
        while (v && str_cmp(json_key(d, v), json_key(d, w)) < 0) {
            previous = v;
            v = json_next(d, v);
        }
        json_unlink(d, w);
        if (v && str_eq(json_key(d, v), json_key(d, w))) {
            add_place(d, v, w, /* is_root= */ false);
        } else {
            json_link_after(d, place, previous, w);
            previous = w;
        }
    }
    place_settle(d, place, self, /* dropped= */ false);
}

void owned_add(struct json *d, json_ref set, json_ref more)
{
    if (set && more && !d->failed)
        add_place(d, set, more, /* is_root= */ true);
}

static json_ref common_place(struct json *d, json_ref a, json_ref b, bool is_root)
{
    bool self = !is_root && owned_has_self(d, a) && owned_has_self(d, b);
    json_ref place = json_new_object(d), v = owned_first(d, a), w = owned_first(d, b);

    while (v && w && place) {
        int order = str_cmp(json_key(d, v), json_key(d, w));
        if (order == 0)
            json_add_member(d, place, json_key(d, v), common_place(d, v, w, /* is_root= */ false));
        if (order <= 0)
            v = json_next(d, v);
        if (order >= 0)
            w = json_next(d, w);
    }
    if (!place || (!self && !json_first(d, place)))
        return 0;
    place_settle(d, place, self, /* dropped= */ false);
    return place;
}

json_ref owned_common(struct json *d, json_ref a, json_ref b)
{
    return a && b ? common_place(d, a, b, /* is_root= */ true) : 0;
}

/* --- Paths --- */

/* The path of a place consists of the keys of its parents. */
static void place_path(const struct json *d, json_ref set, json_ref place, struct buf *out)
{
    json_ref steps[OWNED_DEPTH_MAX + 1];
    unsigned count = 0;

    for (; place != set && count <= OWNED_DEPTH_MAX; place = json_parent(d, place))
        steps[count++] = place;
    while (count)
        element_print(json_key(d, steps[--count]), out);
}

void owned_each_path(const struct json *d, json_ref set, owned_path_fn *fn, void *ctx)
{
    _cleanup_(buf_done_p) struct buf path = BUF_INIT(OWNED_PATH_BYTES_MAX);
    json_ref v = owned_first(d, set);

    while (v) {
        if (owned_has_self(d, v)) {
            buf_clear(&path);
            place_path(d, set, v, &path);
            fn(ctx, path.failed ? STR_LIT("…") : buf_str(&path));
        }
        if (owned_first(d, v)) {
            v = owned_first(d, v);
            continue;
        }
        while (v != set && !json_next(d, v))
            v = json_parent(d, v);
        v = v == set ? 0 : json_next(d, v);
    }
}

/* The downward API: fields of a pod and resources of its containers as file contents.
 *
 * A whole map is written as sorted lines key="value", with the value quoted; a single entry is written as it
 * is, "" if it does not exist. Resources are divided and rounded up; a missing limit is the node's
 * allocatable amount. */
#include "plugins/content.h"

#include <inttypes.h>
#include <string.h>

#include "api/quote.h"
#include "base/cleanup.h"

#define MAP_BYTES_MAX ((size_t)16 << 20)
#define QUOTED_BYTES_PER_BYTE 4 /* "\x1f" */

/* --- Fields --- */

static const char *const map_names[DOWNWARD_MAP_COUNT] = { "labels", "annotations" };
static const char *const map_paths[DOWNWARD_MAP_COUNT] = { "metadata.labels", "metadata.annotations" };

void downward_init(struct downward *w, struct arena *a, const struct pod *pod, const struct node *node)
{
    *w = (struct downward){ .arena = a, .pod = pod, .node = node };
    json_init(&w->text, OBJECT_TEXT_BYTES_MAX);
}

void downward_done(struct downward *w)
{
    json_done(&w->text);
}

/* A map from the pod's text, because the parsed pod omits kubectl's last-applied annotation. */
static int map_of_text(struct downward *w, size_t map, json_ref *ret, struct error *err)
{
    int r = 0;

    if (!w->root)
        r = json_parse(&w->text, w->pod->obj.text, &w->root, err);
    if (r == 0)
        *ret = json_path(&w->text, w->root, "metadata", map_names[map]);
    return r;
}

/* A copy in the arena. */
static int keep_text(struct downward *w, struct str text, struct str *ret, struct error *err)
{
    const char *copy = arena_dup(w->arena, text);

    if (!copy)
        return arena_check(w->arena, err);
    *ret = (struct str){ copy, text.len };
    return 0;
}

static int add_line(struct str key, struct str value, struct buf *out, struct error *err)
{
    size_t room = value.len * QUOTED_BYTES_PER_BYTE + 3;
    _cleanup_(freep) char *quoted = malloc(room);

    if (!quoted)
        return error_no_memory(err);
    if (out->len)
        buf_add_char(out, '\n');
    buf_add_str(out, key);
    buf_add_char(out, '=');
    buf_add_cstr(out, quote_text(quoted, room, value));
    return 0;
}

/* Built once for all files that show it. */
static int whole_map(struct downward *w, size_t map, struct str *ret, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(MAP_BYTES_MAX);
    json_ref members = 0;
    int r = 0;

    if (w->maps[map].s) {
        *ret = w->maps[map];
        return 0;
    }
    r = map_of_text(w, map, &members, err);
    for (json_ref m = json_first(&w->text, members); m && r == 0; m = json_next(&w->text, m)) /* sorted */
        r = add_line(json_key(&w->text, m), json_text(&w->text, m), &text, err);
    if (r == 0)
        r = buf_check(&text, "field of the pod", err);
    if (r == 0)
        r = keep_text(w, buf_str(&text), &w->maps[map], err);
    if (r == 0)
        *ret = w->maps[map];
    return r;
}

/* "" if it does not exist. */
static int map_entry(struct downward *w, size_t map, struct str key, struct str *ret, struct error *err)
{
    const struct kvs *kvs = map == DOWNWARD_LABELS ? &w->pod->obj.labels : &w->pod->obj.annotations;
    const char *key_text = arena_dup(w->arena, key), *value;
    json_ref members = 0;
    int r;

    if (!key_text)
        return arena_check(w->arena, err);
    value = kv_get(kvs->items, kvs->count, key_text);
    if (value || !str_is(key, LAST_APPLIED_ANNOTATION)) {
        *ret = str_of(value ? value : "");
        return 0;
    }
    r = map_of_text(w, map, &members, err);
    return r < 0 ? r : keep_text(w, json_text(&w->text, json_get_key(&w->text, members, key)), ret, err);
}

/* Splits "metadata.labels['k']". False if it has no key. */
static bool split_key(struct str path, struct str *ret_path, struct str *ret_key)
{
    const char *open = memmem(path.s, path.len, "['", 2);
    size_t before = open ? (size_t)(open - path.s) : 0;

    if (!open || !str_has_suffix(path, "']") || path.len < before + 4)
        return false;
    *ret_path = (struct str){ path.s, before };
    *ret_key = (struct str){ open + 2, path.len - before - 4 };
    return true;
}

static int field_value(struct downward *w, const char *field_path, struct str *ret, struct error *err)
{
    const struct object *o = &w->pod->obj;
    struct str path = str_of(field_path), key = { 0 };
    bool has_key = split_key(path, &path, &key);

    for (size_t i = 0; i < DOWNWARD_MAP_COUNT; i++)
        if (str_is(path, map_paths[i]))
            return has_key ? map_entry(w, i, key, ret, err) : whole_map(w, i, ret, err);
    if (has_key)
        return error_set(err, ERR_INVALID, "fieldPath \"%s\" does not support subscript", field_path);
    if (str_is(path, "metadata.name"))
        *ret = str_of(o->name);
    else if (str_is(path, "metadata.namespace"))
        *ret = str_of(o->ns);
    else if (str_is(path, "metadata.uid"))
        *ret = str_of(o->uid);
    else
        return error_set(err, ERR_INVALID, "unsupported fieldPath: %s", field_path);
    return 0;
}

/* --- Resources --- */

static bool falls_back_to_node(const char *name)
{
    return strcmp(name, "cpu") == 0 || strcmp(name, "memory") == 0 || strcmp(name, "ephemeral-storage") == 0;
}

/* The amount to show; zero for a missing request. */
static int find_amount(const struct pod_container *c, const struct node *node, const char *resource,
                       const char **ret_name, struct quantity *ret, struct error *err)
{
    struct str s = str_of(resource);
    bool is_limit = str_has_prefix(s, "limits."), is_request = str_has_prefix(s, "requests.");
    const char *name = resource + (is_limit ? strlen("limits.") : is_request ? strlen("requests.") : 0);
    const struct quantity *q;

    if ((!is_limit && !is_request) ||
        (!falls_back_to_node(name) && !str_has_prefix(str_of(name), "hugepages-")))
        return error_set(err, ERR_INVALID, "Unsupported container resource : %s", resource);
    q = amounts_get(is_limit ? &c->limits : &c->requests, name);
    if (is_limit && (!q || quantity_is_zero(q)) && falls_back_to_node(name)) {
        if (!node)
            return error_set(err, ERR_UNAVAILABLE, "allocatable %s of the node is not known yet", name);
        q = amounts_get(&node->allocatable, name);
    }
    *ret = q ? *q : (struct quantity){ 0 };
    *ret_name = name;
    return 0;
}

/* a / b, rounded up; no amount is negative. */
static int64_t divide_up(int64_t a, int64_t b)
{
    if (a <= 0)
        return 0;
    return b <= 1 ? a : a / b + (a % b != 0);
}

static int resource_value(struct downward *w, const struct pod_downward_item *item, struct str *ret,
                          struct error *err)
{
    const struct pod_container *c = pod_container(w->pod, item->container);
    struct quantity amount = { 0 }, divisor = item->divisor;
    const char *name = "", *text;
    int64_t value;
    int r;

    if (!c || c->kind == CONTAINER_EPHEMERAL) /* ephemeral containers have no resources */
        return error_set(err, ERR_INVALID, "container %s not found", item->container);
    r = find_amount(c, w->node, item->resource, &name, &amount, err);
    if (r < 0)
        return r;
    if (quantity_is_zero(&divisor))
        divisor = quantity_of(1, QUANTITY_DECIMAL_SI);
    value = strcmp(name, "cpu") == 0
                ? divide_up(quantity_milli_value(&amount), quantity_milli_value(&divisor))
                : divide_up(quantity_value(&amount), quantity_value(&divisor));
    text = arena_printf(w->arena, "%" PRId64, value);
    if (!text)
        return arena_check(w->arena, err);
    *ret = str_of(text);
    return 0;
}

int downward_value(struct downward *w, const struct pod_downward_item *item, struct str *ret,
                   struct error *err)
{
    return item->field_path[0] ? field_value(w, item->field_path, ret, err)
                               : resource_value(w, item, ret, err);
}

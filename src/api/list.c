/* Reads and writes lists of objects. Reading unlinks one item after another from the parsed document, so that
 * memory is bounded by the text. Writing copies the text of each object, without kind and apiVersion for
 * built-in kinds. */
#include "api/list.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "api/json_out.h"
#include "base/cleanup.h"

/* --- Reading --- */

/* The kind of the items of a list: NULL if each item has its own. */
static int list_kind(struct str api_version, struct str name, const struct kind_info **ret, struct error *err)
{
    const struct kind_info *k;

    if (str_is(name, "List") && str_is(api_version, "v1")) {
        *ret = NULL;
        return 0;
    }
    if (!str_has_suffix(name, "List"))
        return error_set(err, ERR_BAD_REQUEST, "kind \"%.*s\" is not a list", STR_ARG(name));
    k = kind_by_api_version(api_version, (struct str){ name.s, name.len - strlen("List") });
    if (!k)
        return error_set(err, ERR_UNSUPPORTED, "no kind \"%.*s\" is known in version \"%.*s\"", STR_ARG(name),
                         STR_ARG(api_version));
    *ret = k;
    return 0;
}

static struct list_meta list_read_meta(const struct json *d, json_ref meta)
{
    struct list_meta m = {
        .resource_version = json_get_text(d, meta, "resourceVersion"),
        .continue_token = json_get_text(d, meta, "continue"),
        .remaining = -1,
    };

    (void)json_int64(d, json_get(d, meta, "remainingItemCount"), &m.remaining); /* stays -1 if absent */
    return m;
}

int list_open(struct json *d, json_ref v, const struct kind_info *k, struct list_reader *ret,
              struct error *err)
{
    struct str api_version = json_get_text(d, v, "apiVersion"), name = json_get_text(d, v, "kind");
    json_ref items = json_get(d, v, "items");
    enum json_type type = json_type(d, items);
    const struct kind_info *said = NULL;
    int r = list_kind(api_version, name, &said, err);

    if (r < 0)
        return r;
    if (k && said && k != said)
        return error_set(err, ERR_BAD_REQUEST, "expected a list of %s, got a %.*s of %.*s", k->name,
                         STR_ARG(name), STR_ARG(api_version));
    if (type != JSON_ARRAY && type != JSON_NULL && type != JSON_NONE)
        return error_set(err, ERR_BAD_REQUEST, "items: must be an array, not %s", json_type_name(type));
    *ret = (struct list_reader){
        .meta = list_read_meta(d, json_get(d, v, "metadata")),
        .count = json_count(d, items),
        .kind = k ? k : said,
        .d = d,
        .items = items,
    };
    return 0;
}

/* The kind of an item must be that of the list; an item without one gets it. NULL after an error. */
static const struct kind_info *list_item_kind(const struct list_reader *l, json_ref item, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(256);
    struct str name = json_get_text(l->d, item, "kind");
    struct str api_version = json_get_text(l->d, item, "apiVersion");
    const struct kind_info *k = l->kind;

    if (!k || name.len || api_version.len)
        k = kind_by_api_version(api_version, name);
    if (!k || (l->kind && k != l->kind)) {
        (void)error_set(err, l->kind ? ERR_BAD_REQUEST : ERR_UNSUPPORTED,
                        "no kind \"%.*s\" of version \"%.*s\" is %s", STR_ARG(name), STR_ARG(api_version),
                        l->kind ? "expected in this list" : "known");
        return NULL;
    }
    if (!name.len) {
        kind_api_version(k, &text);
        json_set_string(l->d, item, "kind", k->name);
        json_set_string(l->d, item, "apiVersion", buf_cstr(&text));
    }
    return k;
}

static int list_make(const struct list_reader *l, json_ref item, struct object **ret, struct error *err)
{
    const struct kind_info *k;
    int r;

    if (json_type(l->d, item) != JSON_OBJECT)
        return error_set(err, ERR_BAD_REQUEST, "must be an object, not %s",
                         json_type_name(json_type(l->d, item)));
    k = list_item_kind(l, item, err);
    if (!k)
        return -(int)err->code;
    r = schema_normalize(k->schema, l->d, item, SCHEMA_KEEP_UNKNOWN, /* report= */ NULL, err);
    return r < 0 ? r : object_new(k, l->d, item, ret, err);
}

int list_next(struct list_reader *l, struct object **ret, struct error *err)
{
    json_ref item = json_first(l->d, l->items);
    uint32_t index = l->next;
    int r;

    if (!item)
        return 0;
    json_unlink(l->d, item); /* the first item needs no search, and paths in errors start at the item */
    l->next++;
    r = list_make(l, item, ret, err);
    return r < 0 ? error_wrap(err, "items[%" PRIu32 "]", index) : 1;
}

/* --- Writing --- */

/* Removes a prefix; false if s does not start with it. Inline, because it is called for every item. */
static inline bool skip_prefix(struct str *s, const char *prefix, size_t len)
{
    if (s->len < len || memcmp(s->s, prefix, len) != 0)
        return false;
    *s = (struct str){ s->s + len, s->len - len };
    return true;
}

#define SKIP_LITERAL(s, literal) skip_prefix(s, literal, sizeof(literal) - 1)

/* Canonical text starts with kind and apiVersion, followed by metadata: they are removed by starting later. A
 * text that was decoded without them needs no cut. */
static bool skip_type(const struct kind_info *k, struct str *text)
{
    return SKIP_LITERAL(text, "{\"kind\":\"") && skip_prefix(text, k->name, strlen(k->name)) &&
           SKIP_LITERAL(text, "\",\"apiVersion\":\"") &&
           (k->group[0] == '\0' ||
            (skip_prefix(text, k->group, strlen(k->group)) && SKIP_LITERAL(text, "/"))) &&
           skip_prefix(text, k->version, strlen(k->version)) && SKIP_LITERAL(text, "\",");
}

void list_write_item(const struct kind_info *k, const struct object *o, struct buf *out)
{
    struct str rest = o->text;

    assert(o->kind == k);
    if ((k->flags & KIND_IS_CUSTOM) == 0 && skip_type(k, &rest)) {
        buf_add_char(out, '{');
        buf_add_str(out, rest);
    } else {
        buf_add_str(out, o->text);
    }
}

void list_write_meta(const struct list_meta *meta, struct buf *out)
{
    json_out_object(out, "metadata");
    json_out_str(out, "resourceVersion", meta->resource_version);
    if (meta->continue_token.len)
        json_out_str(out, "continue", meta->continue_token);
    if (meta->remaining >= 0)
        json_out_int(out, "remainingItemCount", meta->remaining);
    json_out_end_object(out);
}

void list_write_begin(const struct kind_info *k, const struct list_meta *meta, struct buf *out)
{
    json_out_object(out, NULL);
    json_out_textf(out, "kind", "%sList", k->name);
    kind_write_api_version(k, out);
    list_write_meta(meta, out);
    json_out_array(out, "items");
}

void list_write(const struct kind_info *k, const struct list_meta *meta, const struct object *const *objects,
                size_t count, struct buf *out)
{
    list_write_begin(k, meta, out);
    for (size_t i = 0; i < count; i++) {
        json_out_key(out, NULL);
        list_write_item(k, objects[i], out);
    }
    buf_add_cstr(out, LIST_WRITE_END);
}

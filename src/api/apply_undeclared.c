/* Finds fields of an applied body that the kind's schema does not declare.
 *
 * Other writes drop such fields with a warning. An apply fails, because a manager cannot own a field that
 * does not exist. Costs one pass over the body; recursion is as deep as the schema. */
#include "api/apply.h"

#include "api/owned_shape.h"

/* Further fields are only counted. */
#define UNDECLARED_LISTED_MAX 100

/* One step of the path to a value: a member of the parent object, or an item of the parent list. */
struct apply_step {
    const struct apply_step *up;
    json_ref v;
    const struct field *list; /* of an item; NULL for a member */
    uint32_t index;
};

struct undeclared {
    const struct json *d;
    struct buf lines;
    uint32_t count;
};

/* `[name="a"]`: items of keyed lists are shown by their keys, others by their index. */
static void item_print(const struct json *d, const struct apply_step *s, struct buf *out)
{
    struct str keys = { NULL, 0 };
    char mark = '[';

    if (owned_field_type(s->list).shape == OWNED_KEYED)
        keys = str_of(s->list->owned_keys ? s->list->owned_keys : s->list->merge_key);
    else
        buf_addf(out, "[%u", s->index);
    while (keys.s) {
        struct str fallback = str_next(&keys, ' '), name = str_next(&fallback, '=');
        json_ref v = json_get_key(d, s->v, name);
        buf_addf(out, "%c%.*s=", mark, STR_ARG(name));
        if (v)
            json_write(d, v, out);
        else
            json_write_string(out, fallback.s ? fallback : STR_LIT(""));
        mark = ',';
    }
    buf_add_char(out, ']');
}

static void path_print(const struct json *d, const struct apply_step *s, struct buf *out)
{
    if (s->up)
        path_print(d, s->up, out);
    if (s->list)
        item_print(d, s, out);
    else
        buf_addf(out, ".%.*s", STR_ARG(json_key(d, s->v)));
}

static void undeclared_add(struct undeclared *u, const struct apply_step *s)
{
    if (u->count++ >= UNDECLARED_LISTED_MAX)
        return;
    buf_add_cstr(&u->lines, "\n  ");
    path_print(u->d, s, &u->lines);
    buf_add_cstr(&u->lines, ": field not declared in schema");
}

static void walk_members(struct undeclared *u, const struct apply_step *up, const struct schema *s,
                         json_ref v);

/* v is the value of a field or an item of it, and has that type. */
static void walk_value(struct undeclared *u, const struct apply_step *at, const struct field *f,
                       enum field_type type)
{
    bool is_list = type == FIELD_LIST;
    uint32_t i = 0;

    if (type == FIELD_OBJECT)
        walk_members(u, at, f->sub, at->v);
    if ((!is_list && type != FIELD_MAP) || f->item != FIELD_OBJECT)
        return;
    for (json_ref m = json_first(u->d, at->v); m; m = json_next(u->d, m)) {
        struct apply_step item = { at, m, is_list ? f : NULL, i++ };
        walk_members(u, &item, f->sub, m);
    }
}

/* Values that are not objects are checked elsewhere. */
static void walk_members(struct undeclared *u, const struct apply_step *up, const struct schema *s,
                         json_ref v)
{
    if (json_type(u->d, v) != JSON_OBJECT)
        return;
    for (json_ref m = json_first(u->d, v); m; m = json_next(u->d, m)) {
        const struct field *f = schema_field(s, json_key(u->d, m));
        struct apply_step at = { .up = up, .v = m };
        if (f)
            walk_value(u, &at, f, f->type);
        else if (!s->open)
            undeclared_add(u, &at);
    }
}

uint32_t apply_find_undeclared(const struct schema *s, const struct json *d, json_ref body, struct buf *out)
{
    struct undeclared u = { .d = d, .lines = BUF_INIT(out->len_max) };
    const char *lines;

    walk_members(&u, /* up= */ NULL, s, body);
    lines = buf_cstr(&u.lines);
    if (u.count == 1)
        buf_add_cstr(out, lines + strspn(lines, "\n "));
    else if (u.count)
        buf_addf(out, "errors:%s", lines);
    buf_done(&u.lines);
    return u.count;
}

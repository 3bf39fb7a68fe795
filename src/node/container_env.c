/* Expands $(VAR) in subPathExpr. Variables are stored in a map in the order of the container's env list; each
 * value is expanded when it is added, with the variables before it. Both the length of a value and the sum of
 * all lengths are bounded, since values can refer to each other repeatedly. */
#include "node/container_env.h"

#include <string.h>

#include "base/cleanup.h"

struct env_var {
    struct str name;
    const char *value;   /* NULL: the value is not available, */
    const char *problem; /* and the reason */
};

void container_env_init(struct container_env *e, const struct pod *pod, struct hash_seed seed)
{
    *e = (struct container_env){ .pod = pod, .arena = ARENA_INIT(ENV_BYTES_MAX) };
    downward_init(&e->fields, &e->arena, pod, /* node= */ NULL);
    map_init(&e->vars, seed);
}

void container_env_done(struct container_env *e)
{
    map_done(&e->vars);
    downward_done(&e->fields);
    arena_done(&e->arena);
}

/* --- Expansion --- */

/* Parses "$(NAME)" at the start of text; false when the closing parenthesis is missing. */
static bool reference_name(struct str text, struct str *ret)
{
    const char *end = memchr(text.s, ')', text.len);

    if (!end)
        return false;
    *ret = (struct str){ text.s + 2, (size_t)(end - text.s) - 2 };
    return true;
}

/* An unknown variable stays as it is in a value and is an error in an expression. */
static int add_reference(const struct container_env *e, struct str name, bool is_strict, struct buf *out,
                         struct error *err)
{
    const struct env_var *v = map_get(&e->vars, name);

    if (v && v->value)
        buf_add_cstr(out, v->value);
    else if (!is_strict && !v)
        buf_addf(out, "$(%.*s)", STR_ARG(name));
    else if (!v)
        return error_set(err, ERR_INVALID, "missing value for \"%.*s\"", STR_ARG(name));
    else
        return error_set(err, ERR_UNSUPPORTED, "no value for \"%.*s\": %s", STR_ARG(name), v->problem);
    return buf_check(out, "the value", err);
}

static int expand_references(const struct container_env *e, struct str text, bool is_strict, struct buf *out,
                             struct error *err)
{
    int r = 0;

    for (size_t i = 0; i < text.len && r == 0; i++) {
        struct str rest = { text.s + i, text.len - i }, name;

        if (str_has_prefix(rest, "$$")) {
            buf_add_char(out, '$');
            i++;
        } else if (str_has_prefix(rest, "$(") && reference_name(rest, &name)) {
            r = add_reference(e, name, is_strict, out, err);
            i += name.len + 2;
        } else {
            buf_add_char(out, text.s[i]);
        }
    }
    return r < 0 ? r : buf_check(out, "the value", err);
}

int container_env_expand(struct container_env *e, const char *text, const char **ret, struct error *err)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(ENV_VALUE_BYTES_MAX);
    const char *copy;
    int r = expand_references(e, str_of(text), /* is_strict= */ true, &out, err);

    if (r < 0)
        return r;
    copy = arena_dup(&e->arena, buf_str(&out));
    if (!copy)
        return arena_check(&e->arena, err);
    *ret = copy;
    return 0;
}

/* --- Loading --- */

static int value_of_field(struct container_env *e, const char *path, const char **ret, struct error *err)
{
    struct pod_downward_item item = { .field_path = path, .resource = "", .container = "" };
    struct str value;
    int r;

    if (strcmp(path, "spec.nodeName") == 0) {
        *ret = e->pod->node_name;
        return 0;
    }
    r = downward_value(&e->fields, &item, &value, err);
    if (r == 0) {
        *ret = arena_dup(&e->arena, value);
        r = *ret ? 0 : arena_check(&e->arena, err);
    }
    return r;
}

/* Sets the value of one entry; the text is in the arena or in the pod. */
static int value_of(struct container_env *e, const struct json *d, json_ref entry, const char **ret,
                    struct error *err)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(ENV_VALUE_BYTES_MAX);
    json_ref from = json_get(d, entry, "valueFrom");
    struct str path = json_get_text(d, json_get(d, from, "fieldRef"), "fieldPath");
    int r;

    if (path.len) {
        const char *copy = arena_dup(&e->arena, path);

        return copy ? value_of_field(e, copy, ret, err) : arena_check(&e->arena, err);
    }
    if (json_count(d, from))
        return error_set(err, ERR_UNSUPPORTED, "only values and pod fields can be used in subPathExpr");
    r = expand_references(e, json_get_text(d, entry, "value"), /* is_strict= */ false, &out, err);
    if (r == 0) {
        *ret = arena_dup(&e->arena, buf_str(&out));
        r = *ret ? 0 : arena_check(&e->arena, err);
    }
    return r;
}

static int load_one(struct container_env *e, const struct json *d, json_ref entry, struct error *err)
{
    struct env_var *v = arena_alloc(&e->arena, sizeof *v);
    struct error why = { 0 };

    if (!v)
        return arena_check(&e->arena, err);
    v->name = json_get_text(d, entry, "name");
    if (value_of(e, d, entry, &v->value, &why) < 0) {
        v->value = NULL;
        v->problem = arena_dup(&e->arena, str_of(why.msg));
        if (!v->problem)
            return arena_check(&e->arena, err);
    }
    return map_put(&e->vars, v->name, v, /* ret_old= */ NULL) < 0 ? error_no_memory(err) : 0;
}

int container_env_load(struct container_env *e, const struct json *d, json_ref container, struct error *err)
{
    int r = 0;

    map_clear(&e->vars);
    for (json_ref m = json_first(d, json_get(d, container, "env")); m && r == 0; m = json_next(d, m))
        r = load_one(e, d, m, err);
    return r;
}

/* Resolves selectors to getters of fields, and matches objects against them. A match costs two comparisons
 * for namespace and name, then one call per term. */
#include "apiserver/selection.h"

#include <string.h>

static const char *get_name(const struct object *o)
{
    return o->name;
}

static const char *get_ns(const struct object *o)
{
    return o->ns;
}

/* The field names for field_selector_check(); NULL for a kind without fields of its own. */
static int known_fields(const struct kind_info *k, struct arena *a, const char *const **ret,
                        struct error *err)
{
    const char **names;
    size_t count = 0;

    *ret = NULL;
    if (!k->selectable)
        return 0;
    while (k->selectable[count].name)
        count++;
    names = arena_array(a, count + 3, sizeof *names);
    if (!names)
        return arena_check(a, err);
    for (size_t i = 0; i < count; i++)
        names[i] = k->selectable[i].name;
    names[count++] = "metadata.name";
    if (k->kind != KIND_NODE && k->kind != KIND_NAMESPACE) /* these two kinds do not support it */
        names[count] = "metadata.namespace";
    *ret = names;
    return 0;
}

static struct field_match resolve_field(const struct kind_info *k, const struct field_term *t)
{
    struct field_match m = { .get = get_name, .value = t->value, .is_not = t->is_not };

    if (strcmp(t->field, "metadata.namespace") == 0)
        m.get = get_ns;
    for (const struct selectable *s = k->selectable; s && s->name; s++)
        if (strcmp(t->field, s->name) == 0)
            m.get = s->get;
    return m;
}

/* A term that requires a name becomes the selection's name; one that requires a namespace stays a term, since
 * the path may name another. */
static int resolve_fields(const struct kind_info *k, const struct field_selector *fields, struct arena *a,
                          struct selection *s, struct str *ret_ns, struct error *err)
{
    struct field_match *matches;

    if (fields->count == 0)
        return 0;
    matches = arena_array(a, fields->count, sizeof *matches);
    if (!matches)
        return arena_check(a, err);
    for (size_t i = 0; i < fields->count; i++) {
        struct field_match m = resolve_field(k, &fields->terms[i]);

        if (m.get == get_name && !m.is_not && !s->name.s) {
            s->name = m.value;
            continue;
        }
        if (m.get == get_ns && !m.is_not)
            *ret_ns = m.value;
        matches[s->fields_count++] = m;
    }
    s->fields = matches;
    return 0;
}

int selection_make(const struct resource *r, struct str ns, const struct label_selector *labels,
                   const struct field_selector *fields, struct arena *a, struct selection *ret,
                   struct error *err)
{
    struct selection s = { .ns = ns, .labels = *labels, .is_partial = labels->count || fields->count };
    struct str pinned_ns = STR_LIT("");
    const char *const *known;
    int e;

    if (labels->count + fields->count > SELECTION_TERMS_MAX)
        return error_set(err, ERR_BAD_REQUEST, "the selectors have more than %d requirements",
                         SELECTION_TERMS_MAX);
    e = known_fields(r->info, a, &known, err);
    if (e == 0)
        e = field_selector_check(fields, known, err);
    if (e == 0)
        e = resolve_fields(r->info, fields, a, &s, &pinned_ns, err);
    if (e < 0)
        return e;
    if (s.ns.len == 0 && pinned_ns.len) {
        const char *copy = arena_dup(a, pinned_ns);

        if (!copy)
            return arena_check(a, err);
        s.ns = (struct str){ copy, pinned_ns.len };
    }
    *ret = s;
    return 0;
}

bool selection_matches(const struct selection *s, const struct object *o)
{
    for (size_t i = 0; i < s->fields_count; i++) {
        const struct field_match *m = &s->fields[i];

        if (str_is(m->value, m->get(o)) == m->is_not)
            return false;
    }
    return s->labels.count == 0 || label_selector_matches(&s->labels, o->labels.items, o->labels.count);
}

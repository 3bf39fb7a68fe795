/* The rules that kinds share, and the metadata's. */
#include "api/validate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/names.h"
#include "api/quantity.h"
#include "api/quote.h"
#include "base/cleanup.h"

#define ANNOTATIONS_BYTES_MAX ((size_t)256 << 10)

struct str validate_required_text(struct validation *v, const struct field_path *p, json_ref object,
                                  const char *key)
{
    struct str text = json_get_text(v->d, object, key);
    struct field_path at = path_child(p, key);

    if (text.len == 0)
        errors_required(v->errors, &at, "");
    return text;
}

void validate_one_of(struct validation *v, const struct field_path *p, struct str text,
                     const char *const *names)
{
    for (const char *const *name = names; *name; name++)
        if (str_is(text, *name))
            return;
    errors_not_supported(v->errors, p, show_text(v->errors, text), names);
}

static void validate_add_problems(struct validation *v, const struct field_path *p, struct str shown,
                                  const struct name_problems *problems)
{
    for (size_t i = 0; i < problems->count; i++) {
        const struct name_problem *problem = &problems->items[i];
        switch (problem->type) {
        case NAME_REQUIRED:
            errors_required(v->errors, p, problem->detail);
            break;
        case NAME_TOO_LONG:
            errors_too_long(v->errors, p, problem->detail);
            break;
        case NAME_INVALID:
            errors_invalid(v->errors, p, show_text(v->errors, shown), problem->detail);
            break;
        }
    }
}

void validate_name(struct validation *v, const struct field_path *p, enum name_rule rule, struct str name)
{
    struct name_problems problems;

    if (!name_check(rule, name, &problems))
        validate_add_problems(v, p, name, &problems);
}

void validate_labels(struct validation *v, const struct field_path *p, json_ref labels)
{
    for (json_ref m = json_first(v->d, labels); m; m = json_next(v->d, m)) {
        validate_name(v, p, NAME_QUALIFIED, json_key(v->d, m));
        validate_name(v, p, NAME_LABEL_VALUE, json_text(v->d, m));
    }
}

void validate_immutable(struct validation *v, const struct field_path *p, json_ref now, json_ref old)
{
    if (!json_equal(v->d, now, old))
        errors_invalid(v->errors, p, show_value(v->errors, v->d, now), "field is immutable");
}

struct twin {
    struct str text;
    uint32_t index;
};

static int twin_cmp(const void *a, const void *b)
{
    const struct twin *x = a, *y = b;
    int r = str_cmp(x->text, y->text);

    return r ? r : (x->index > y->index) - (x->index < y->index);
}

static int index_cmp(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* A rule that could not look is no consent: errors_check_room() tells. */
static void validate_no_room(struct validation *v)
{
    if (!v->errors->arena.failed)
        v->errors->arena.failed = ERR_NO_MEMORY;
}

/* Writes the values one behind the other into texts, which the twins point into. Returns how many there are.
 */
static uint32_t twins_collect(struct validation *v, json_ref list, const char *key, struct twin *twins,
                              struct buf *texts)
{
    uint32_t index = 0, n = 0;
    const char *at;

    for (json_ref m = json_first(v->d, list); m; m = json_next(v->d, m), index++) {
        json_ref value = key ? json_get(v->d, m, key) : m;
        size_t before = texts->len;
        if (!value)
            continue;
        json_write(v->d, value, texts);
        twins[n++] = (struct twin){ { NULL, texts->len - before }, index };
    }
    at = buf_cstr(texts);
    for (uint32_t i = 0; i < n; i++) {
        twins[i].text.s = at;
        at += twins[i].text.len;
    }
    return n;
}

/* Sorts, so that a list of any length costs n log n. Fills in the indexes and returns how many there are. */
static uint32_t twins_sort_out(struct twin *twins, uint32_t n, uint32_t *indexes)
{
    uint32_t found = 0;

    if (n > 1)
        qsort(twins, n, sizeof *twins, twin_cmp);
    for (uint32_t i = 1; i < n; i++)
        if (str_eq(twins[i].text, twins[i - 1].text))
            indexes[found++] = twins[i].index;
    if (found > 1)
        qsort(indexes, found, sizeof *indexes, index_cmp);
    return found;
}

uint32_t validate_find_twins(struct validation *v, json_ref list, const char *key, const uint32_t **ret)
{
    _cleanup_(buf_done_p) struct buf texts = BUF_INIT(v->d->bytes_max * 8);
    uint32_t count = json_count(v->d, list), n = 0, found = 0;
    uint32_t *indexes;
    struct twin *twins;

    if (count < 2)
        return 0;
    indexes = arena_array(&v->errors->arena, count, sizeof *indexes);
    twins = indexes ? calloc(count, sizeof *twins) : NULL;
    if (twins)
        n = twins_collect(v, list, key, twins, &texts);
    if (twins && !texts.failed)
        found = twins_sort_out(twins, n, indexes);
    if (!twins || texts.failed)
        validate_no_room(v);
    free(twins);
    *ret = indexes;
    return found;
}

void validate_unique(struct validation *v, const struct field_path *p, json_ref list, const char *key)
{
    const uint32_t *twins = NULL;
    uint32_t left = validate_find_twins(v, list, key, &twins), index = 0;

    for (json_ref m = json_first(v->d, list); m && left; m = json_next(v->d, m), index++) {
        struct field_path item = path_index(p, index), member = path_child(&item, key);
        if (index != *twins)
            continue;
        if (v->errors->count == FIELD_ERRORS_COUNT_MAX)
            return;
        errors_duplicate(v->errors, key ? &member : &item,
                         show_value(v->errors, v->d, key ? json_get(v->d, m, key) : m));
        twins++;
        left--;
    }
}

void validate_nothing(struct validation *v)
{
    (void)v;
}

void default_nothing(struct json *d, json_ref object)
{
    (void)d;
    (void)object;
}

void prepare_create_nothing(struct json *d, json_ref object, struct timestamp now)
{
    (void)d;
    (void)object;
    (void)now;
}

void prepare_update_nothing(struct json *d, json_ref object, json_ref old, enum write_part part,
                            struct timestamp now)
{
    (void)d;
    (void)object;
    (void)old;
    (void)part;
    (void)now;
}

void prepare_keep(struct json *d, json_ref object, json_ref old, const char *key)
{
    json_ref v = json_get(d, old, key);

    if (v)
        json_set(d, object, key, json_copy(d, v));
    else
        (void)json_remove(d, object, key);
}

static void prepare_parts(struct json *d, json_ref object, json_ref old, enum write_part part,
                          bool keep_metadata)
{
    json_ref status = json_get(d, object, "status");
    json_ref metadata = keep_metadata ? 0 : json_get(d, object, "metadata");

    if (part == WRITE_MAIN) {
        prepare_keep(d, object, old, "status");
        return;
    }
    json_unlink(d, metadata);
    json_unlink(d, status);
    json_keep_members(d, object, NULL, 0);
    json_add_member(d, object, STR_LIT("metadata"), metadata);
    for (json_ref m = json_first(d, old); m; m = json_next(d, m))
        if (!str_is(json_key(d, m), "status") && (keep_metadata || !str_is(json_key(d, m), "metadata")))
            json_add_member(d, object, json_key(d, m), json_copy(d, m));
    json_add_member(d, object, STR_LIT("status"), status);
}

void prepare_update_parts(struct json *d, json_ref object, json_ref old, enum write_part part,
                          struct timestamp now)
{
    (void)now;
    prepare_parts(d, object, old, part, /* keep_metadata= */ false);
}

void prepare_update_status_only(struct json *d, json_ref object, json_ref old, enum write_part part,
                                struct timestamp now)
{
    (void)now;
    prepare_parts(d, object, old, part, /* keep_metadata= */ true);
}

void validate_bytes_max(struct validation *v, const struct field_path *p, size_t bytes, size_t bytes_max)
{
    if (bytes > bytes_max)
        errors_too_long(v->errors, p, errors_printf(v->errors, "may not be more than %zu bytes", bytes_max));
}

void prepare_generation(struct json *d, json_ref object, json_ref old, json_ref now_part, json_ref old_part)
{
    int64_t generation = 0;

    (void)json_int64(d, json_path(d, old, "metadata", "generation"), &generation); /* absent counts as 0 */
    if (!json_equal(d, now_part, old_part))
        generation++;
    if (generation)
        json_set(d, json_ensure_object(d, object, "metadata"), "generation", json_new_int(d, generation));
}

void validate_no_updates(struct validation *v, const char *key)
{
    struct field_path at = path_child(NULL, key);

    if (!json_equal(v->d, json_get(v->d, v->object, key), json_get(v->d, v->old, key)))
        errors_forbidden(v->errors, &at, errors_printf(v->errors, "updates to %s are forbidden.", key));
}

void validate_quantity_not_negative(struct validation *v, const struct field_path *p, json_ref quantity)
{
    struct error ignored; /* canonical form has only quantities that parse */
    struct quantity q;

    if (quantity && quantity_parse(json_text(v->d, quantity), &q, &ignored) == 0 && quantity_sign(&q) < 0)
        errors_invalid(v->errors, p, show_value(v->errors, v->d, quantity),
                       "must be greater than or equal to 0");
}

/* --- Selectors --- */

static void validate_operator(struct validation *v, const struct field_path *p, struct str op,
                              uint32_t values_count, bool has_order)
{
    struct field_path values = path_child(p, "values"), at = path_child(p, "operator");

    if (str_is(op, "In") || str_is(op, "NotIn")) {
        if (values_count == 0)
            errors_required(v->errors, &values, "must be specified when `operator` is 'In' or 'NotIn'");
    } else if (str_is(op, "Exists") || str_is(op, "DoesNotExist")) {
        if (values_count > 0)
            errors_forbidden(v->errors, &values,
                             "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    } else if (has_order && (str_is(op, "Gt") || str_is(op, "Lt"))) {
        if (values_count != 1)
            errors_required(v->errors, &values,
                            "must be specified single value when `operator` is 'Lt' or 'Gt'");
    } else {
        errors_invalid(v->errors, &at, show_text(v->errors, op), "not a valid selector operator");
    }
}

/* A requirement of a label selector, or of a node selector, whose operators know an order too. */
static void validate_expression(struct validation *v, const struct field_path *p, json_ref expression,
                                bool has_order)
{
    struct field_path key = path_child(p, "key"), values = path_child(p, "values");
    json_ref list = json_get(v->d, expression, "values");
    uint32_t i = 0;

    validate_operator(v, p, json_get_text(v->d, expression, "operator"), json_count(v->d, list), has_order);
    validate_name(v, &key, NAME_QUALIFIED, json_get_text(v->d, expression, "key"));
    for (json_ref m = json_first(v->d, list); m; m = json_next(v->d, m)) {
        struct field_path at = path_index(&values, i++);
        validate_name(v, &at, NAME_LABEL_VALUE, json_text(v->d, m));
    }
}

static void validate_expressions(struct validation *v, const struct field_path *p, json_ref list,
                                 bool has_order)
{
    struct field_path expressions = path_child(p, "matchExpressions");
    uint32_t i = 0;

    for (json_ref m = json_first(v->d, list); m; m = json_next(v->d, m)) {
        struct field_path at = path_index(&expressions, i++);
        validate_expression(v, &at, m, has_order);
    }
}

void validate_label_selector(struct validation *v, const struct field_path *p, json_ref selector)
{
    struct field_path labels = path_child(p, "matchLabels");

    validate_labels(v, &labels, json_get(v->d, selector, "matchLabels"));
    validate_expressions(v, p, json_get(v->d, selector, "matchExpressions"), /* has_order= */ false);
}

/* The one field nodes can be chosen by is their name. */
static void validate_node_field(struct validation *v, const struct field_path *p, json_ref requirement)
{
    struct field_path key = path_child(p, "key"), op = path_child(p, "operator"),
                      values = path_child(p, "values");
    struct str name = json_get_text(v->d, requirement, "operator");
    struct str field = json_get_text(v->d, requirement, "key");
    json_ref list = json_get(v->d, requirement, "values");
    uint32_t i = 0;

    if (str_is(name, "In") || str_is(name, "NotIn")) {
        if (json_count(v->d, list) != 1)
            errors_required(
                v->errors, &values,
                "must be only one value when `operator` is 'In' or 'NotIn' for node field selector");
    } else {
        errors_invalid(v->errors, &op, show_text(v->errors, name), "not a valid selector operator");
    }
    if (!str_is(field, "metadata.name")) {
        errors_invalid(v->errors, &key, show_text(v->errors, field), "not a valid field selector key");
        return;
    }
    for (json_ref m = json_first(v->d, list); m; m = json_next(v->d, m)) {
        struct field_path at = path_index(&values, i++);
        validate_name(v, &at, NAME_DNS_SUBDOMAIN, json_text(v->d, m));
    }
}

void validate_node_selector(struct validation *v, const struct field_path *p, json_ref selector)
{
    struct field_path terms = path_child(p, "nodeSelectorTerms");
    json_ref list = json_get(v->d, selector, "nodeSelectorTerms");
    uint32_t term = 0;

    if (json_count(v->d, list) == 0)
        errors_required(v->errors, &terms, "must have at least one node selector term");
    for (json_ref t = json_first(v->d, list); t; t = json_next(v->d, t)) {
        struct field_path at = path_index(&terms, term++);
        struct field_path fields = path_child(&at, "matchFields");
        uint32_t i = 0;
        validate_expressions(v, &at, json_get(v->d, t, "matchExpressions"), /* has_order= */ true);
        for (json_ref m = json_first(v->d, json_get(v->d, t, "matchFields")); m; m = json_next(v->d, m)) {
            struct field_path each = path_index(&fields, i++);
            validate_node_field(v, &each, m);
        }
    }
}

/* --- Metadata --- */

static void validate_own_name(struct validation *v, const struct field_path *p, json_ref meta)
{
    struct field_path name_at = path_child(p, "name"), prefix_at = path_child(p, "generateName");
    struct str name = json_get_text(v->d, meta, "name");
    struct str prefix = json_get_text(v->d, meta, "generateName");
    struct name_problems problems;

    if (prefix.len && !name_check_prefix(v->kind->name_rule, prefix, &problems))
        validate_add_problems(v, &prefix_at, prefix, &problems);
    if (name.len)
        validate_name(v, &name_at, v->kind->name_rule, name);
    else
        errors_required(v->errors, &name_at, "name or generateName is required");
}

static void validate_namespace(struct validation *v, const struct field_path *p, json_ref meta)
{
    struct field_path at = path_child(p, "namespace");
    struct str ns = json_get_text(v->d, meta, "namespace");

    if (!v->kind->is_namespaced && ns.len)
        errors_forbidden(v->errors, &at, "not allowed on this type");
    else if (v->kind->is_namespaced && !ns.len)
        errors_required(v->errors, &at, "");
    else if (v->kind->is_namespaced)
        validate_name(v, &at, NAME_DNS_LABEL, ns);
}

static void validate_annotations(struct validation *v, const struct field_path *p, json_ref annotations)
{
    size_t bytes = 0;

    for (json_ref m = json_first(v->d, annotations); m; m = json_next(v->d, m)) {
        validate_name(v, p, NAME_QUALIFIED_ANY_CASE, json_key(v->d, m));
        bytes += json_key(v->d, m).len + json_text(v->d, m).len;
    }
    validate_bytes_max(v, p, bytes, ANNOTATIONS_BYTES_MAX);
}

static void validate_owner_text(struct validation *v, const struct field_path *p, json_ref owner,
                                const char *key)
{
    struct field_path at = path_child(p, key);

    if (json_get_text(v->d, owner, key).len == 0)
        errors_invalid(v->errors, &at, show_text(v->errors, STR_LIT("")), "must not be empty");
}

static void validate_owner(struct validation *v, const struct field_path *p, json_ref owner)
{
    struct field_path at = path_child(p, "apiVersion");
    struct str api_version = json_get_text(v->d, owner, "apiVersion"), version = api_version;

    (void)str_next(&version, '/'); /* the group, or all of it */
    /* "v1", or one slash with a version behind it */
    if (api_version.len == 0 || (version.s && (version.len == 0 || memchr(version.s, '/', version.len))))
        errors_invalid(v->errors, &at, show_text(v->errors, api_version), "version must not be empty");
    validate_owner_text(v, p, owner, "kind");
    validate_owner_text(v, p, owner, "name");
    validate_owner_text(v, p, owner, "uid");
}

static void validate_owners(struct validation *v, const struct field_path *p, json_ref owners)
{
    json_ref controller = 0;
    const char *shown = NULL; /* once for all errors: it is as large as the list */

    for (json_ref o = json_first(v->d, owners); o && v->errors->count < FIELD_ERRORS_COUNT_MAX;
         o = json_next(v->d, o)) {
        validate_owner(v, p, o);
        if (json_type(v->d, json_get(v->d, o, "controller")) != JSON_TRUE)
            continue;
        if (controller) {
            shown = shown ? shown : show_value(v->errors, v->d, owners);
            errors_invalid(
                v->errors, p, shown,
                errors_printf(v->errors,
                              "Only one reference can have Controller set to true. Found \"true\" in "
                              "references for %.*s and %.*s",
                              STR_ARG(json_get_text(v->d, controller, "name")),
                              STR_ARG(json_get_text(v->d, o, "name"))));
        } else {
            controller = o;
        }
    }
}

static bool json_has_text(const struct json *d, json_ref array, struct str text)
{
    for (json_ref m = json_first(d, array); m; m = json_next(d, m))
        if (str_eq(json_text(d, m), text))
            return true;
    return false;
}

static void validate_finalizers(struct validation *v, const struct field_path *p, json_ref finalizers)
{
    for (json_ref m = json_first(v->d, finalizers); m; m = json_next(v->d, m))
        validate_name(v, p, NAME_FINALIZER, json_text(v->d, m));
    if (json_has_text(v->d, finalizers, STR_LIT("orphan")) &&
        json_has_text(v->d, finalizers, STR_LIT("foregroundDeletion")))
        errors_invalid(v->errors, p, show_value(v->errors, v->d, finalizers),
                       "finalizer orphan and foregroundDeletion cannot be both set");
}

static void validate_meta(struct validation *v, const struct field_path *p, json_ref meta)
{
    struct field_path labels = path_child(p, "labels"), annotations = path_child(p, "annotations");
    struct field_path owners = path_child(p, "ownerReferences"), finalizers = path_child(p, "finalizers");
    struct field_path generation = path_child(p, "generation");
    int64_t number;

    validate_own_name(v, p, meta);
    validate_namespace(v, p, meta);
    if (json_int64(v->d, json_get(v->d, meta, "generation"), &number) && number < 0)
        errors_invalid(v->errors, &generation, errors_printf(v->errors, "%" PRId64, number),
                       "must be greater than or equal to 0");
    validate_labels(v, &labels, json_get(v->d, meta, "labels"));
    validate_annotations(v, &annotations, json_get(v->d, meta, "annotations"));
    validate_owners(v, &owners, json_get(v->d, meta, "ownerReferences"));
    validate_finalizers(v, &finalizers, json_get(v->d, meta, "finalizers"));
}

static int text_cmp(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* The texts of a list, sorted; malloc'd. NULL when there is no memory. */
static struct str *sorted_texts(const struct json *d, json_ref list)
{
    uint32_t n = 0;
    struct str *texts = calloc((size_t)json_count(d, list) + 1, sizeof *texts);

    for (json_ref m = texts ? json_first(d, list) : 0; m; m = json_next(d, m))
        texts[n++] = json_text(d, m);
    if (n > 1)
        qsort(texts, n, sizeof *texts, text_cmp);
    return texts;
}

struct sorted {
    const struct str *items;
    uint32_t count;
};

/* Adds what stands in `now` and not in `old`, each once: `"a/b", "c/d"`. What does not fit is left out. */
static void add_new_texts(struct sorted now, struct sorted old, struct buf *out)
{
    char quoted[512];
    uint32_t k = 0;

    for (uint32_t i = 0; i < now.count; i++) {
        while (k < old.count && str_cmp(old.items[k], now.items[i]) < 0)
            k++;
        if ((k < old.count && str_eq(old.items[k], now.items[i])) ||
            (i > 0 && str_eq(now.items[i - 1], now.items[i])))
            continue;
        (void)buf_addf(out, "%s%s", out->len ? ", " : "", quote(quoted, sizeof quoted, now.items[i]));
    }
}

static void find_new_texts(struct validation *v, json_ref now, json_ref old, struct buf *out)
{
    struct str *after = sorted_texts(v->d, now), *before = sorted_texts(v->d, old);

    if (after && before)
        add_new_texts((struct sorted){ after, json_count(v->d, now) },
                      (struct sorted){ before, json_count(v->d, old) }, out);
    else
        validate_no_room(v);
    free(after);
    free(before);
}

/* Finalizers may leave a deleted object, none may come. */
static void validate_new_finalizers(struct validation *v, const struct field_path *p, json_ref meta,
                                    json_ref old)
{
    _cleanup_(buf_done_p) struct buf added = BUF_INIT(4096);
    struct field_path at = path_child(p, "finalizers");

    if (!json_get(v->d, old, "deletionTimestamp"))
        return;
    find_new_texts(v, json_get(v->d, meta, "finalizers"), json_get(v->d, old, "finalizers"), &added);
    if (added.len == 0)
        return;
    errors_forbidden(
        v->errors, &at,
        errors_printf(v->errors,
                      "no new finalizers can be added if the object is being deleted, found new finalizers "
                      "[]string{%s}",
                      buf_cstr(&added)));
}

static void validate_meta_update(struct validation *v, const struct field_path *p, json_ref meta,
                                 json_ref old)
{
    static const char *const immutable[] = {
        "name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
    };

    validate_new_finalizers(v, p, meta, old);
    for (size_t i = 0; i < ARRAY_LEN(immutable); i++) {
        struct field_path at = path_child(p, immutable[i]);
        validate_immutable(v, &at, json_get(v->d, meta, immutable[i]), json_get(v->d, old, immutable[i]));
    }
}

void object_validate(struct validation *v)
{
    struct field_path p = path_child(NULL, "metadata");
    json_ref meta = json_get(v->d, v->object, "metadata");

    validate_meta(v, &p, meta);
    if (v->old)
        validate_meta_update(v, &p, meta, json_get(v->d, v->old, "metadata"));
    v->kind->validate(v);
    if (v->old)
        v->kind->validate_update(v);
    errors_check_room(v->errors);
}

/* Validation of metadata for all kinds, and object_validate(), which runs all rules. */
#include "api/validate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/quote.h"
#include "base/cleanup.h"

#define ANNOTATIONS_BYTES_MAX ((size_t)256 << 10)

static void validate_own_name(struct validation *v, const struct field_path *p, json_ref meta)
{
    struct field_path name_at = path_child(p, "name"), prefix_at = path_child(p, "generateName");
    struct str name = json_get_text(v->d, meta, "name");
    struct str prefix = json_get_text(v->d, meta, "generateName");

    if (prefix.len)
        validate_name_prefix(v, &prefix_at, v->kind->name_rule, prefix);
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

    (void)str_next(&version, '/'); /* the group, or everything */
    /* "v1", or one slash followed by a version */
    if (api_version.len == 0 || (version.s && (version.len == 0 || memchr(version.s, '/', version.len))))
        errors_invalid(v->errors, &at, show_text(v->errors, api_version), "version must not be empty");
    validate_owner_text(v, p, owner, "kind");
    validate_owner_text(v, p, owner, "name");
    validate_owner_text(v, p, owner, "uid");
}

static void validate_owners(struct validation *v, const struct field_path *p, json_ref owners)
{
    json_ref controller = 0;
    const char *shown = NULL; /* written once for all errors, because it may be large */

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

/* Names are reported at the list; those without a domain at their index, after all others, as in the API. */
static void validate_finalizers(struct validation *v, const struct field_path *p, json_ref finalizers)
{
    uint32_t i = 0;

    for (json_ref m = json_first(v->d, finalizers); m; m = json_next(v->d, m))
        validate_name(v, p, NAME_QUALIFIED, json_text(v->d, m));
    if (json_has_text(v->d, finalizers, STR_LIT("orphan")) &&
        json_has_text(v->d, finalizers, STR_LIT("foregroundDeletion")))
        errors_invalid(v->errors, p, show_value(v->errors, v->d, finalizers),
                       "finalizer orphan and foregroundDeletion cannot be both set");
    for (json_ref m = json_first(v->d, finalizers); m; m = json_next(v->d, m)) {
        struct field_path at = path_index(p, i++);
        validate_name(v, &at, NAME_FINALIZER_DOMAIN, json_text(v->d, m));
    }
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

/* The texts of a list, sorted; allocated with malloc(). NULL without memory. */
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

/* Adds the texts that are in `now` and not in `old`, each once: `"a/b", "c/d"`. Texts beyond the limit are
 * left out. */
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
        buf_addf(out, "%s%s", out->len ? ", " : "", quote_text(quoted, sizeof quoted, now.items[i]));
    }
}

static void find_new_texts(struct validation *v, json_ref now, json_ref old, struct buf *out)
{
    struct str *after = sorted_texts(v->d, now), *before = sorted_texts(v->d, old);

    if (after && before)
        add_new_texts((struct sorted){ after, json_count(v->d, now) },
                      (struct sorted){ before, json_count(v->d, old) }, out);
    else
        errors_no_room(v->errors);
    free(after);
    free(before);
}

/* Finalizers of a deleted object may be removed but not added. */
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

/* Parses and validates manifests of static pods. A manifest is untrusted: size and number are bounded, and
 * the pod is validated with the rules of the API server before an existing pod is replaced by it. */
#include "node/manifest.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "api/pod.h"
#include "api/validate.h"
#include "api/yaml.h"
#include "base/cleanup.h"
#include "base/siphash.h"
#include "host/dirs.h"
#include "host/files.h"
#include "io/file.h"

#define DOC_BYTES_MAX ((size_t)16 << 20)

/* Identifies a version of a manifest, the same on every machine; no secret seed is needed. The file name is
 * part of the hash because the pod's annotations contain it. */
static void hash_of(const char *file, struct str text, char ret[MANIFEST_HASH_BYTES])
{
    struct hash_seed seed = { siphash_hash((struct hash_seed){ 1, 2 }, str_of(file)), 3 };
    struct hash_seed other = { seed.k0, 4 };

    (void)snprintf(ret, MANIFEST_HASH_BYTES, "%016" PRIx64 "%016" PRIx64, siphash_hash(seed, text),
                   siphash_hash(other, text));
}

static int check_kind(const struct json *d, json_ref root, struct error *err)
{
    if (json_type(d, root) != JSON_OBJECT)
        return error_set(err, ERR_INVALID, "manifest is not a JSON or YAML object");
    if (!str_is(json_get_text(d, root, "kind"), "Pod") || !str_is(json_get_text(d, root, "apiVersion"), "v1"))
        return error_set(err, ERR_INVALID, "manifest is not a v1 Pod");
    if (!json_get_text(d, json_get(d, root, "metadata"), "name").len)
        return error_set(err, ERR_INVALID, "pod has no metadata.name");
    return 0;
}

/* Adds the node name and the annotations of a static pod, and removes fields that only the server may set. */
static void make_own(struct json *d, json_ref root, const char *node_name, struct pod_manifest *m)
{
    static const char *const servers[] = { "uid",        "resourceVersion", "creationTimestamp",
                                           "generation", "generateName",    "managedFields",
                                           "selfLink",   "finalizers",      "ownerReferences" };
    json_ref meta = json_ensure_object(d, root, "metadata");
    json_ref annotations = json_ensure_object(d, meta, "annotations");

    for (size_t i = 0; i < ARRAY_LEN(servers); i++)
        (void)json_remove(d, meta, servers[i]);
    (void)json_remove(d, root, "status");
    json_set_string(d, meta, "name", m->name);
    json_set_string(d, meta, "namespace", m->ns);
    json_set_string(d, annotations, ANN_CONFIG_SOURCE, CONFIG_SOURCE_FILE);
    json_set_string(d, annotations, ANN_CONFIG_HASH, m->hash);
    json_set_string(d, annotations, ANN_CONFIG_MIRROR, m->hash);
    json_set_string(d, annotations, ANN_CONFIG_FILE, m->file);
    json_set_string(d, json_ensure_object(d, root, "spec"), "nodeName", node_name);
}

/* Validates as the API server does: a running pod is not deleted for a pod that the server would reject. */
static int check_pod(struct json *d, json_ref pod, struct error *err)
{
    _cleanup_(field_errors_done_p) struct field_errors errors = FIELD_ERRORS_INIT;
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(DOC_BYTES_MAX);
    struct validation v = { .kind = &pod_kind, .d = d, .object = pod, .errors = &errors };
    int r;

    pod_kind.set_defaults(d, pod);
    pod_kind.prepare_create(d, pod, (struct timestamp){ .seconds = 1 });
    r = schema_normalize(pod_kind.schema, d, pod, SCHEMA_KEEP_UNKNOWN, /* report= */ NULL, err);
    if (r < 0)
        return r;
    object_validate(&v);
    errors_check_room(&errors);
    if (errors.count == 0)
        return json_check(d, err);
    field_errors_message(&errors, &pod_kind, json_get_text(d, json_get(d, pod, "metadata"), "name"), &text);
    return error_set(err, ERR_INVALID, "%s", text.failed ? "invalid pod" : buf_cstr(&text));
}

static int write_body(struct arena *a, struct json *d, json_ref root, struct str *ret, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(DOC_BYTES_MAX);
    const char *copy;
    int r;

    json_write(d, root, &text);
    r = buf_check(&text, "its pod", err);
    if (r < 0)
        return r;
    copy = arena_dup(a, buf_str(&text));
    if (!copy)
        return arena_check(a, err);
    *ret = (struct str){ copy, text.len };
    return 0;
}

int manifest_read(struct arena *a, const char *file, struct str text, const char *node_name,
                  struct pod_manifest *ret, struct error *err)
{
    _cleanup_(json_done_p) struct json d;
    struct pod_manifest m = { .file = file };
    struct str name, ns;
    json_ref root = 0;
    int r;

    json_init(&d, DOC_BYTES_MAX);
    r = yaml_or_json_parse(&d, text, &root, err);
    if (r == 0)
        r = check_kind(&d, root, err);
    if (r < 0)
        return r;
    hash_of(file, text, m.hash);
    name = json_get_text(&d, json_get(&d, root, "metadata"), "name");
    ns = json_get_text(&d, json_get(&d, root, "metadata"), "namespace");
    m.name = arena_printf(a, "%.*s-%s", STR_ARG(name), node_name);
    m.ns = arena_dup(a, ns.len ? ns : STR_LIT("default"));
    r = arena_check(a, err);
    if (r < 0)
        return r;
    make_own(&d, root, node_name, &m);
    r = json_check(&d, err);
    if (r == 0)
        r = schema_normalize(pod_kind.schema, &d, root, SCHEMA_KEEP_UNKNOWN, /* report= */ NULL, err);
    if (r == 0)
        r = write_body(a, &d, root, &m.body, err);
    if (r == 0)
        r = check_pod(&d, root, err);
    if (r == 0)
        *ret = m;
    return r;
}

/* --- A directory --- */

static int read_one(struct arena *a, const char *dir, const char *node_name, struct pod_manifest *m)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(MANIFEST_BYTES_MAX);
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", dir, m->file), r;

    if (n < 0 || n >= PATH_MAX)
        return error_set(&m->err, ERR_TOO_LARGE, "path is too long");
    r = io_read_file(path, MANIFEST_BYTES_MAX, &text, &m->err);
    return r < 0 ? r : manifest_read(a, m->file, buf_str(&text), node_name, m, &m->err);
}

static bool is_file(const char *dir, const char *name)
{
    enum file_kind kind = FILE_MISSING;
    struct error ignored;
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);

    return name[0] != '.' && n > 0 && n < PATH_MAX && host_file_kind(path, &kind, &ignored) == 0 &&
           kind == FILE_REGULAR;
}

static void refuse_duplicates(struct pod_manifest *all, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i && all[i].r == 0; k++)
            if (all[k].r == 0 && strcmp(all[i].name, all[k].name) == 0 && strcmp(all[i].ns, all[k].ns) == 0)
                all[i].r = error_set(&all[i].err, ERR_EXISTS, "manifest '%s' defines a pod of the same name",
                                     all[k].file);
}

int manifest_read_dir(struct arena *a, const char *dir, const char *node_name, struct pod_manifest **ret,
                      size_t *ret_count, struct error *err)
{
    struct texts names = { 0 };
    struct pod_manifest *all;
    size_t count = 0;
    int r = host_list_dir(dir, a, MANIFESTS_MAX, &names, err);

    if (r < 0)
        return r;
    all = arena_array(a, names.count, sizeof *all);
    for (uint32_t i = 0; all && i < names.count; i++) {
        struct pod_manifest *m = &all[count];

        if (!is_file(dir, names.items[i]))
            continue;
        m->file = names.items[i];
        m->r = read_one(a, dir, node_name, m);
        if (m->r == -ERR_NOT_FOUND)
            continue; /* removed since it was listed */
        count++;
    }
    r = arena_check(a, err);
    if (r < 0)
        return r;
    refuse_duplicates(all, count);
    *ret = all;
    *ret_count = count;
    return 0;
}

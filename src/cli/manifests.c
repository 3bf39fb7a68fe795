/* Reads manifests from files, directories and standard input, and checks kind, name and namespace of each
 * object. */
#include "cli/manifests.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "api/yaml.h"
#include "cli/cli.h"
#include "cli/suggest.h"
#include "host/dirs.h"
#include "io/file.h"
#include "io/path.h"

#define ARENA_BYTES_MAX ((size_t)64 << 20)
/* From this number on a progress bar is shown. */
#define MANIFESTS_MANY 50

/* Letters that may be missing at the end of a kind's name. */
#define KIND_REST_MAX 2
/* Longer names are not quoted in errors. */
#define KIND_BYTES_MAX 128

struct reading {
    const struct manifest_settings *which;
    const struct session *session;
    struct manifests *m;
    unsigned files;
    struct error *err;
};

/* --- One object --- */

static int set_namespace(struct reading *reading, struct manifest *one)
{
    struct json *d = &reading->m->doc;
    json_ref meta = json_ensure_object(d, one->object, "metadata");
    struct str given = json_get_text(d, meta, "namespace");

    one->ns = "";
    if (!one->kind->is_namespaced)
        return 0;
    if (given.len == 0) {
        json_set_string(d, meta, "namespace", reading->session->ns);
        one->ns = reading->session->ns;
        return json_check(d, reading->err);
    }
    if (reading->session->was_ns_given && !str_is(given, reading->session->ns))
        return error_set(reading->err, ERR_INVALID,
                         "the namespace from the provided object \"%.*s\" does not match the namespace "
                         "\"%s\". You must pass '--namespace=%.*s' to perform this operation.",
                         STR_ARG(given), reading->session->ns, STR_ARG(given));
    one->ns = arena_dup(&reading->m->arena, given);
    return one->ns ? 0 : arena_check(&reading->m->arena, reading->err);
}

/* The kind of that name, or the closest one for a misspelt name; NULL for none. */
static const struct kind_info *nearest_kind(struct str name)
{
    char typed[SUGGEST_BYTES_MAX + 1];
    struct suggestion s = { .typed = typed };
    const struct kind_info *found = NULL;

    if (name.len >= sizeof typed)
        return NULL;
    (void)snprintf(typed, sizeof typed, "%.*s", STR_ARG(name));
    for (unsigned i = 0; i < KIND_COUNT; i++) {
        const struct kind_info *k = kind_info((enum kind)i);

        if (strncmp(k->name, typed, name.len) == 0 && strlen(k->name) > name.len + KIND_REST_MAX)
            continue; /* a Service is not a misspelt ServiceAccount */
        suggestion_consider(&s, k->name);
        if (s.best == k->name)
            found = k;
    }
    return found;
}

/* The error for a kind that Berth does not serve; NULL when memory is short. */
static const char *word_unknown(struct reading *reading, json_ref v, const char *source)
{
    static const char *const pod_makers[] = { "Deployment", "StatefulSet",           "DaemonSet",
                                              "ReplicaSet", "ReplicationController", "Job",
                                              "CronJob" };
    _cleanup_(buf_done_p) struct buf plural = BUF_INIT(KIND_BYTES_MAX);
    struct str kind = json_get_text(&reading->m->doc, v, "kind");
    struct str version = json_get_text(&reading->m->doc, v, "apiVersion");
    const struct kind_info *near = nearest_kind(kind);
    bool is_y = str_has_suffix(kind, "y");

    if (near)
        return arena_printf(&reading->m->arena,
                            "%s: no matches for kind \"%.*s\" in version \"%.*s\": did you mean kind %s, "
                            "apiVersion %s%s%s?",
                            source, STR_ARG(kind), STR_ARG(version), near->name, near->group,
                            near->group[0] ? "/" : "", near->version);
    /* "Deployments", "Ingresses", "NetworkPolicies" */
    buf_add_str(&plural, (struct str){ kind.s, kind.len - (is_y ? 1 : 0) });
    buf_add_cstr(&plural, is_y ? "ies" : str_has_suffix(kind, "s") ? "es" : "s");
    return arena_printf(
        &reading->m->arena,
        "%s: Berth has no %s: it serves storage, pods and nodes ('berth help get' lists the "
        "kinds)%s",
        source, plural.failed ? "such kind" : buf_cstr(&plural),
        name_index(kind, pod_makers, (int)ARRAY_LEN(pod_makers), -1) >= 0 ? "; apply the Pod itself" : "");
}

static int add_object(struct reading *reading, json_ref v, const char *source)
{
    struct json *d = &reading->m->doc;
    struct manifest one = { .object = v, .source = source };
    json_ref meta = json_get(d, v, "metadata");
    const char *unknown;
    int r;

    one.kind = kind_by_api_version(json_get_text(d, v, "apiVersion"), json_get_text(d, v, "kind"));
    if (!one.kind) { /* it is reported, and the others are used, as kubectl does */
        unknown = word_unknown(reading, v, source);
        if (!unknown)
            return arena_check(&reading->m->arena, reading->err);
        return vec_push(&reading->m->unknown, unknown) < 0 ? error_no_memory(reading->err) : 0;
    }
    one.name = arena_dup(&reading->m->arena, json_get_text(d, meta, "name"));
    if (!one.name)
        return arena_check(&reading->m->arena, reading->err);
    if (!one.name[0] && json_get_text(d, meta, "generateName").len == 0)
        return error_set(reading->err, ERR_INVALID, "error in \"%s\": resource name may not be empty",
                         source);
    r = set_namespace(reading, &one);
    if (r < 0)
        return r;
    return vec_push(&reading->m->items, one) < 0 ? error_no_memory(reading->err) : 0;
}

/* An object, or the objects of a List. */
static int add_document(struct reading *reading, json_ref v, const char *source)
{
    struct json *d = &reading->m->doc;
    struct str kind = json_get_text(d, v, "kind");
    json_ref items = json_get(d, v, "items");
    int r = 0;

    if (json_type(d, v) != JSON_OBJECT || kind.len == 0)
        return error_set(reading->err, ERR_INVALID, "error parsing %s: Object 'Kind' is missing", source);
    if (!str_has_suffix(kind, "List") || json_type(d, items) != JSON_ARRAY)
        return add_object(reading, v, source);
    for (json_ref item = json_first(d, items); item && r == 0; item = json_first(d, items)) {
        json_unlink(d, item);
        if (json_type(d, item) != JSON_OBJECT)
            return error_set(reading->err, ERR_INVALID,
                             "error parsing %s: an item of the List is not an object", source);
        r = add_object(reading, item, source);
    }
    return r;
}

/* --- Files --- */

static int read_text(struct reading *reading, struct str text, const char *source)
{
    _cleanup_(yaml_reader_free_p) struct yaml_reader *reader = NULL;
    struct yaml_doc doc;
    int r = yaml_reader_new(text, &reader, reading->err);

    while (r >= 0) {
        r = yaml_reader_next(reader, &reading->m->doc, &doc, reading->err);
        if (r == 0)
            return 0;
        if (r < 0)
            return error_wrap(reading->err, "error parsing %s", source);
        r = add_document(reading, doc.root, source);
    }
    return r;
}

/* source: its name in messages. */
static int read_file(struct reading *reading, const char *path, const char *source)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(MANIFEST_BYTES_MAX);
    const char *kept = arena_dup(&reading->m->arena, str_of(source));
    int r;

    if (!kept)
        return arena_check(&reading->m->arena, reading->err);
    if (++reading->files > MANIFEST_FILES_MAX)
        return error_set(reading->err, ERR_TOO_LARGE, "more than %d files", MANIFEST_FILES_MAX);
    r = io_read_file(path, MANIFEST_BYTES_MAX, &text, reading->err);
    return r < 0 ? r : read_text(reading, buf_str(&text), kept);
}

bool manifest_is_file_name(const char *name)
{
    struct str s = str_of(name);

    return str_has_suffix(s, ".yaml") || str_has_suffix(s, ".yml") || str_has_suffix(s, ".json");
}

static int read_dir(struct reading *reading, const char *path, const struct texts *names, unsigned depth);

static int read_entry(struct reading *reading, const char *path, const char *name, unsigned depth)
{
    char below[PATH_MAX];
    struct texts names;
    struct error ignored;
    int n = snprintf(below, sizeof below, "%s/%s", path, name);

    if (n < 0 || (size_t)n >= sizeof below)
        return error_set(reading->err, ERR_TOO_LARGE, "the path '%s/%s' is too long", path, name);
    if (host_list_dir(below, &reading->m->arena, MANIFEST_FILES_MAX, &names, &ignored) == 0)
        return reading->which->is_recursive ? read_dir(reading, below, &names, depth + 1) : 0;
    return manifest_is_file_name(name) ? read_file(reading, below, below) : 0;
}

static int read_dir(struct reading *reading, const char *path, const struct texts *names, unsigned depth)
{
    int r = 0;

    if (depth > MANIFEST_DEPTH_MAX)
        return error_set(reading->err, ERR_TOO_LARGE, "directory '%s' is nested more than %d levels deep",
                         path, MANIFEST_DEPTH_MAX);
    for (uint32_t i = 0; i < names->count && r == 0; i++)
        r = read_entry(reading, path, names->items[i], depth);
    return r;
}

static int read_named(struct reading *reading, const char *path)
{
    struct texts names;
    struct error ignored;
    bool is_there = false;

    if (strcmp(path, "-") == 0)
        return read_file(reading, "/dev/stdin", "STDIN");
    if (strncmp(path, "http://", 7) == 0 || strncmp(path, "https://", 8) == 0)
        return error_set(reading->err, ERR_UNSUPPORTED,
                         "\"%s\" is a URL: berth only reads files. Download and review it first, then "
                         "specify the file, or - for standard input",
                         path);
    if (host_list_dir(path, &reading->m->arena, MANIFEST_FILES_MAX, &names, &ignored) == 0)
        return read_dir(reading, path, &names, /* depth= */ 0);
    if (io_exists(path, &is_there, reading->err) == 0 && !is_there)
        return error_set(reading->err, ERR_NOT_FOUND, "the path \"%s\" does not exist", path);
    return read_file(reading, path, path);
}

int manifests_read(const struct manifest_settings *which, const struct session *s, struct manifests *ret,
                   struct error *err)
{
    struct reading x = { .which = which, .session = s, .m = ret, .err = err };
    int r = 0;

    json_init(&ret->doc, SESSION_BYTES_MAX);
    ret->arena = ARENA_INIT(ARENA_BYTES_MAX);
    for (size_t i = 0; i < which->files.count && r == 0; i++)
        r = read_named(&x, which->files.items[i]);
    if (r < 0 || ret->items.count)
        return r;
    return ret->unknown.count ? manifests_check_kinds(ret, err)
                              : error_set(err, ERR_INVALID, "no objects passed");
}

int manifests_complain(const struct manifests *m)
{
    int status = CLI_OK;

    for (size_t i = 0; i < m->unknown.count; i++)
        status = session_complain("%s", m->unknown.items[i]);
    return status;
}

int manifests_check_kinds(const struct manifests *m, struct error *err)
{
    return m->unknown.count ? error_set(err, ERR_UNSUPPORTED, "%s", m->unknown.items[0]) : 0;
}

void manifests_done(struct manifests *m)
{
    json_done(&m->doc);
    vec_done(&m->items);
    vec_done(&m->unknown);
    arena_done(&m->arena);
}

void manifests_progress_begin(struct progress_bar *p, struct session *s, const char *verb)
{
    const struct progress_work work = {
        .label = verb, .kind = PROGRESS_THINGS, .total_min = MANIFESTS_MANY, .is_terminal_only = true
    };

    progress_begin(p, progress_stderr(), &work);
    s->progress = p;
}

/* Parses and merges kubeconfig files. Messages that kubectl has too are word for word the same. The size of a
 * file and the number of files are bounded. */
#include "client/kubeconfig.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "api/quote.h"
#include "api/yaml.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "client/error_list.h"
#include "io/file.h"
#include "io/path.h"

#define QUOTED_BYTES 256
#define LISTING_BYTES_MAX ((size_t)4 << 20)

static const struct {
    const char *plural;
    const char *singular; /* also the member with an entry's body */
} lists[] = {
    [KUBECONFIG_CLUSTERS] = { "clusters", "cluster" },
    [KUBECONFIG_USERS] = { "users", "user" },
    [KUBECONFIG_CONTEXTS] = { "contexts", "context" },
};
static_assert(ARRAY_LEN(lists) == KUBECONFIG_LIST_COUNT, "name every list");

const char *kubeconfig_list_singular(enum kubeconfig_list list)
{
    return lists[list].singular;
}

/* --- One text --- */

static int check_type(const struct json *d, json_ref v, enum json_type expected, struct error *err)
{
    _cleanup_(buf_done_p) struct buf path = BUF_INIT(1024);
    enum json_type type = json_type(d, v);

    if (type == JSON_NONE || type == JSON_NULL || type == expected) /* null means the same as absent */
        return 0;
    json_path_text(d, v, &path);
    return error_set(err, ERR_INVALID, "%s: expected %s, found %s", path.len ? buf_cstr(&path) : "the file",
                     json_type_name(expected), json_type_name(type));
}

/* [{name: ..., cluster: {...}}, ...] */
static int check_list(const struct json *d, json_ref root, enum kubeconfig_list list, struct error *err)
{
    json_ref items = json_get(d, root, lists[list].plural);
    int r = check_type(d, items, JSON_ARRAY, err);

    for (json_ref item = json_first(d, items); item && r == 0; item = json_next(d, item)) {
        r = check_type(d, item, JSON_OBJECT, err);
        if (r == 0)
            r = check_type(d, json_get(d, item, "name"), JSON_STRING, err);
        if (r == 0)
            r = check_type(d, json_get(d, item, lists[list].singular), JSON_OBJECT, err);
    }
    return r;
}

/* A file of another kind is most likely the wrong file. A file without a kind is accepted. */
static int check_header(const struct json *d, json_ref root, struct error *err)
{
    static const char *const rows[][2] = { { "apiVersion", "v1" }, { "kind", "Config" } };
    char quoted[QUOTED_BYTES];

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        json_ref v = json_get(d, root, rows[i][0]);
        int r = check_type(d, v, JSON_STRING, err);
        if (r < 0)
            return r;
        if (json_text(d, v).len && !json_is_string(d, v, rows[i][1]))
            return error_set(err, ERR_INVALID, "%s: expected \"%s\", found %s", rows[i][0], rows[i][1],
                             quote_text(quoted, sizeof quoted, json_text(d, v)));
    }
    return 0;
}

static int check_shape(const struct json *d, json_ref root, struct error *err)
{
    int r = check_type(d, root, JSON_OBJECT, err);

    if (r == 0)
        r = check_header(d, root, err);
    for (int list = 0; list < KUBECONFIG_LIST_COUNT && r == 0; list++)
        r = check_list(d, root, (enum kubeconfig_list)list, err);
    if (r == 0)
        r = check_type(d, json_get(d, root, "current-context"), JSON_STRING, err);
    return r;
}

/* Leaves *ret at 0 for a text without a document, which is an empty config. */
static int parse_document(struct json *d, struct str text, json_ref *ret, struct error *err)
{
    _cleanup_(yaml_reader_free_p) struct yaml_reader *reader = NULL;
    struct yaml_doc doc = { 0 }, more;
    int r = yaml_reader_new(text, &reader, err);

    if (r == 0)
        r = yaml_reader_next(reader, d, &doc, err);
    if (r > 0)
        r = yaml_reader_next(reader, d, &more, err);
    if (r > 0)
        return error_set(err, ERR_INVALID, "line %u: unexpected second document", more.line);
    if (r == 0)
        *ret = doc.root;
    return r;
}

static void file_done(struct kubeconfig_file *f)
{
    json_done(&f->doc);
    free(f->path);
}

static int file_fill(struct kubeconfig_file *f, const char *path, struct str text, struct error *err)
{
    int r;

    f->path = strdup(path);
    if (!f->path)
        return error_no_memory(err);
    r = parse_document(&f->doc, text, &f->root, err);
    return r < 0 ? r : check_shape(&f->doc, f->root, err);
}

int kubeconfigs_add(struct kubeconfigs *k, const char *path, struct str text, struct error *err)
{
    struct kubeconfig_file *f;
    int r;

    assert(path[0] == '/');
    if (vec_reserve(&k->files, 1) < 0)
        return error_no_memory(err);
    f = &k->files.items[k->files.count];
    *f = (struct kubeconfig_file){ 0 };
    json_init(&f->doc, KUBECONFIG_FILE_BYTES_MAX);
    r = file_fill(f, path, text, err);
    if (r < 0)
        file_done(f);
    else
        k->files.count++;
    return r;
}

void kubeconfigs_done(struct kubeconfigs *k)
{
    for (size_t i = 0; i < k->files.count; i++)
        file_done(&k->files.items[i]);
    vec_done(&k->files);
}

/* --- Files --- */

int kubeconfig_read_file(const char *path, struct buf *ret, struct error *err)
{
    int r = io_read_file(path, KUBECONFIG_FILE_BYTES_MAX, ret, err);

    if (r == -ERR_NOT_FOUND)
        return error_set(err, ERR_NOT_FOUND, "open %s: no such file or directory", path);
    if (r == -ERR_DENIED)
        return error_set(err, ERR_DENIED, "open %s: permission denied", path);
    return r;
}

static int read_one(struct kubeconfigs *k, const char *path, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(0);
    char absolute[PATH_MAX];
    int r = kubeconfig_read_file(path, &text, err);

    if (r == 0)
        r = io_absolute(path, absolute, err);
    if (r == 0)
        r = kubeconfigs_add(k, absolute, buf_str(&text), err);
    return r;
}

int kubeconfigs_read_named(struct kubeconfigs *k, const char *path, struct error *err)
{
    int r = read_one(k, path, err);

    if (r == -ERR_NOT_FOUND)
        return error_set(err, ERR_NOT_FOUND, "stat %s: no such file or directory", path);
    return r < 0 ? error_wrap(err, "error loading config file \"%s\"", path) : 0;
}

int kubeconfigs_read_if_there(struct kubeconfigs *k, const char *path, struct error *err)
{
    struct error why;
    int r = read_one(k, path, &why);

    if (r == 0 || r == -ERR_NOT_FOUND)
        return 0;
    (void)error_pass(err, &why);
    return error_wrap(err, "error loading config file \"%s\"", path);
}

struct listing {
    const char *paths[KUBECONFIG_FILES_MAX];
    size_t count;
};

static bool listing_has(const struct listing *l, struct str path)
{
    for (size_t i = 0; i < l->count; i++)
        if (str_is(path, l->paths[i]))
            return true;
    return false;
}

/* Splits at ':'; each path once, at its first position. */
static int listing_split(const char *text, struct arena *a, struct listing *l, struct error *err)
{
    struct str rest = str_of(text);

    while (rest.s) {
        struct str path = str_next(&rest, ':');
        if (path.len == 0 || listing_has(l, path))
            continue;
        if (l->count == KUBECONFIG_FILES_MAX)
            return error_set(err, ERR_TOO_LARGE, "KUBECONFIG lists more than %d files", KUBECONFIG_FILES_MAX);
        l->paths[l->count] = arena_dup(a, path);
        if (!l->paths[l->count])
            break;
        l->count++;
    }
    return arena_check(a, err);
}

static void warn_of_missing(const struct listing *l)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(LOG_LINE_BYTES_MAX);

    for (size_t i = 0; i < l->count; i++)
        buf_addf(&text, "%s%s", i == 0 ? "Config not found: " : ", ", l->paths[i]);
    log_warn(text.failed ? "Config not found" : buf_cstr(&text));
}

int kubeconfigs_read_listed(struct kubeconfigs *k, const char *paths, struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(LISTING_BYTES_MAX);
    struct listing l = { 0 };
    struct error_list bad = { 0 };
    size_t missing = 0;
    int r = listing_split(paths, &a, &l, err);

    if (r < 0)
        return r;
    for (size_t i = 0; i < l.count; i++) {
        struct error why = { 0 };
        r = read_one(k, l.paths[i], &why);
        if (r == -ERR_NO_MEMORY)
            return error_no_memory(err);
        if (r == -ERR_NOT_FOUND)
            missing++;
        else if (r < 0)
            error_list_add(&bad, "error loading config file \"%s\": %s", l.paths[i], why.msg);
    }
    if (l.count > 0 && missing == l.count)
        warn_of_missing(&l);
    return error_list_check(&bad, "", err);
}

/* --- Queries --- */

struct str kubeconfigs_current_context(const struct kubeconfigs *k)
{
    for (size_t i = 0; i < k->files.count; i++) {
        const struct kubeconfig_file *f = &k->files.items[i];
        struct str name = json_get_text(&f->doc, f->root, "current-context");
        if (name.len)
            return name;
    }
    return STR_LIT("");
}

static int find_in_file(const struct kubeconfig_file *f, enum kubeconfig_list list, struct str name,
                        struct kubeconfig_entry *ret, struct error *err)
{
    const struct json *d = &f->doc;
    char quoted[QUOTED_BYTES];
    json_ref found = 0, item;

    for (item = json_first(d, json_get(d, f->root, lists[list].plural)); item; item = json_next(d, item)) {
        if (!str_eq(json_get_text(d, item, "name"), name))
            continue;
        if (found)
            return error_set(err, ERR_INVALID, "error loading config file \"%s\": duplicate name %s in %s",
                             f->path, quote_text(quoted, sizeof quoted, name), lists[list].plural);
        found = item;
    }
    if (!found)
        return 0;
    *ret = (struct kubeconfig_entry){ .file = f,
                                      .body = json_get(d, found, lists[list].singular),
                                      .list = list,
                                      .name = json_get_text(d, found, "name") };
    return 1;
}

int kubeconfigs_find(const struct kubeconfigs *k, enum kubeconfig_list list, struct str name,
                     struct kubeconfig_entry *ret, struct error *err)
{
    int r = 0;

    for (size_t i = 0; i < k->files.count && r == 0; i++)
        r = find_in_file(&k->files.items[i], list, name, ret, err);
    return r;
}

const char *kubeconfig_resolve(const struct kubeconfig_file *f, struct str path, struct arena *a)
{
    const char *slash = strrchr(f->path, '/');

    assert(slash);
    if (str_has_prefix(path, "/"))
        return arena_dup(a, path);
    return arena_printf(a, "%.*s/%.*s", (int)(slash - f->path), f->path, STR_ARG(path));
}

/* Reads the section `provisioners` of a configuration file into provisioner_settings.
 *
 * Unknown keys are errors. The first error sticks in the section and names its place; later reads return
 * defaults. */
#include "daemon/provisioners.h"

#include <limits.h>
#include <string.h>

#include "base/clock.h"
#include "host/safe_path.h"
#include "io/env.h"

#define TEXTS_BYTES_MAX ((size_t)4 << 20)
#define RESYNC_DEFAULT_NS (300 * NS_PER_S)
#define RESYNC_MIN_NS NS_PER_S

/* A section being read, and its name in errors. */
struct section {
    const struct json *d;
    json_ref at;
    struct arena *arena;
    const char *place; /* in the arena */
    struct error *err;
    int r;
};

static void section_fail(struct section *s, const char *key, const char *what)
{
    if (s->r == 0)
        s->r = error_set(s->err, ERR_INVALID, "%s%s%s: %s", s->place, key[0] ? "." : "", key, what);
}

static const char *section_keep(struct section *s, struct str text)
{
    const char *kept = arena_dup(s->arena, text);

    if (!kept && s->r == 0)
        s->r = error_no_memory(s->err);
    return kept ? kept : "";
}

static void section_enter(struct section *s, const struct section *up, json_ref at, const char *key,
                          int index)
{
    *s = *up;
    s->at = at;
    s->place = index >= 0 ? arena_printf(s->arena, "%s.%s[%d]", up->place, key, index)
                          : arena_printf(s->arena, "%s.%s", up->place, key);
    if (!s->place) {
        s->place = "";
        s->r = error_no_memory(s->err);
    }
    if (s->r == 0 && json_type(s->d, at) != JSON_OBJECT)
        section_fail(s, "", "must be a map of settings");
}

/* Any other key is an error. */
static void check_keys(struct section *s, const char *const *keys)
{
    for (json_ref m = json_first(s->d, s->at); m && s->r == 0; m = json_next(s->d, m)) {
        const char *key = section_keep(s, json_key(s->d, m));
        const char *const *k = keys;

        while (*k && strcmp(*k, key) != 0)
            k++;
        if (!*k)
            section_fail(s, key, "unknown setting");
    }
}

static const char *read_text(struct section *s, const char *key, const char *fallback)
{
    json_ref v = json_get(s->d, s->at, key);

    if (!v || s->r < 0 || json_type(s->d, v) == JSON_NULL)
        return fallback;
    if (json_type(s->d, v) != JSON_STRING)
        section_fail(s, key, "must be a string");
    return s->r == 0 ? section_keep(s, json_text(s->d, v)) : fallback;
}

static bool read_bool_or(struct section *s, const char *key, bool fallback)
{
    json_ref v = json_get(s->d, s->at, key);

    if (!v || s->r < 0)
        return fallback;
    if (json_type(s->d, v) != JSON_TRUE && json_type(s->d, v) != JSON_FALSE)
        section_fail(s, key, "must be true or false");
    return json_type(s->d, v) == JSON_TRUE;
}

static bool read_bool(struct section *s, const char *key)
{
    return read_bool_or(s, key, /* fallback= */ false);
}

static struct texts read_texts(struct section *s, const char *key)
{
    json_ref v = json_get(s->d, s->at, key);
    uint32_t count = v ? json_count(s->d, v) : 0, i = 0;
    const char **items;

    if (!v || s->r < 0)
        return (struct texts){ 0 };
    if (json_type(s->d, v) != JSON_ARRAY)
        section_fail(s, key, "must be a list");
    items = arena_array(s->arena, count, sizeof *items);
    for (json_ref t = json_first(s->d, v); t && items && s->r == 0; t = json_next(s->d, t)) {
        if (json_type(s->d, t) != JSON_STRING)
            section_fail(s, key, "must be a list of strings");
        items[i++] = section_keep(s, json_text(s->d, t));
    }
    return (struct texts){ items, s->r == 0 && items ? count : 0 };
}

static struct kvs read_pairs(struct section *s, const char *key)
{
    json_ref v = json_get(s->d, s->at, key);
    uint32_t count = v ? json_count(s->d, v) : 0, i = 0;
    struct kv *items;

    if (!v || s->r < 0)
        return (struct kvs){ 0 };
    if (json_type(s->d, v) != JSON_OBJECT)
        section_fail(s, key, "must be a map");
    items = arena_array(s->arena, count, sizeof *items);
    for (json_ref m = json_first(s->d, v); m && items && s->r == 0; m = json_next(s->d, m)) {
        if (json_type(s->d, m) != JSON_STRING)
            section_fail(s, key, "must be a map of strings");
        items[i++] = (struct kv){ section_keep(s, json_key(s->d, m)), section_keep(s, json_text(s->d, m)) };
    }
    if (s->r < 0 || !items)
        return (struct kvs){ 0 };
    kv_sort(items, count);
    return (struct kvs){ items, count };
}

/* An absolute path, cleaned. */
static const char *clean_path(struct section *s, const char *key, const char *given)
{
    char clean[PATH_MAX];
    struct error e;

    if (s->r < 0)
        return given;
    if (host_clean_path(given, clean, &e) < 0) {
        section_fail(s, key, e.msg);
        return given;
    }
    return section_keep(s, str_of(clean));
}

/* "1h30m", "5m", "90s" */
static uint64_t read_duration(struct section *s, const char *key, uint64_t fallback_ns)
{
    const char *given = read_text(s, key, NULL);
    uint64_t total_s = 0, number = 0;
    bool has_digits = false, has_unit = false;

    for (const char *c = given; c && *c && s->r == 0; c++) {
        uint64_t unit_s = *c == 'h' ? 3600 : *c == 'm' ? 60 : *c == 's' ? 1 : 0;

        if (*c >= '0' && *c <= '9' && number < 1000000) {
            number = number * 10 + (uint64_t)(*c - '0');
            has_digits = true;
        } else if (unit_s && has_digits) {
            total_s += number * unit_s;
            number = 0;
            has_digits = false;
            has_unit = true;
        } else {
            section_fail(s, key, "must be a duration such as 5m or 1h30m");
        }
    }
    if (given && (has_digits || !has_unit || total_s * NS_PER_S < RESYNC_MIN_NS))
        section_fail(s, key, "must be a duration such as 5m or 1h30m");
    return given ? total_s * NS_PER_S : fallback_ns;
}

/* --- nfsSubdir --- */

static const char *or_variable(struct section *s, const char *key, const char *variable, const char *words)
{
    const char *value = read_text(s, key, "");

    if (s->r == 0 && value[0] == '\0')
        value = io_env(variable) ? io_env(variable) : "";
    if (s->r == 0 && value[0] == '\0')
        section_fail(s, key, words);
    return s->r == 0 ? section_keep(s, str_of(value)) : "";
}

static void read_nfs(struct section *s, struct nfs_settings *n)
{
    static const char *const keys[] = { "name", "server", "path", "mountDir", "requireMount", NULL };

    check_keys(s, keys);
    n->export.server = or_variable(s, "server", "NFS_SERVER", "NFS_SERVER not set");
    n->export.path = clean_path(s, "path", or_variable(s, "path", "NFS_PATH", "NFS_PATH not set"));
    n->name = or_variable(s, "name", "PROVISIONER_NAME",
                          "environment variable PROVISIONER_NAME is not set! Please set it.");
    n->export.mount_dir = clean_path(s, "mountDir", read_text(s, "mountDir", NFS_SUBDIR_MOUNT_DIR));
    n->export.may_be_plain = !read_bool_or(s, "requireMount", /* fallback= */ true);
}

static void read_all_nfs(struct section *s, json_ref list, struct provisioner_settings *ret)
{
    if (json_type(s->d, list) != JSON_ARRAY || json_count(s->d, list) > PROVISIONERS_NFS_MAX)
        section_fail(s, "nfsSubdir", "must be a list of at most 16 provisioners");
    for (json_ref m = json_first(s->d, list); m && s->r == 0; m = json_next(s->d, m)) {
        struct nfs_settings *n = &ret->nfs[ret->nfs_count];
        struct section item;

        section_enter(&item, s, m, "nfsSubdir", (int)ret->nfs_count);
        read_nfs(&item, n);
        for (unsigned i = 0; i < ret->nfs_count && item.r == 0; i++)
            if (strcmp(ret->nfs[i].name, n->name) == 0)
                section_fail(&item, "name", "is used by an earlier entry");
        ret->nfs_count++;
        s->r = item.r;
    }
}

/* --- local --- */

static const char *one_of(struct section *s, const char *key, const char *fallback, const char *const *names,
                          int *ret_index)
{
    const char *value = read_text(s, key, fallback);

    for (int i = 0; names[i]; i++)
        if (strcmp(value, names[i]) == 0) {
            *ret_index = i;
            return names[i];
        }
    section_fail(s, key, "unknown mode");
    return fallback;
}

static const char *read_selector(struct section *s)
{
    json_ref terms = json_get(s->d, s->at, "selector");
    struct buf out = BUF_INIT(TEXTS_BYTES_MAX);
    const char *kept = "";

    if (!terms || s->r < 0)
        return "";
    if (json_type(s->d, terms) != JSON_ARRAY)
        section_fail(s, "selector", "must be a list of node selector terms");
    for (json_ref t = json_first(s->d, terms); t && s->r == 0; t = json_next(s->d, t)) {
        buf_add_cstr(&out, out.len ? "," : "");
        json_write(s->d, t, &out);
    }
    if (s->r == 0)
        s->r = buf_check(&out, "selector", s->err);
    if (s->r == 0)
        kept = section_keep(s, buf_str(&out));
    buf_done(&out);
    return kept;
}

static void read_class(struct section *s, struct local_class *k)
{
    static const char *const keys[] = { "hostDir",     "mountDir",   "blockCleanerCommand",
                                        "volumeMode",  "accessMode", "fsType",
                                        "namePattern", "selector",   NULL };
    const char *host_dir = read_text(s, "hostDir", "");
    int index = 0;

    check_keys(s, keys);
    k->host_dir = clean_path(s, "hostDir", host_dir);
    k->mount_dir = clean_path(s, "mountDir", read_text(s, "mountDir", host_dir));
    k->cleaner = read_texts(s, "blockCleanerCommand");
    (void)one_of(s, "volumeMode", "Filesystem", volume_mode_names, &index);
    k->mode = (enum volume_mode)index;
    k->access_mode = one_of(s, "accessMode", "ReadWriteOnce", access_mode_names, &index);
    k->fs_type = read_text(s, "fsType", "");
    k->name_pattern = read_text(s, "namePattern", "*");
    k->selector = read_selector(s);
}

static void read_classes(struct section *s, struct local_config *ret)
{
    struct section map;
    struct local_class *classes;
    uint32_t i = 0;

    section_enter(&map, s, json_get(s->d, s->at, "storageClassMap"), "storageClassMap", -1);
    classes = arena_array(s->arena, json_count(s->d, map.at), sizeof *classes);
    if (!classes && map.r == 0)
        section_fail(&map, "", "must have at least one class");
    for (json_ref m = json_first(s->d, map.at); m && classes && map.r == 0; m = json_next(s->d, m), i++) {
        struct section item;

        classes[i].name = section_keep(&map, json_key(s->d, m));
        section_enter(&item, &map, m, classes[i].name, -1);
        read_class(&item, &classes[i]);
        map.r = item.r;
    }
    ret->classes = classes;
    ret->classes_count = i;
    s->r = map.r;
}

static void read_local(struct section *s, struct local_config *ret)
{
    static const char *const keys[] = { "storageClassMap",
                                        "nodeLabelsForPV",
                                        "labelsForPV",
                                        "useNodeNameOnly",
                                        "setPVOwnerRef",
                                        "minResyncPeriod",
                                        "useJobForCleaning",
                                        "useAlphaAPI",
                                        "removeNodeNotReadyTaint",
                                        "provisionerNotReadyNodeTaintKey",
                                        NULL };

    check_keys(s, keys);
    if (read_bool(s, "useJobForCleaning"))
        section_fail(s, "useJobForCleaning", "not supported: volumes are cleaned in this process");
    if (read_bool(s, "useAlphaAPI"))
        section_fail(s, "useAlphaAPI", "not supported: Kubernetes has removed this API");
    ret->node_labels = read_texts(s, "nodeLabelsForPV");
    ret->labels = read_pairs(s, "labelsForPV");
    ret->uses_node_name_only = read_bool(s, "useNodeNameOnly");
    ret->sets_owner = read_bool(s, "setPVOwnerRef");
    ret->resync_min_ns = read_duration(s, "minResyncPeriod", RESYNC_DEFAULT_NS);
    if (read_bool(s, "removeNodeNotReadyTaint")) {
        ret->ready_taint = read_text(s, "provisionerNotReadyNodeTaintKey", "");
        if (s->r == 0 && ret->ready_taint[0] == '\0')
            section_fail(s, "provisionerNotReadyNodeTaintKey", "required by removeNodeNotReadyTaint");
    }
    if (s->r == 0)
        read_classes(s, ret);
}

/* --- Both --- */

int provisioners_read(const struct json *d, json_ref section, struct provisioner_settings *ret,
                      struct error *err)
{
    static const char *const keys[] = { "nfsSubdir", "local", NULL };
    struct section s = { .d = d, .at = section, .arena = &ret->arena, .place = "provisioners", .err = err };
    json_ref nfs, local;

    *ret = (struct provisioner_settings){ .arena = ARENA_INIT(TEXTS_BYTES_MAX) };
    if (json_type(d, section) != JSON_OBJECT)
        section_fail(&s, "", "must be a map of settings");
    check_keys(&s, keys);
    nfs = json_get(d, section, "nfsSubdir");
    local = json_get(d, section, "local");
    if (nfs && s.r == 0)
        read_all_nfs(&s, nfs, ret);
    if (local && s.r == 0) {
        struct section sub;

        section_enter(&sub, &s, local, "local", -1);
        read_local(&sub, &ret->local);
        ret->has_local = true;
        s.r = sub.r;
    }
    return s.r < 0 ? s.r : arena_check(&ret->arena, err);
}

void provisioners_done(struct provisioner_settings *s)
{
    arena_done(&s->arena);
}

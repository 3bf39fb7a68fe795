/* Reads the section `provisioners` of a configuration file into provisioner_settings. */
#include "daemon/provisioners.h"

#include <string.h>

#include "base/clock.h"
#include "daemon/settings_section.h"
#include "io/env.h"

#define TEXTS_BYTES_MAX ((size_t)4 << 20)
#define RESYNC_DEFAULT_NS (300 * NS_PER_S)

/* --- nfsSubdir --- */

static const char *or_variable(struct section *s, const char *key, const char *variable, const char *words)
{
    const char *value = section_read_text(s, key, "");

    if (s->r == 0 && value[0] == '\0')
        value = io_env(variable) ? io_env(variable) : "";
    if (s->r == 0 && value[0] == '\0')
        section_fail(s, key, words);
    return s->r == 0 ? section_keep(s, str_of(value)) : "";
}

static void read_nfs(struct section *s, struct nfs_settings *n)
{
    static const char *const keys[] = { "name", "server", "path", "mountDir", "requireMount", NULL };

    section_check_keys(s, keys);
    n->export.server = or_variable(s, "server", "NFS_SERVER", "NFS_SERVER not set");
    n->export.path = section_clean_path(s, "path", or_variable(s, "path", "NFS_PATH", "NFS_PATH not set"));
    n->name = or_variable(s, "name", "PROVISIONER_NAME",
                          "environment variable PROVISIONER_NAME is not set! Please set it.");
    n->export.mount_dir =
        section_clean_path(s, "mountDir", section_read_text(s, "mountDir", NFS_SUBDIR_MOUNT_DIR));
    n->export.may_be_plain = !section_read_bool(s, "requireMount", true);
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
    const char *value = section_read_text(s, key, fallback);

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
    const char *host_dir = section_read_text(s, "hostDir", "");
    int index = 0;

    section_check_keys(s, keys);
    k->host_dir = section_clean_path(s, "hostDir", host_dir);
    k->mount_dir = section_clean_path(s, "mountDir", section_read_text(s, "mountDir", host_dir));
    k->cleaner = section_read_texts(s, "blockCleanerCommand");
    (void)one_of(s, "volumeMode", "Filesystem", volume_mode_names, &index);
    k->mode = (enum volume_mode)index;
    k->access_mode = one_of(s, "accessMode", "ReadWriteOnce", access_mode_names, &index);
    k->fs_type = section_read_text(s, "fsType", "");
    k->name_pattern = section_read_text(s, "namePattern", "*");
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

    section_check_keys(s, keys);
    if (section_read_bool(s, "useJobForCleaning", false))
        section_fail(s, "useJobForCleaning", "not supported: volumes are cleaned in this process");
    if (section_read_bool(s, "useAlphaAPI", false))
        section_fail(s, "useAlphaAPI", "not supported: Kubernetes has removed this API");
    ret->node_labels = section_read_texts(s, "nodeLabelsForPV");
    ret->labels = section_read_pairs(s, "labelsForPV");
    ret->uses_node_name_only = section_read_bool(s, "useNodeNameOnly", false);
    ret->sets_owner = section_read_bool(s, "setPVOwnerRef", false);
    ret->resync_min_ns = section_read_duration(s, "minResyncPeriod", RESYNC_DEFAULT_NS);
    if (section_read_bool(s, "removeNodeNotReadyTaint", false)) {
        ret->ready_taint = section_read_text(s, "provisionerNotReadyNodeTaintKey", "");
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
    section_check_keys(&s, keys);
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

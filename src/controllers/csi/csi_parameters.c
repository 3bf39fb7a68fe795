/* Reads class parameters: tables of keys, and names with tokens (machinery/name_template.h). */
#include "controllers/csi/csi_parameters.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "machinery/name_template.h"

#define PREFIX "csi.storage.k8s.io/"

/* --- Keys --- */

struct secret_keys {
    const char *what; /* in messages */
    const char *name, *ns;
    const char *old_name, *old_ns; /* deprecated; passed to the driver, too. NULL: none */
};

static const struct secret_keys default_keys = { "Default", PREFIX "secret-name", PREFIX "secret-namespace",
                                                 NULL, NULL };

static const struct secret_keys use_keys[] = {
    [CSI_FOR_PROVISIONER] = { "Provisioner", PREFIX "provisioner-secret-name",
                              PREFIX "provisioner-secret-namespace", "csiProvisionerSecretName",
                              "csiProvisionerSecretNamespace" },
    [CSI_FOR_CONTROLLER_PUBLISH] = { "ControllerPublish", PREFIX "controller-publish-secret-name",
                                     PREFIX "controller-publish-secret-namespace",
                                     "csiControllerPublishSecretName",
                                     "csiControllerPublishSecretNamespace" },
    [CSI_FOR_NODE_STAGE] = { "NodeStage", PREFIX "node-stage-secret-name",
                             PREFIX "node-stage-secret-namespace", "csiNodeStageSecretName",
                             "csiNodeStageSecretNamespace" },
    [CSI_FOR_NODE_PUBLISH] = { "NodePublish", PREFIX "node-publish-secret-name",
                               PREFIX "node-publish-secret-namespace", "csiNodePublishSecretName",
                               "csiNodePublishSecretNamespace" },
    [CSI_FOR_CONTROLLER_EXPAND] = { "ControllerExpand", PREFIX "controller-expand-secret-name",
                                    PREFIX "controller-expand-secret-namespace", NULL, NULL },
    [CSI_FOR_NODE_EXPAND] = { "NodeExpand", PREFIX "node-expand-secret-name",
                              PREFIX "node-expand-secret-namespace", NULL, NULL },
    [CSI_FOR_CONTROLLER_MODIFY] = { "ControllerModify", PREFIX "controller-modify-secret-name",
                                    PREFIX "controller-modify-secret-namespace", NULL, NULL },
};
static_assert(ARRAY_LEN(use_keys) == CSI_SECRET_USE_COUNT, "keys for every use");

/* Of a VolumeSnapshotClass. The snapshotter's own secret is an annotation of each content. */
static const struct secret_keys list_keys = { "SnapshotterList", PREFIX "snapshotter-list-secret-name",
                                              PREFIX "snapshotter-list-secret-namespace", NULL, NULL };
static const struct secret_keys snapshot_keys[] = {
    { "Snapshotter", PREFIX "snapshotter-secret-name", PREFIX "snapshotter-secret-namespace", NULL, NULL },
    { "GroupSnapshotter", PREFIX "group-snapshotter-secret-name", PREFIX "group-snapshotter-secret-namespace",
      NULL, NULL },
    { "GroupSnapshotterGet", PREFIX "group-snapshotter-get-secret-name",
      PREFIX "group-snapshotter-get-secret-namespace", NULL, NULL },
};

static const char *get_parameter(const struct kvs *parameters, const char *key)
{
    return key ? kv_get(parameters->items, parameters->count, key) : NULL;
}

static bool is_secret_key(const struct secret_keys *keys, const char *key)
{
    return strcmp(key, keys->name) == 0 || strcmp(key, keys->ns) == 0;
}

/* A key with the prefix that has a meaning here. */
static bool is_known_key(const char *key)
{
    if (strcmp(key, PREFIX "fstype") == 0 || is_secret_key(&default_keys, key))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(use_keys); i++)
        if (is_secret_key(&use_keys[i], key))
            return true;
    return false;
}

/* The same for a VolumeSnapshotClass. */
static bool is_known_snapshot_key(const char *key)
{
    if (is_secret_key(&list_keys, key))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(snapshot_keys); i++)
        if (is_secret_key(&snapshot_keys[i], key))
            return true;
    return false;
}

/* --- Templates --- */

/* What templates are filled in with. */
struct template_values {
    const struct claim *claim; /* NULL: only the volume or the content is known */
    const char *volume_name;   /* NULL: not known */
    const char *content_name;  /* the same */
};

/* Names and annotations of claims are under their users' control: they are not for namespaces. */
static int resolve_name(struct arena *a, const char *template, const struct template_values *v,
                        enum name_rule rule, const char *what, const char **ret, struct error *err)
{
    const struct object *claim = v->claim ? &v->claim->obj : NULL;
    bool has_names = claim && rule != NAME_DNS_LABEL;
    size_t annotations = has_names ? claim->annotations.count : 0, count = 0;
    struct name_token *tokens = arena_array(a, annotations + 4, sizeof *tokens);

    if (!tokens)
        return error_no_memory(err);
    if (v->volume_name)
        tokens[count++] = (struct name_token){ "pv.name", v->volume_name };
    if (v->content_name)
        tokens[count++] = (struct name_token){ "volumesnapshotcontent.name", v->content_name };
    if (claim)
        tokens[count++] = (struct name_token){ "pvc.namespace", claim->ns };
    if (has_names)
        tokens[count++] = (struct name_token){ "pvc.name", claim->name };
    for (size_t i = 0; i < annotations; i++) {
        const struct kv *pair = &claim->annotations.items[i];
        const char *name = arena_printf(a, "pvc.annotations['%s']", pair->key);

        if (!name)
            return arena_check(a, err);
        tokens[count++] = (struct name_token){ name, pair->value };
    }
    return name_template_resolve(a, template, tokens, count, rule, what, ret, err);
}

/* --- Secrets --- */

struct secret_templates {
    const char *name, *ns; /* NULL: none */
};

static int find_templates(const struct kvs *from, const struct secret_keys *keys,
                          struct secret_templates *ret, struct error *err)
{
    const char *name = get_parameter(from, keys->name), *ns = get_parameter(from, keys->ns);
    const char *old_name = get_parameter(from, keys->old_name), *old_ns = get_parameter(from, keys->old_ns);
    int names = (name != NULL) + (old_name != NULL), namespaces = (ns != NULL) + (old_ns != NULL);

    if (names != namespaces)
        return error_set(err, ERR_INVALID,
                         "either name and namespace for %s secrets specified, Both must be specified",
                         keys->what);
    if (names > 1)
        return error_set(err, ERR_INVALID,
                         "%s secrets specified in parameters with both \"csi\" and \"%s\" keys", keys->what,
                         PREFIX);
    *ret = (struct secret_templates){ name ? name : old_name, ns ? ns : old_ns };
    return 0;
}

/* Both templates filled in; name "" for none. */
static int resolve_templates(struct arena *a, const struct secret_templates *t,
                             const struct template_values *v, struct secret_ref *ret, struct error *err)
{
    struct secret_ref found = { "", "" };
    int r;

    if (!t->name || (t->name[0] == '\0' && t->ns[0] == '\0')) {
        *ret = found;
        return 0;
    }
    r = resolve_name(a, t->ns, v, NAME_DNS_LABEL, "namespace name", &found.ns, err);
    if (r == 0)
        r = resolve_name(a, t->name, v, NAME_DNS_SUBDOMAIN, "secret name", &found.name, err);
    if (r == 0)
        *ret = found;
    return r;
}

int csi_secret_reference(struct arena *a, const struct storage_class *class, enum csi_secret_use use,
                         const struct claim *claim, const char *volume_name, struct secret_ref *ret,
                         struct error *err)
{
    const struct template_values v = { .claim = claim, .volume_name = volume_name };
    struct secret_templates t = { NULL, NULL };
    int r = find_templates(&class->parameters, &use_keys[use], &t, err);

    if (r < 0)
        return error_wrap(err, "failed to get name and namespace template from params");
    if (!t.name || (t.name[0] == '\0' && t.ns[0] == '\0')) {
        r = find_templates(&class->parameters, &default_keys, &t, err);
        if (r < 0)
            return error_wrap(err, "failed to get default name and namespace template from params");
    }
    return resolve_templates(a, &t, &v, ret, err);
}

int csi_snapshot_list_secret(struct arena *a, const struct kvs *parameters, const char *content_name,
                             struct secret_ref *ret, struct error *err)
{
    const struct template_values v = { .content_name = content_name };
    struct secret_templates t = { NULL, NULL };
    int r = find_templates(parameters, &list_keys, &t, err);

    return r < 0 ? error_wrap(err, "failed to get name and namespace template from params")
                 : resolve_templates(a, &t, &v, ret, err);
}

/* --- File system, and the rest --- */

int csi_fs_type(const struct storage_class *class, const char **ret, struct error *err)
{
    const char *found = "";
    unsigned count = 0;

    for (uint32_t i = 0; i < class->parameters.count; i++) {
        const struct kv *p = &class->parameters.items[i];

        if (strcasecmp(p->key, "fstype") == 0 || strcmp(p->key, PREFIX "fstype") == 0) {
            found = p->value;
            count++;
        }
    }
    if (count > 1)
        return error_set(err, ERR_INVALID,
                         "fstype specified in parameters with both \"fstype\" and \"%s\" keys",
                         PREFIX "fstype");
    *ret = found;
    return 0;
}

/* The parameters without the keys that are known here, with room for three more. */
static int strip_parameters(struct arena *a, const struct kvs *parameters, bool (*is_known)(const char *key),
                            struct kv **ret, uint32_t *ret_count, struct error *err)
{
    struct kv *items = arena_array(a, (size_t)parameters->count + 3, sizeof *items);
    uint32_t count = 0;

    if (!items)
        return error_no_memory(err);
    for (uint32_t i = 0; i < parameters->count; i++) {
        const char *key = parameters->items[i].key;

        if (strncmp(key, PREFIX, strlen(PREFIX)) != 0)
            items[count++] = parameters->items[i];
        else if (!is_known(key))
            return error_set(err, ERR_INVALID,
                             "found unknown parameter key \"%s\" with reserved namespace %s", key, PREFIX);
    }
    *ret = items;
    *ret_count = count;
    return 0;
}

int csi_driver_parameters(struct arena *a, const struct storage_class *class,
                          const struct csi_extra_metadata *extra, struct kvs *ret, struct error *err)
{
    struct kv *items = NULL;
    uint32_t count = 0;

    if (strip_parameters(a, &class->parameters, is_known_key, &items, &count, err) < 0)
        return error_wrap(err, "failed to strip CSI Parameters of prefixed keys");
    assert(items);
    if (extra) {
        items[count++] = (struct kv){ PREFIX "pvc/name", extra->claim->obj.name };
        items[count++] = (struct kv){ PREFIX "pvc/namespace", extra->claim->obj.ns };
        items[count++] = (struct kv){ PREFIX "pv/name", extra->volume_name };
    }
    kv_sort(items, count);
    *ret = (struct kvs){ items, count };
    return 0;
}

int csi_snapshot_parameters(struct arena *a, const struct kvs *parameters,
                            const struct snapshot_content *extra, struct kvs *ret, struct error *err)
{
    struct kv *items = NULL;
    uint32_t count = 0;

    if (strip_parameters(a, parameters, is_known_snapshot_key, &items, &count, err) < 0)
        return error_wrap(err, "failed to remove CSI Parameters of prefixed keys");
    assert(items);
    if (extra) {
        items[count++] = (struct kv){ PREFIX "volumesnapshot/name", extra->snapshot_name };
        items[count++] = (struct kv){ PREFIX "volumesnapshot/namespace", extra->snapshot_ns };
        items[count++] = (struct kv){ PREFIX "volumesnapshotcontent/name", extra->obj.name };
    }
    kv_sort(items, count);
    *ret = (struct kvs){ items, count };
    return 0;
}

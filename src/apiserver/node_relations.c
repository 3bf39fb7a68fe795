/* Decides which objects a node may read because its pods use them.
 *
 * A pod's text is searched for the name first and parsed only if it occurs, so most pods of a walk cost one
 * text search. */
#include "apiserver/node_relations.h"

#include <string.h>

#include "api/attachment.h"
#include "api/claim.h"
#include "api/migration.h"
#include "api/object.h"
#include "api/volume.h"
#include "base/cleanup.h"

#define NAME_BYTES 256 /* names and namespaces have at most 253 */

/* --- Pods as trees --- */

/* Whether v is the name, or, without a name, any string. */
static bool is_named(const struct json *d, json_ref v, struct str name)
{
    struct str text = json_type(d, v) == JSON_STRING ? json_text(d, v) : STR_LIT("");

    return text.len > 0 && (!name.s || str_eq(text, name));
}

/* The fields in which pods name a secret or a config map. */
struct name_fields {
    const char *key_ref;
    const char *from_ref;
    const char *projection;
};

static bool container_names(const struct json *d, json_ref container, const struct name_fields *w,
                            struct str name)
{
    json_ref env = json_get(d, container, "env"), from = json_get(d, container, "envFrom");

    for (json_ref m = json_first(d, env); m; m = json_next(d, m))
        if (is_named(d, json_path(d, m, "valueFrom", w->key_ref, "name"), name))
            return true;
    for (json_ref m = json_first(d, from); m; m = json_next(d, m))
        if (is_named(d, json_path(d, m, w->from_ref, "name"), name))
            return true;
    return false;
}

static bool containers_name(const struct json *d, json_ref spec, const struct name_fields *w, struct str name)
{
    static const char *const lists[] = { "containers", "initContainers", "ephemeralContainers" };

    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        json_ref list = json_get(d, spec, lists[i]);
        for (json_ref m = json_first(d, list); m; m = json_next(d, m))
            if (container_names(d, m, w, name))
                return true;
    }
    return false;
}

static bool projections_name(const struct json *d, json_ref volume, const struct name_fields *w,
                             struct str name)
{
    json_ref sources = json_path(d, volume, "projected", "sources");

    for (json_ref m = json_first(d, sources); m; m = json_next(d, m))
        if (is_named(d, json_path(d, m, w->projection, "name"), name))
            return true;
    return false;
}

/* Every source with secrets uses one of three field names. */
static bool volume_names_secret(const struct json *d, json_ref volume, struct str name)
{
    for (json_ref source = json_first(d, volume); source; source = json_next(d, source))
        if (is_named(d, json_get(d, source, "secretName"), name) ||
            is_named(d, json_path(d, source, "secretRef", "name"), name) ||
            is_named(d, json_path(d, source, "nodePublishSecretRef", "name"), name))
            return true;
    return false;
}

static bool pod_names_secret(const struct json *d, json_ref spec, struct str name)
{
    static const struct name_fields fields = { "secretKeyRef", "secretRef", "secret" };
    json_ref pull = json_get(d, spec, "imagePullSecrets"), volumes = json_get(d, spec, "volumes");

    for (json_ref m = json_first(d, pull); m; m = json_next(d, m))
        if (is_named(d, json_get(d, m, "name"), name))
            return true;
    for (json_ref m = json_first(d, volumes); m; m = json_next(d, m))
        if (volume_names_secret(d, m, name) || projections_name(d, m, &fields, name))
            return true;
    return containers_name(d, spec, &fields, name);
}

static bool pod_names_config_map(const struct json *d, json_ref spec, struct str name)
{
    static const struct name_fields fields = { "configMapKeyRef", "configMapRef", "configMap" };
    json_ref volumes = json_get(d, spec, "volumes");

    for (json_ref m = json_first(d, volumes); m; m = json_next(d, m))
        if (is_named(d, json_path(d, m, "configMap", "name"), name) || projections_name(d, m, &fields, name))
            return true;
    return containers_name(d, spec, &fields, name);
}

static bool pod_names_claim(const struct json *d, json_ref pod, struct str name)
{
    json_ref volumes = json_path(d, pod, "spec", "volumes");
    struct str pod_name = json_text(d, json_path(d, pod, "metadata", "name"));

    for (json_ref m = json_first(d, volumes); m; m = json_next(d, m)) {
        struct str volume = json_get_text(d, m, "name");
        if (is_named(d, json_path(d, m, "persistentVolumeClaim", "claimName"), name))
            return true;
        if (!json_get(d, m, "ephemeral"))
            continue;
        if (!name.s) /* the generated claim: POD-VOLUME */
            return true;
        if (name.len == pod_name.len + 1 + volume.len && memcmp(name.s, pod_name.s, pod_name.len) == 0 &&
            name.s[pod_name.len] == '-' && memcmp(name.s + pod_name.len + 1, volume.s, volume.len) == 0)
            return true;
    }
    return false;
}

/* A pod without an account uses the account default. */
static bool pod_names_account(const struct json *d, json_ref spec, struct str name)
{
    json_ref account = json_get(d, spec, "serviceAccountName");

    if (!is_named(d, account, (struct str){ NULL, 0 }))
        account = json_get(d, spec, "serviceAccount"); /* deprecated name */
    if (!is_named(d, account, (struct str){ NULL, 0 }))
        return name.s && str_is(name, "default");
    return is_named(d, account, name);
}

bool pod_names(const struct json *d, json_ref pod, enum kind kind, struct str name)
{
    json_ref spec = json_get(d, pod, "spec");

    if (kind == KIND_SECRET)
        return pod_names_secret(d, spec, name);
    if (kind == KIND_CONFIG_MAP)
        return pod_names_config_map(d, spec, name);
    if (kind == KIND_SERVICE_ACCOUNT)
        return pod_names_account(d, spec, name);
    return kind == KIND_CLAIM && pod_names_claim(d, pod, name);
}

/* --- Pods as they are stored --- */

struct search {
    const struct access_lookup *lookup;
    struct str node;
    enum kind kind;
    struct str ns;
    struct str name;
};

static bool is_on_node(const struct pod *p, struct str node)
{
    return str_is(node, p->node_name);
}

/* Whether the pod gives the node access to the objects that it names. A mirror pod does not: the node itself
 * created it. */
static bool pod_gives_access(const struct pod *p, struct str node)
{
    return is_on_node(p, node) && !pod_is_mirror(p);
}

static bool pod_has_claim(const struct pod *p, struct str name)
{
    for (uint32_t i = 0; i < p->volumes.count; i++) {
        const char *claim = pod_claim_name(&p->volumes.items[i]);
        if (claim && str_is(name, claim))
            return true;
    }
    return false;
}

/* Decoded pods do not have all names, so the text is parsed, but only if it contains the name at all. Names
 * have no character that JSON escapes. */
static bool pod_text_names(const struct pod *p, enum kind kind, struct str name)
{
    _cleanup_(json_done_p) struct json d;
    struct error ignored;
    json_ref root = 0;

    json_init(&d, OBJECT_TEXT_BYTES_MAX);
    if (!memmem(p->obj.text.s, p->obj.text.len, name.s, name.len))
        return false;
    return json_parse(&d, p->obj.text, &root, &ignored) == 0 && pod_names(&d, root, kind, name);
}

static bool on_pod(void *arg, const struct pod *p)
{
    const struct search *s = arg;

    if (!pod_gives_access(p, s->node))
        return false;
    if (s->kind == KIND_CLAIM)
        return pod_has_claim(p, s->name);
    if (s->kind == KIND_SERVICE_ACCOUNT)
        return str_is(s->name, pod_account(p));
    return pod_text_names(p, s->kind, s->name);
}

/* The volume that the claim is bound to, if both name each other; otherwise NULL. */
static const struct volume *volume_of_claim(const struct access_lookup *f, const struct claim *c)
{
    const struct object *o = f->get(f->ctx, KIND_VOLUME, "", c->volume_name);
    const struct volume *v = o ? volume_of(o) : NULL;

    return v && v->claim.is_set && strcmp(v->claim.uid, c->obj.uid) == 0 ? v : NULL;
}

/* References without a namespace refer to that of the claim. */
static bool ref_is(const struct secret_ref *ref, const char *claim_ns, const struct search *s)
{
    return str_is(s->name, ref->name) && str_is(s->ns, ref->ns[0] != '\0' ? ref->ns : claim_ns);
}

static bool volume_names(const struct volume *v, const struct search *s);

/* The secret of an Azure file share is in its translation. */
static bool azure_file_names(const struct volume *v, const struct search *s)
{
    _cleanup_(object_unref_p) struct object *is = NULL;
    struct error ignored;

    return migration_translate(v, &is, &ignored) == 0 && volume_names(volume_of(is), s);
}

/* The secrets of a volume that a node needs: not those of controller calls. */
static bool volume_names(const struct volume *v, const struct search *s)
{
    static const enum csi_secret for_nodes[] = { CSI_SECRET_NODE_STAGE, CSI_SECRET_NODE_PUBLISH,
                                                 CSI_SECRET_NODE_EXPAND };

    if (v->source.kind == SOURCE_ISCSI)
        return ref_is(&v->source.iscsi->secret, v->claim.ns, s);
    if (v->source.kind == SOURCE_FLEX)
        return ref_is(&v->source.flex->secret, v->claim.ns, s);
    if (v->source.kind == SOURCE_AZURE_FILE)
        return azure_file_names(v, s);
    for (size_t i = 0; v->source.kind == SOURCE_CSI && i < ARRAY_LEN(for_nodes); i++)
        if (ref_is(&v->source.csi->secrets[for_nodes[i]], v->claim.ns, s))
            return true;
    return false;
}

static bool on_pod_with_volumes(void *arg, const struct pod *p)
{
    const struct search *s = arg;

    if (!pod_gives_access(p, s->node))
        return false;
    for (uint32_t i = 0; i < p->volumes.count; i++) {
        const char *name = pod_claim_name(&p->volumes.items[i]);
        const struct object *claim =
            name ? s->lookup->get(s->lookup->ctx, KIND_CLAIM, p->obj.ns, name) : NULL;
        const struct volume *v = claim ? volume_of_claim(s->lookup, claim_of(claim)) : NULL;
        if (v && volume_names(v, s))
            return true;
    }
    return false;
}

/* --- Objects --- */

static bool attachment_is_on(const struct object *o, struct str node)
{
    return str_is(node, ((const struct attachment *)(const void *)o)->node_name);
}

static bool volume_is_used(const struct access_lookup *f, struct str node, const struct volume *v)
{
    const struct object *claim =
        v->claim.is_set ? f->get(f->ctx, KIND_CLAIM, v->claim.ns, v->claim.name) : NULL;

    return claim && volume_of_claim(f, claim_of(claim)) == v &&
           node_uses(f, node, KIND_CLAIM, str_of(v->claim.ns), str_of(v->claim.name));
}

/* A NUL-terminated copy for lookups; false when it is longer than any name. */
static bool text_of(struct str s, char ret[NAME_BYTES])
{
    if (s.len >= NAME_BYTES || memchr(s.len ? s.s : "", '\0', s.len))
        return false;
    memcpy(ret, s.len ? s.s : "", s.len);
    ret[s.len] = '\0';
    return true;
}

const struct pod *access_lookup_pod(const struct access_lookup *f, struct str ns, struct str name)
{
    char ns_text[NAME_BYTES], name_text[NAME_BYTES];
    const struct object *o = text_of(ns, ns_text) && text_of(name, name_text)
                                 ? f->get(f->ctx, KIND_POD, ns_text, name_text)
                                 : NULL;

    return o ? pod_of(o) : NULL;
}

bool node_uses(const struct access_lookup *f, struct str node, enum kind kind, struct str ns, struct str name)
{
    struct search s = { .lookup = f, .node = node, .kind = kind, .ns = ns, .name = name };
    char ns_text[NAME_BYTES], name_text[NAME_BYTES];
    const struct object *o;

    if (!node.len || !name.len || !text_of(ns, ns_text) || !text_of(name, name_text))
        return false;
    if (kind == KIND_POD || kind == KIND_ATTACHMENT || kind == KIND_VOLUME) {
        o = f->get(f->ctx, kind, ns_text, name_text);
        if (!o)
            return false;
        return kind == KIND_POD          ? is_on_node(pod_of(o), node)
               : kind == KIND_ATTACHMENT ? attachment_is_on(o, node)
                                         : volume_is_used(f, node, volume_of(o));
    }
    if (!ns.len || (kind != KIND_CLAIM && kind != KIND_SECRET && kind != KIND_CONFIG_MAP &&
                    kind != KIND_SERVICE_ACCOUNT))
        return false;
    return f->any_pod(f->ctx, ns_text, on_pod, &s) ||
           (kind == KIND_SECRET && f->any_pod(f->ctx, "", on_pod_with_volumes, &s));
}

/* Volumes, claims and classes in words. */
#include "cli/describe.h"

#include <stdio.h>

static void add_name(struct describe *x, bool has_namespace)
{
    describe_text(x, "Name:", json_text(&x->doc, describe_meta(x, "name")));
    if (has_namespace)
        describe_text(x, "Namespace:", json_text(&x->doc, describe_meta(x, "namespace")));
}

/* The class of old objects stands in an annotation. */
static void add_class(struct describe *x)
{
    struct str old =
        json_get_text(&x->doc, describe_meta(x, "annotations"), "volume.beta.kubernetes.io/storage-class");
    json_ref attributes = describe_spec(x, "volumeAttributesClassName");

    describe_text(x,
                  "StorageClass:", old.len ? old : json_text(&x->doc, describe_spec(x, "storageClassName")));
    if (attributes)
        describe_text(x, "VolumeAttributesClass:", json_text(&x->doc, attributes));
}

/* --- Volumes --- */

static void add_term(struct describe *x, json_ref expressions, const char *label, unsigned number)
{
    buf_addf(&x->out.text, "%sTerm %u:\t%s", label, number,
             json_first(&x->doc, expressions) ? "" : "<none>\n");
    for (json_ref e = json_first(&x->doc, expressions); e; e = json_next(&x->doc, e)) {
        if (e != json_first(&x->doc, expressions))
            buf_add_char(&x->out.text, '\t');
        describe_expression(x, e);
    }
}

static void add_node_affinity(struct describe *x)
{
    json_ref affinity = describe_spec(x, "nodeAffinity");
    json_ref terms = json_path(&x->doc, affinity, "required", "nodeSelectorTerms");
    unsigned number = 0;

    if (!affinity) {
        describe_line(x, "Node Affinity:\t<none>");
        return;
    }
    describe_line(x, "Node Affinity:\t\n  Required Terms:\t%s", json_first(&x->doc, terms) ? "" : "<none>");
    for (json_ref t = json_first(&x->doc, terms); t; t = json_next(&x->doc, t))
        add_term(x, json_get(&x->doc, t, "matchExpressions"), "    ", number++);
}

static void add_claim(struct describe *x)
{
    json_ref claim = describe_spec(x, "claimRef");

    buf_add_cstr(&x->out.text, "Claim:\t");
    if (claim) {
        columns_add_cell(&x->out, json_get_text(&x->doc, claim, "namespace"));
        buf_add_char(&x->out.text, '/');
        columns_add_cell(&x->out, json_get_text(&x->doc, claim, "name"));
    }
    buf_add_char(&x->out.text, '\n');
}

void describe_volume(struct describe *x)
{
    const struct json *d = &x->doc;

    add_name(x, /* has_namespace= */ false);
    describe_labels(x, "Labels:", describe_meta(x, "labels"));
    describe_annotations(x, describe_meta(x, "annotations"));
    describe_list(x, "Finalizers:", describe_meta(x, "finalizers"));
    add_class(x);
    describe_status(x, json_text(d, describe_state(x, "phase")));
    add_claim(x);
    describe_text(x, "Reclaim Policy:", json_text(d, describe_spec(x, "persistentVolumeReclaimPolicy")));
    describe_access_modes(x, "Access Modes:", describe_spec(x, "accessModes"));
    if (describe_spec(x, "volumeMode"))
        describe_text(x, "VolumeMode:", json_text(d, describe_spec(x, "volumeMode")));
    describe_text(x, "Capacity:", json_get_text(d, describe_spec(x, "capacity"), "storage"));
    add_node_affinity(x);
    describe_text(x, "Message:", json_text(d, describe_state(x, "message")));
    describe_line(x, "Source:");
    describe_source(x, json_get(d, x->object, "spec"), "    ");
    describe_events(x);
}

/* --- Claims --- */

/* By name, or as the claim of an ephemeral volume: POD-VOLUME. */
static bool uses_claim(struct describe *x, json_ref pod, struct str claim)
{
    const struct json *d = &x->doc;
    struct str pod_name = json_get_text(d, json_get(d, pod, "metadata"), "name");

    for (json_ref v = json_first(d, json_path(d, pod, "spec", "volumes")); v; v = json_next(d, v)) {
        struct str name = json_get_text(d, v, "name");
        struct str named = json_get_text(d, json_get(d, v, "persistentVolumeClaim"), "claimName");

        if (named.len && str_eq(named, claim))
            return true;
        if (json_get(d, v, "ephemeral") && claim.len == pod_name.len + 1 + name.len &&
            memcmp(claim.s, pod_name.s, pod_name.len) == 0 && claim.s[pod_name.len] == '-' &&
            memcmp(claim.s + pod_name.len + 1, name.s, name.len) == 0)
            return true;
    }
    return false;
}

static void add_users(struct describe *x)
{
    _cleanup_(buf_done_p) struct buf ns = BUF_INIT(512);
    struct str claim = json_text(&x->doc, describe_meta(x, "name"));
    bool has_one = false;
    json_ref pods;

    buf_add_str(&ns, json_text(&x->doc, describe_meta(x, "namespace")));
    pods = describe_list_objects(x, KIND_POD, buf_cstr(&ns), /* fields= */ NULL);
    buf_add_cstr(&x->out.text, "Used By:\t");
    for (json_ref p = json_first(&x->doc, pods); p; p = json_next(&x->doc, p)) {
        if (!uses_claim(x, p, claim))
            continue;
        if (has_one)
            buf_add_char(&x->out.text, '\t');
        has_one = true;
        columns_add_cell(&x->out, json_get_text(&x->doc, json_get(&x->doc, p, "metadata"), "name"));
        buf_add_char(&x->out.text, '\n');
    }
    if (!has_one)
        buf_add_cstr(&x->out.text, "<none>\n");
}

static void add_data_source(struct describe *x)
{
    json_ref source = describe_spec(x, "dataSource");

    if (!source)
        return;
    describe_line(x, "DataSource:");
    if (json_get(&x->doc, source, "apiGroup"))
        describe_member(x, "  APIGroup:", source, "apiGroup", "");
    describe_member(x, "  Kind:", source, "kind", "");
    describe_member(x, "  Name:", source, "name", "");
}

void describe_claim(struct describe *x)
{
    const struct json *d = &x->doc;
    bool is_bound = json_text(d, describe_spec(x, "volumeName")).len > 0;
    struct str capacity = json_get_text(d, describe_state(x, "capacity"), "storage");

    if (capacity.len == 0)
        capacity = STR_LIT("0"); /* as the API counts what is not there */
    add_name(x, /* has_namespace= */ true);
    add_class(x);
    describe_status(x, json_text(d, describe_state(x, "phase")));
    describe_text(x, "Volume:", json_text(d, describe_spec(x, "volumeName")));
    describe_labels(x, "Labels:", describe_meta(x, "labels"));
    describe_annotations(x, describe_meta(x, "annotations"));
    describe_list(x, "Finalizers:", describe_meta(x, "finalizers"));
    describe_text(x, "Capacity:", is_bound ? capacity : STR_LIT(""));
    describe_access_modes(x, "Access Modes:", is_bound ? describe_state(x, "accessModes") : 0);
    if (describe_spec(x, "volumeMode"))
        describe_text(x, "VolumeMode:", json_text(d, describe_spec(x, "volumeMode")));
    add_data_source(x);
    add_users(x);
    describe_conditions(x, "LastProbeTime", "lastProbeTime");
    describe_events(x);
}

/* --- Classes --- */

static bool is_default(const struct describe *x)
{
    json_ref notes = describe_meta(x, "annotations");

    return str_is(json_get_text(&x->doc, notes, "storageclass.kubernetes.io/is-default-class"), "true") ||
           str_is(json_get_text(&x->doc, notes, "storageclass.beta.kubernetes.io/is-default-class"), "true");
}

static void add_mount_options(struct describe *x)
{
    json_ref options = json_get(&x->doc, x->object, "mountOptions");

    describe_line(x, json_first(&x->doc, options) ? "MountOptions:" : "MountOptions:\t<none>");
    for (json_ref o = json_first(&x->doc, options); o; o = json_next(&x->doc, o)) {
        buf_add_cstr(&x->out.text, "  ");
        columns_add_cell(&x->out, json_text(&x->doc, o));
        buf_add_char(&x->out.text, '\n');
    }
}

static void add_topologies(struct describe *x)
{
    json_ref terms = json_get(&x->doc, x->object, "allowedTopologies");
    unsigned number = 0;

    if (!json_first(&x->doc, terms))
        return;
    describe_line(x, "AllowedTopologies:\t");
    for (json_ref t = json_first(&x->doc, terms); t; t = json_next(&x->doc, t))
        add_term(x, json_get(&x->doc, t, "matchLabelExpressions"), "  ", number++);
}

void describe_class(struct describe *x)
{
    json_ref expands = json_get(&x->doc, x->object, "allowVolumeExpansion");

    add_name(x, /* has_namespace= */ false);
    describe_cstr(x, "IsDefaultClass:", is_default(x) ? "Yes" : "No");
    describe_pairs(x, "Annotations:", describe_meta(x, "annotations"));
    describe_member(x, "Provisioner:", x->object, "provisioner", "");
    describe_pairs(x, "Parameters:", json_get(&x->doc, x->object, "parameters"));
    describe_cstr(x, "AllowVolumeExpansion:",
                  !expands                                   ? "<unset>"
                  : json_type(&x->doc, expands) == JSON_TRUE ? "True"
                                                             : "False");
    add_mount_options(x);
    describe_member(x, "ReclaimPolicy:", x->object, "reclaimPolicy", "");
    describe_member(x, "VolumeBindingMode:", x->object, "volumeBindingMode", "");
    add_topologies(x);
    describe_events(x);
}

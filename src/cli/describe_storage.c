/* Describes volumes, claims and storage classes. */
#include "cli/describe.h"

static void add_name(struct describe *page, bool has_namespace)
{
    describe_text(page, "Name:", json_text(&page->doc, describe_meta(page, "name")));
    if (has_namespace)
        describe_text(page, "Namespace:", json_text(&page->doc, describe_meta(page, "namespace")));
}

/* Old objects have their class in an annotation. */
static void add_class(struct describe *page)
{
    struct str old = json_get_text(&page->doc, describe_meta(page, "annotations"),
                                   "volume.beta.kubernetes.io/storage-class");
    json_ref attributes = describe_spec(page, "volumeAttributesClassName");

    describe_text(page, "StorageClass:",
                  old.len ? old : json_text(&page->doc, describe_spec(page, "storageClassName")));
    if (attributes)
        describe_text(page, "VolumeAttributesClass:", json_text(&page->doc, attributes));
}

/* --- Volumes --- */

static void add_term(struct describe *page, json_ref expressions, const char *label, unsigned number)
{
    buf_addf(&page->out.text, "%sTerm %u:\t%s", label, number,
             json_first(&page->doc, expressions) ? "" : "<none>\n");
    for (json_ref e = json_first(&page->doc, expressions); e; e = json_next(&page->doc, e)) {
        if (e != json_first(&page->doc, expressions))
            buf_add_char(&page->out.text, '\t');
        describe_expression(page, e);
    }
}

static void add_node_affinity(struct describe *page)
{
    json_ref affinity = describe_spec(page, "nodeAffinity");
    json_ref terms = json_path(&page->doc, affinity, "required", "nodeSelectorTerms");
    unsigned number = 0;

    if (!affinity) {
        describe_line(page, "Node Affinity:\t<none>");
        return;
    }
    describe_line(page, "Node Affinity:\t\n  Required Terms:\t%s",
                  json_first(&page->doc, terms) ? "" : "<none>");
    for (json_ref t = json_first(&page->doc, terms); t; t = json_next(&page->doc, t))
        add_term(page, json_get(&page->doc, t, "matchExpressions"), "    ", number++);
}

void describe_volume(struct describe *page)
{
    const struct json *d = &page->doc;
    json_ref claim = describe_spec(page, "claimRef");

    add_name(page, /* has_namespace= */ false);
    describe_labels(page, "Labels:", describe_meta(page, "labels"));
    describe_annotations(page, describe_meta(page, "annotations"));
    describe_list(page, "Finalizers:", describe_meta(page, "finalizers"));
    add_class(page);
    describe_status(page, json_text(d, describe_state(page, "phase")));
    if (claim)
        columns_put(&page->out, "Claim:\t%/%\n", json_get_text(d, claim, "namespace"),
                    json_get_text(d, claim, "name"));
    else
        describe_line(page, "Claim:\t");
    describe_text(page,
                  "Reclaim Policy:", json_text(d, describe_spec(page, "persistentVolumeReclaimPolicy")));
    describe_access_modes(page, "Access Modes:", describe_spec(page, "accessModes"));
    if (describe_spec(page, "volumeMode"))
        describe_text(page, "VolumeMode:", json_text(d, describe_spec(page, "volumeMode")));
    describe_text(page, "Capacity:", json_get_text(d, describe_spec(page, "capacity"), "storage"));
    add_node_affinity(page);
    describe_text(page, "Message:", json_text(d, describe_state(page, "message")));
    describe_line(page, "Source:");
    describe_source(page, json_get(d, page->object, "spec"), "    ");
    describe_events(page);
}

/* --- Claims --- */

/* By name, or as the claim of an ephemeral volume: POD-VOLUME. */
static bool uses_claim(struct describe *page, json_ref pod, struct str claim)
{
    const struct json *d = &page->doc;
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

static void add_users(struct describe *page)
{
    _cleanup_(buf_done_p) struct buf ns = BUF_INIT(512);
    struct str claim = json_text(&page->doc, describe_meta(page, "name"));
    bool has_one = false;
    json_ref pods;

    buf_add_str(&ns, json_text(&page->doc, describe_meta(page, "namespace")));
    pods = describe_list_objects(page, KIND_POD, buf_cstr(&ns), /* fields= */ NULL);
    buf_add_cstr(&page->out.text, "Used By:\t");
    for (json_ref p = json_first(&page->doc, pods); p; p = json_next(&page->doc, p)) {
        if (!uses_claim(page, p, claim))
            continue;
        if (has_one)
            buf_add_char(&page->out.text, '\t');
        has_one = true;
        columns_put(&page->out, "%\n",
                    json_get_text(&page->doc, json_get(&page->doc, p, "metadata"), "name"));
    }
    if (!has_one)
        buf_add_cstr(&page->out.text, "<none>\n");
}

static void add_data_source(struct describe *page)
{
    json_ref source = describe_spec(page, "dataSource");

    if (!source)
        return;
    describe_line(page, "DataSource:");
    if (json_get(&page->doc, source, "apiGroup"))
        describe_member(page, "  APIGroup:", source, "apiGroup", "");
    describe_member(page, "  Kind:", source, "kind", "");
    describe_member(page, "  Name:", source, "name", "");
}

void describe_claim(struct describe *page)
{
    const struct json *d = &page->doc;
    bool is_bound = json_text(d, describe_spec(page, "volumeName")).len > 0;
    struct str capacity = json_get_text(d, describe_state(page, "capacity"), "storage");

    if (capacity.len == 0)
        capacity = STR_LIT("0"); /* the API's value for a missing quantity */
    add_name(page, /* has_namespace= */ true);
    add_class(page);
    describe_status(page, json_text(d, describe_state(page, "phase")));
    describe_text(page, "Volume:", json_text(d, describe_spec(page, "volumeName")));
    describe_labels(page, "Labels:", describe_meta(page, "labels"));
    describe_annotations(page, describe_meta(page, "annotations"));
    describe_list(page, "Finalizers:", describe_meta(page, "finalizers"));
    describe_text(page, "Capacity:", is_bound ? capacity : STR_LIT(""));
    describe_access_modes(page, "Access Modes:", is_bound ? describe_state(page, "accessModes") : 0);
    if (describe_spec(page, "volumeMode"))
        describe_text(page, "VolumeMode:", json_text(d, describe_spec(page, "volumeMode")));
    add_data_source(page);
    add_users(page);
    describe_conditions(page, "LastProbeTime", "lastProbeTime");
    describe_events(page);
}

/* --- Classes --- */

static bool is_default(const struct describe *page)
{
    json_ref notes = describe_meta(page, "annotations");

    return str_is(json_get_text(&page->doc, notes, "storageclass.kubernetes.io/is-default-class"), "true") ||
           str_is(json_get_text(&page->doc, notes, "storageclass.beta.kubernetes.io/is-default-class"),
                  "true");
}

static void add_mount_options(struct describe *page)
{
    json_ref options = json_get(&page->doc, page->object, "mountOptions");

    describe_line(page, json_first(&page->doc, options) ? "MountOptions:" : "MountOptions:\t<none>");
    for (json_ref o = json_first(&page->doc, options); o; o = json_next(&page->doc, o))
        columns_put(&page->out, "  %\n", json_text(&page->doc, o));
}

static void add_topologies(struct describe *page)
{
    json_ref terms = json_get(&page->doc, page->object, "allowedTopologies");
    unsigned number = 0;

    if (!json_first(&page->doc, terms))
        return;
    describe_line(page, "AllowedTopologies:\t");
    for (json_ref t = json_first(&page->doc, terms); t; t = json_next(&page->doc, t))
        add_term(page, json_get(&page->doc, t, "matchLabelExpressions"), "  ", number++);
}

void describe_class(struct describe *page)
{
    json_ref expands = json_get(&page->doc, page->object, "allowVolumeExpansion");

    add_name(page, /* has_namespace= */ false);
    describe_cstr(page, "IsDefaultClass:", is_default(page) ? "Yes" : "No");
    describe_pairs(page, "Annotations:", describe_meta(page, "annotations"));
    describe_member(page, "Provisioner:", page->object, "provisioner", "");
    describe_pairs(page, "Parameters:", json_get(&page->doc, page->object, "parameters"));
    describe_cstr(page, "AllowVolumeExpansion:",
                  !expands                                      ? "<unset>"
                  : json_type(&page->doc, expands) == JSON_TRUE ? "True"
                                                                : "False");
    add_mount_options(page);
    describe_member(page, "ReclaimPolicy:", page->object, "reclaimPolicy", "");
    describe_member(page, "VolumeBindingMode:", page->object, "volumeBindingMode", "");
    add_topologies(page);
    describe_events(page);
}

/* Describes a node: its state, capacity and pods. */
#include "cli/describe.h"

#define LABEL_ROLE "kubernetes.io/role"
#define LABEL_ROLE_PREFIX "node-role.kubernetes.io/"

/* Roles come from labels, which are sorted by key: from the end of the key, or from the value. */
static void add_roles(struct describe *page)
{
    json_ref labels = describe_meta(page, "labels");
    bool has_one = false;

    buf_add_cstr(&page->out.text, "Roles:\t");
    for (json_ref l = json_first(&page->doc, labels); l; l = json_next(&page->doc, l)) {
        struct str role = json_key(&page->doc, l);

        if (str_is(role, LABEL_ROLE))
            role = json_text(&page->doc, l);
        else if (str_has_prefix(role, LABEL_ROLE_PREFIX))
            role = (struct str){ role.s + sizeof LABEL_ROLE_PREFIX - 1,
                                 role.len - (sizeof LABEL_ROLE_PREFIX - 1) };
        else
            continue;
        if (role.len == 0)
            continue;
        if (has_one)
            buf_add_char(&page->out.text, ',');
        columns_add_cell(&page->out, role);
        has_one = true;
    }
    buf_add_cstr(&page->out.text, has_one ? "\n" : "<none>\n");
}

static void add_taints(struct describe *page)
{
    json_ref taints = describe_spec(page, "taints");

    buf_addf(&page->out.text, "Taints:\t%s", json_first(&page->doc, taints) ? "" : "<none>\n");
    for (json_ref t = json_first(&page->doc, taints); t; t = json_next(&page->doc, t)) {
        struct str value = json_get_text(&page->doc, t, "value");

        if (t != json_first(&page->doc, taints))
            buf_add_char(&page->out.text, '\t');
        columns_add_cell(&page->out, json_get_text(&page->doc, t, "key"));
        if (value.len)
            columns_put(&page->out, "=%", value);
        columns_put(&page->out, ":%\n", json_get_text(&page->doc, t, "effect"));
    }
}

static void add_amounts(struct describe *page, const char *label, const char *member)
{
    json_ref amounts = describe_state(page, member);

    if (json_first(&page->doc, amounts))
        describe_line(page, "%s:", label);
    for (json_ref a = json_first(&page->doc, amounts); a; a = json_next(&page->doc, a))
        columns_put(&page->out, "  %:\t%\n", json_key(&page->doc, a), json_text(&page->doc, a));
}

static void add_system(struct describe *page)
{
    static const struct {
        const char *label, *member;
    } rows[] = {
        { "  Machine ID:", "machineID" },
        { "  System UUID:", "systemUUID" },
        { "  Boot ID:", "bootID" },
        { "  Kernel Version:", "kernelVersion" },
        { "  OS Image:", "osImage" },
        { "  Operating System:", "operatingSystem" },
        { "  Architecture:", "architecture" },
        { "  Container Runtime Version:", "containerRuntimeVersion" },
        { "  Kubelet Version:", "kubeletVersion" },
    };

    describe_line(page, "System Info:");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        describe_member(page, rows[i].label, describe_state(page, "nodeInfo"), rows[i].member, "");
}

static void add_pods(struct describe *page)
{
    _cleanup_(buf_done_p) struct buf fields = BUF_INIT(1024);
    json_ref pods;

    buf_addf(&fields, "spec.nodeName=%.*s,status.phase!=Succeeded,status.phase!=Failed",
             STR_ARG(json_text(&page->doc, describe_meta(page, "name"))));
    pods = fields.failed ? 0 : describe_list_objects(page, KIND_POD, /* ns= */ NULL, buf_cstr(&fields));
    describe_line(page, "Non-terminated Pods:\t(%u in total)", json_count(&page->doc, pods));
    if (json_first(&page->doc, pods))
        describe_line(page, "  Namespace\tName\n  ---------\t----");
    for (json_ref p = json_first(&page->doc, pods); p; p = json_next(&page->doc, p)) {
        json_ref meta = json_get(&page->doc, p, "metadata");

        columns_put(&page->out, "  %\t%\n", json_get_text(&page->doc, meta, "namespace"),
                    json_get_text(&page->doc, meta, "name"));
    }
}

/* Volumes attached to the node. */
static void add_attached(struct describe *page)
{
    json_ref attached = describe_state(page, "volumesAttached");

    if (json_first(&page->doc, attached))
        describe_line(page, "Attached Volumes:");
    for (json_ref v = json_first(&page->doc, attached); v; v = json_next(&page->doc, v)) {
        struct str path = json_get_text(&page->doc, v, "devicePath");

        columns_put(&page->out, "  %", json_get_text(&page->doc, v, "name"));
        if (path.len)
            describe_text(page, "", path);
        else
            buf_add_char(&page->out.text, '\n'); /* not a cell: it would widen the following lines */
    }
}

void describe_node(struct describe *page)
{
    json_ref spec = json_get(&page->doc, page->object, "spec");

    describe_text(page, "Name:", json_text(&page->doc, describe_meta(page, "name")));
    add_roles(page);
    describe_labels(page, "Labels:", describe_meta(page, "labels"));
    describe_annotations(page, describe_meta(page, "annotations"));
    describe_time(page, "CreationTimestamp:", describe_meta(page, "creationTimestamp"));
    add_taints(page);
    describe_member(page, "Unschedulable:", spec, "unschedulable", "false");
    describe_conditions(page, "LastHeartbeatTime", "lastHeartbeatTime");
    describe_line(page, "Addresses:");
    for (json_ref a = json_first(&page->doc, describe_state(page, "addresses")); a;
         a = json_next(&page->doc, a))
        columns_put(&page->out, "  %:\t%\n", json_get_text(&page->doc, a, "type"),
                    json_get_text(&page->doc, a, "address"));
    add_amounts(page, "Capacity", "capacity");
    add_amounts(page, "Allocatable", "allocatable");
    add_system(page);
    add_attached(page);
    add_pods(page);
    describe_events(page);
}

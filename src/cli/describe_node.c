/* A node in words: its state, what it has, and the pods that are on it. */
#include "cli/describe.h"

#include <stdio.h>

#define LABEL_ROLE "kubernetes.io/role"
#define LABEL_ROLE_PREFIX "node-role.kubernetes.io/"

/* From labels, which come in the order of their keys: whose key ends with the role, and one whose value it
 * is. */
static void add_roles(struct describe *x)
{
    json_ref labels = describe_meta(x, "labels");
    bool has_one = false;

    buf_add_cstr(&x->out.text, "Roles:\t");
    for (json_ref l = json_first(&x->doc, labels); l; l = json_next(&x->doc, l)) {
        struct str role = json_key(&x->doc, l);

        if (str_is(role, LABEL_ROLE))
            role = json_text(&x->doc, l);
        else if (str_has_prefix(role, LABEL_ROLE_PREFIX))
            role = (struct str){ role.s + sizeof LABEL_ROLE_PREFIX - 1,
                                 role.len - (sizeof LABEL_ROLE_PREFIX - 1) };
        else
            continue;
        if (role.len == 0)
            continue;
        if (has_one)
            buf_add_char(&x->out.text, ',');
        columns_add_cell(&x->out, role);
        has_one = true;
    }
    buf_add_cstr(&x->out.text, has_one ? "\n" : "<none>\n");
}

static void add_taints(struct describe *x)
{
    json_ref taints = describe_spec(x, "taints");

    buf_addf(&x->out.text, "Taints:\t%s", json_first(&x->doc, taints) ? "" : "<none>\n");
    for (json_ref t = json_first(&x->doc, taints); t; t = json_next(&x->doc, t)) {
        struct str value = json_get_text(&x->doc, t, "value");

        if (t != json_first(&x->doc, taints))
            buf_add_char(&x->out.text, '\t');
        columns_add_cell(&x->out, json_get_text(&x->doc, t, "key"));
        if (value.len) {
            buf_add_char(&x->out.text, '=');
            columns_add_cell(&x->out, value);
        }
        buf_add_char(&x->out.text, ':');
        columns_add_cell(&x->out, json_get_text(&x->doc, t, "effect"));
        buf_add_char(&x->out.text, '\n');
    }
}

static void add_addresses(struct describe *x)
{
    describe_line(x, "Addresses:");
    for (json_ref a = json_first(&x->doc, describe_state(x, "addresses")); a; a = json_next(&x->doc, a)) {
        buf_add_cstr(&x->out.text, "  ");
        columns_add_cell(&x->out, json_get_text(&x->doc, a, "type"));
        describe_text(x, ":", json_get_text(&x->doc, a, "address"));
    }
}

static void add_amounts(struct describe *x, const char *label, const char *member)
{
    json_ref amounts = describe_state(x, member);

    if (json_first(&x->doc, amounts))
        describe_line(x, "%s:", label);
    for (json_ref a = json_first(&x->doc, amounts); a; a = json_next(&x->doc, a)) {
        buf_add_cstr(&x->out.text, "  ");
        columns_add_cell(&x->out, json_key(&x->doc, a));
        describe_text(x, ":", json_text(&x->doc, a));
    }
}

static void add_system(struct describe *x)
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

    describe_line(x, "System Info:");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        describe_member(x, rows[i].label, describe_state(x, "nodeInfo"), rows[i].member, "");
}

static void add_pods(struct describe *x)
{
    _cleanup_(buf_done_p) struct buf fields = BUF_INIT(1024);
    json_ref pods;

    buf_addf(&fields, "spec.nodeName=%.*s,status.phase!=Succeeded,status.phase!=Failed",
             STR_ARG(json_text(&x->doc, describe_meta(x, "name"))));
    pods = fields.failed ? 0 : describe_list_objects(x, KIND_POD, /* ns= */ NULL, buf_cstr(&fields));
    describe_line(x, "Non-terminated Pods:\t(%u in total)", json_count(&x->doc, pods));
    if (json_first(&x->doc, pods))
        describe_line(x, "  Namespace\tName\n  ---------\t----");
    for (json_ref p = json_first(&x->doc, pods); p; p = json_next(&x->doc, p)) {
        json_ref meta = json_get(&x->doc, p, "metadata");

        buf_add_cstr(&x->out.text, "  ");
        columns_add_cell(&x->out, json_get_text(&x->doc, meta, "namespace"));
        describe_text(x, "", json_get_text(&x->doc, meta, "name"));
    }
}

/* Volumes that the node holds. */
static void add_attached(struct describe *x)
{
    json_ref attached = describe_state(x, "volumesAttached");

    if (json_first(&x->doc, attached))
        describe_line(x, "Attached Volumes:");
    for (json_ref v = json_first(&x->doc, attached); v; v = json_next(&x->doc, v)) {
        struct str path = json_get_text(&x->doc, v, "devicePath");

        buf_add_cstr(&x->out.text, "  ");
        columns_add_cell(&x->out, json_get_text(&x->doc, v, "name"));
        if (path.len)
            describe_text(x, "", path);
        else
            buf_add_char(&x->out.text, '\n'); /* no cell: it would widen the lines that follow */
    }
}

void describe_node(struct describe *x)
{
    json_ref spec = json_get(&x->doc, x->object, "spec");

    describe_text(x, "Name:", json_text(&x->doc, describe_meta(x, "name")));
    add_roles(x);
    describe_labels(x, "Labels:", describe_meta(x, "labels"));
    describe_annotations(x, describe_meta(x, "annotations"));
    describe_time(x, "CreationTimestamp:", describe_meta(x, "creationTimestamp"));
    add_taints(x);
    describe_member(x, "Unschedulable:", spec, "unschedulable", "false");
    describe_conditions(x, "LastHeartbeatTime", "lastHeartbeatTime");
    add_addresses(x);
    add_amounts(x, "Capacity", "capacity");
    add_amounts(x, "Allocatable", "allocatable");
    add_system(x);
    add_attached(x);
    add_pods(x);
    describe_events(x);
}

/* A pod in words: where it runs, its containers, its volumes. */
#include "cli/describe.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void add_cell(struct describe *x, struct str text)
{
    columns_add_cell(&x->out, text);
}

static void add_text(struct describe *x, const char *text)
{
    buf_add_cstr(&x->out.text, text);
}

/* --- The head --- */

static void add_node(struct describe *x)
{
    struct str node = json_text(&x->doc, describe_spec(x, "nodeName"));

    if (node.len == 0) {
        describe_line(x, "Node:\t<none>");
        return;
    }
    add_text(x, "Node:\t");
    add_cell(x, node);
    add_text(x, "/");
    add_cell(x, json_text(&x->doc, describe_state(x, "hostIP")));
    add_text(x, "\n");
}

static void add_if(struct describe *x, const char *label, json_ref value)
{
    if (json_text(&x->doc, value).len)
        describe_text(x, label, json_text(&x->doc, value));
}

static void add_addresses(struct describe *x)
{
    json_ref ips = describe_state(x, "podIPs");

    describe_text(x, "IP:", json_text(&x->doc, describe_state(x, "podIP")));
    describe_line(x, json_first(&x->doc, ips) ? "IPs:" : "IPs:\t<none>");
    for (json_ref ip = json_first(&x->doc, ips); ip; ip = json_next(&x->doc, ip))
        describe_member(x, "  IP:", ip, "ip", "");
}

static void add_controller(struct describe *x)
{
    json_ref owners = describe_meta(x, "ownerReferences");

    for (json_ref o = json_first(&x->doc, owners); o; o = json_next(&x->doc, o)) {
        if (json_type(&x->doc, json_get(&x->doc, o, "controller")) != JSON_TRUE)
            continue;
        add_text(x, "Controlled By:\t");
        add_cell(x, json_get_text(&x->doc, o, "kind"));
        add_text(x, "/");
        add_cell(x, json_get_text(&x->doc, o, "name"));
        add_text(x, "\n");
        return;
    }
}

static void add_head(struct describe *x)
{
    describe_text(x, "Name:", json_text(&x->doc, describe_meta(x, "name")));
    describe_text(x, "Namespace:", json_text(&x->doc, describe_meta(x, "namespace")));
    describe_member(x, "Priority:", json_get(&x->doc, x->object, "spec"), "priority", "0");
    add_if(x, "Priority Class Name:", describe_spec(x, "priorityClassName"));
    add_if(x, "Runtime Class Name:", describe_spec(x, "runtimeClassName"));
    add_if(x, "Service Account:", describe_spec(x, "serviceAccountName"));
    add_node(x);
    if (describe_state(x, "startTime"))
        describe_time(x, "Start Time:", describe_state(x, "startTime"));
    describe_labels(x, "Labels:", describe_meta(x, "labels"));
    describe_annotations(x, describe_meta(x, "annotations"));
    describe_status(x, json_text(&x->doc, describe_state(x, "phase")));
    if (describe_meta(x, "deletionTimestamp")) {
        add_text(x, "Termination Grace Period:\t");
        add_cell(x, json_text(&x->doc, describe_meta(x, "deletionGracePeriodSeconds")));
        add_text(x, "s\n");
    }
    add_if(x, "Reason:", describe_state(x, "reason"));
    add_if(x, "Message:", describe_state(x, "message"));
    add_addresses(x);
    add_controller(x);
    add_if(x, "NominatedNodeName:", describe_state(x, "nominatedNodeName"));
}

/* --- Containers --- */

static json_ref find_status(struct describe *x, const char *list, struct str name)
{
    for (json_ref s = json_first(&x->doc, describe_state(x, list)); s; s = json_next(&x->doc, s))
        if (str_eq(json_get_text(&x->doc, s, "name"), name))
            return s;
    return 0;
}

/* "80/TCP, 443/TCP" of one member of each. */
static void add_port_list(struct describe *x, json_ref ports, const char *label, const char *member)
{
    bool has_several = json_count(&x->doc, ports) > 1;

    buf_addf(&x->out.text, "    %s%s:\t%s", label, has_several ? "s" : "",
             json_first(&x->doc, ports) ? "" : "<none>");
    for (json_ref p = json_first(&x->doc, ports); p; p = json_next(&x->doc, p)) {
        struct str number = json_text(&x->doc, json_get(&x->doc, p, member));

        add_cell(x, number.len ? number : STR_LIT("0"));
        add_text(x, "/");
        add_cell(x, json_get_text(&x->doc, p, "protocol"));
        add_text(x, json_next(&x->doc, p) ? ", " : "");
    }
    add_text(x, "\n");
}

static void add_words(struct describe *x, const char *label, json_ref words)
{
    if (json_first(&x->doc, words))
        describe_line(x, "    %s:", label);
    for (json_ref w = json_first(&x->doc, words); w; w = json_next(&x->doc, w)) {
        struct str rest = json_text(&x->doc, w);

        while (rest.s) {
            add_text(x, "      ");
            add_cell(x, str_next(&rest, '\n'));
            add_text(x, "\n");
        }
    }
}

static void add_terminated(struct describe *x, json_ref end)
{
    if (json_get(&x->doc, end, "reason"))
        describe_member(x, "      Reason:", end, "reason", "");
    if (json_get(&x->doc, end, "message"))
        describe_member(x, "      Message:", end, "message", "");
    describe_member(x, "      Exit Code:", end, "exitCode", "0");
    if (json_get(&x->doc, end, "signal"))
        describe_member(x, "      Signal:", end, "signal", "");
    describe_time(x, "      Started:", json_get(&x->doc, end, "startedAt"));
    describe_time(x, "      Finished:", json_get(&x->doc, end, "finishedAt"));
}

static void add_state(struct describe *x, const char *label, json_ref state)
{
    json_ref running = json_get(&x->doc, state, "running"), end = json_get(&x->doc, state, "terminated");
    json_ref waiting = json_get(&x->doc, state, "waiting");

    if (running) {
        describe_cstr(x, label, "Running");
        describe_time(x, "      Started:", json_get(&x->doc, running, "startedAt"));
    } else if (end) {
        describe_cstr(x, label, "Terminated");
        add_terminated(x, end);
    } else {
        describe_cstr(x, label, "Waiting");
        if (json_get_text(&x->doc, waiting, "reason").len)
            describe_member(x, "      Reason:", waiting, "reason", "");
    }
}

static void add_container_state(struct describe *x, json_ref status)
{
    json_ref ready = json_get(&x->doc, status, "ready");

    if (!status)
        return;
    add_state(x, "    State:", json_get(&x->doc, status, "state"));
    if (json_path(&x->doc, status, "lastState", "terminated"))
        add_state(x, "    Last State:", json_get(&x->doc, status, "lastState"));
    describe_cstr(x, "    Ready:", json_type(&x->doc, ready) == JSON_TRUE ? "True" : "False");
    describe_member(x, "    Restart Count:", status, "restartCount", "0");
}

static void add_resources(struct describe *x, json_ref resources, const char *label, const char *member)
{
    json_ref amounts = json_get(&x->doc, resources, member);

    if (json_first(&x->doc, amounts))
        describe_line(x, "    %s:", label);
    for (json_ref a = json_first(&x->doc, amounts); a; a = json_next(&x->doc, a)) {
        add_text(x, "      ");
        add_cell(x, json_key(&x->doc, a));
        describe_text(x, ":", json_text(&x->doc, a));
    }
}

static void add_environment(struct describe *x, json_ref env)
{
    describe_line(x, json_first(&x->doc, env) ? "    Environment:" : "    Environment:\t<none>");
    for (json_ref e = json_first(&x->doc, env); e; e = json_next(&x->doc, e)) {
        _cleanup_(buf_done_p) struct buf from = BUF_INIT(1 << 20);
        json_ref source = json_get(&x->doc, e, "valueFrom");

        if (source)
            json_write(&x->doc, source, &from);
        add_text(x, "      ");
        add_cell(x, json_get_text(&x->doc, e, "name"));
        describe_text(x, ":", source ? buf_str(&from) : json_get_text(&x->doc, e, "value"));
    }
}

/* Something to be shown in the order of a key; equal ones as they come. */
struct keyed {
    struct str key;
    json_ref v;
    size_t index;
};

static int compare_keyed(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    int order = str_cmp(x->key, y->key);

    return order ? order : (x->index > y->index) - (x->index < y->index);
}

/* Shows each item of a list, sorted by a member. False when there is none, or no memory. */
static bool show_sorted(struct describe *x, json_ref list, const char *member,
                        void (*show)(struct describe *x, json_ref item, bool is_first))
{
    _cleanup_(vec_done_p) VEC(struct keyed) items = { 0 };

    for (json_ref v = json_first(&x->doc, list); v; v = json_next(&x->doc, v))
        if (vec_push(&items, (struct keyed){ json_get_text(&x->doc, v, member), v, items.count }) < 0)
            return false;
    if (items.count)
        qsort(items.items, items.count, sizeof *items.items, compare_keyed);
    for (size_t i = 0; i < items.count; i++)
        show(x, items.items[i].v, i == 0);
    return items.count > 0;
}

static void add_mount(struct describe *x, json_ref mount, bool is_first)
{
    struct str sub_path = json_get_text(&x->doc, mount, "subPath");
    bool is_read_only = json_type(&x->doc, json_get(&x->doc, mount, "readOnly")) == JSON_TRUE;

    add_text(x, is_first ? "    Mounts:\n      " : "      ");
    add_cell(x, json_get_text(&x->doc, mount, "mountPath"));
    add_text(x, " from ");
    add_cell(x, json_get_text(&x->doc, mount, "name"));
    add_text(x, is_read_only ? " (ro" : " (rw");
    if (sub_path.len) {
        add_text(x, ",path=\"");
        add_cell(x, sub_path);
        add_text(x, "\"");
    }
    add_text(x, ")\n");
}

static void add_mounts(struct describe *x, json_ref container)
{
    json_ref devices = json_get(&x->doc, container, "volumeDevices");

    if (!show_sorted(x, json_get(&x->doc, container, "volumeMounts"), "mountPath", add_mount))
        describe_line(x, "    Mounts:\t<none>");
    if (json_first(&x->doc, devices))
        describe_line(x, "    Devices:");
    for (json_ref m = json_first(&x->doc, devices); m; m = json_next(&x->doc, m)) {
        add_text(x, "      ");
        add_cell(x, json_get_text(&x->doc, m, "devicePath"));
        add_text(x, " from ");
        add_cell(x, json_get_text(&x->doc, m, "name"));
        add_text(x, "\n");
    }
}

static void add_container(struct describe *x, json_ref container, const char *statuses)
{
    struct str name = json_get_text(&x->doc, container, "name");
    json_ref status = find_status(x, statuses, name), ports = json_get(&x->doc, container, "ports");
    json_ref resources = json_get(&x->doc, container, "resources");

    add_text(x, "  ");
    add_cell(x, name);
    add_text(x, ":\n");
    if (status)
        describe_member(x, "    Container ID:", status, "containerID", "");
    describe_member(x, "    Image:", container, "image", "");
    if (status)
        describe_member(x, "    Image ID:", status, "imageID", "");
    add_port_list(x, ports, "Port", "containerPort");
    add_port_list(x, ports, "Host Port", "hostPort");
    add_words(x, "Command", json_get(&x->doc, container, "command"));
    add_words(x, "Args", json_get(&x->doc, container, "args"));
    add_container_state(x, status);
    add_resources(x, resources, "Limits", "limits");
    add_resources(x, resources, "Requests", "requests");
    add_environment(x, json_get(&x->doc, container, "env"));
    add_mounts(x, container);
}

static void add_containers(struct describe *x, const char *label, const char *list, const char *statuses)
{
    json_ref containers = describe_spec(x, list);

    if (json_first(&x->doc, containers))
        describe_line(x, "%s:", label);
    for (json_ref c = json_first(&x->doc, containers); c; c = json_next(&x->doc, c))
        add_container(x, c, statuses);
}

/* --- The rest --- */

static void add_conditions(struct describe *x)
{
    json_ref conditions = describe_state(x, "conditions");

    if (json_first(&x->doc, conditions))
        describe_line(x, "Conditions:\n  Type\tStatus");
    for (json_ref c = json_first(&x->doc, conditions); c; c = json_next(&x->doc, c)) {
        add_text(x, "  ");
        add_cell(x, json_get_text(&x->doc, c, "type"));
        add_text(x, " \t");
        add_cell(x, json_get_text(&x->doc, c, "status"));
        add_text(x, " \n");
    }
}

static void add_volumes(struct describe *x)
{
    json_ref volumes = describe_spec(x, "volumes");

    describe_line(x, json_first(&x->doc, volumes) ? "Volumes:" : "Volumes:\t<none>");
    for (json_ref v = json_first(&x->doc, volumes); v; v = json_next(&x->doc, v)) {
        add_text(x, "  ");
        add_cell(x, json_get_text(&x->doc, v, "name"));
        add_text(x, ":\n");
        describe_source(x, v, "    ");
    }
}

static void add_toleration(struct describe *x, json_ref t, bool is_first)
{
    struct str value = json_get_text(&x->doc, t, "value"), effect = json_get_text(&x->doc, t, "effect");
    struct str op = json_get_text(&x->doc, t, "operator");
    int64_t seconds;

    add_text(x, is_first ? "Tolerations:\t" : "\t");
    add_cell(x, json_get_text(&x->doc, t, "key"));
    if (value.len) {
        add_text(x, "=");
        add_cell(x, value);
    }
    if (effect.len) {
        add_text(x, ":");
        add_cell(x, effect);
    }
    if (str_is(op, "Exists") && value.len == 0)
        add_text(x, json_get_text(&x->doc, t, "key").len || effect.len ? " op=Exists" : "op=Exists");
    if (json_int64(&x->doc, json_get(&x->doc, t, "tolerationSeconds"), &seconds))
        buf_addf(&x->out.text, " for %" PRId64 "s", seconds);
    add_text(x, "\n");
}

void describe_pod(struct describe *x)
{
    add_head(x);
    add_containers(x, "Init Containers", "initContainers", "initContainerStatuses");
    add_containers(x, "Containers", "containers", "containerStatuses");
    add_conditions(x);
    add_volumes(x);
    describe_text(x, "QoS Class:", json_text(&x->doc, describe_state(x, "qosClass")));
    describe_labels(x, "Node-Selectors:", describe_spec(x, "nodeSelector"));
    if (!show_sorted(x, describe_spec(x, "tolerations"), "key", add_toleration))
        describe_line(x, "Tolerations:\t<none>");
    describe_events(x);
}

/* Describes a pod: its node, containers and volumes. */
#include "cli/describe.h"

#include <inttypes.h>
#include <stdlib.h>

/* --- Metadata --- */

static void add_node(struct describe *page)
{
    struct str node = json_text(&page->doc, describe_spec(page, "nodeName"));

    if (node.len)
        columns_put(&page->out, "Node:\t%/%\n", node, json_text(&page->doc, describe_state(page, "hostIP")));
    else
        describe_line(page, "Node:\t<none>");
}

static void add_if(struct describe *page, const char *label, json_ref value)
{
    if (json_text(&page->doc, value).len)
        describe_text(page, label, json_text(&page->doc, value));
}

static void add_addresses(struct describe *page)
{
    json_ref ips = describe_state(page, "podIPs");

    describe_text(page, "IP:", json_text(&page->doc, describe_state(page, "podIP")));
    describe_line(page, json_first(&page->doc, ips) ? "IPs:" : "IPs:\t<none>");
    for (json_ref ip = json_first(&page->doc, ips); ip; ip = json_next(&page->doc, ip))
        describe_member(page, "  IP:", ip, "ip", "");
}

static void add_controller(struct describe *page)
{
    json_ref owners = describe_meta(page, "ownerReferences");

    for (json_ref o = json_first(&page->doc, owners); o; o = json_next(&page->doc, o)) {
        if (json_type(&page->doc, json_get(&page->doc, o, "controller")) != JSON_TRUE)
            continue;
        columns_put(&page->out, "Controlled By:\t%/%\n", json_get_text(&page->doc, o, "kind"),
                    json_get_text(&page->doc, o, "name"));
        return;
    }
}

static void add_head(struct describe *page)
{
    describe_text(page, "Name:", json_text(&page->doc, describe_meta(page, "name")));
    describe_text(page, "Namespace:", json_text(&page->doc, describe_meta(page, "namespace")));
    describe_member(page, "Priority:", json_get(&page->doc, page->object, "spec"), "priority", "0");
    add_if(page, "Priority Class Name:", describe_spec(page, "priorityClassName"));
    add_if(page, "Runtime Class Name:", describe_spec(page, "runtimeClassName"));
    add_if(page, "Service Account:", describe_spec(page, "serviceAccountName"));
    add_node(page);
    if (describe_state(page, "startTime"))
        describe_time(page, "Start Time:", describe_state(page, "startTime"));
    describe_labels(page, "Labels:", describe_meta(page, "labels"));
    describe_annotations(page, describe_meta(page, "annotations"));
    describe_status(page, json_text(&page->doc, describe_state(page, "phase")));
    if (describe_meta(page, "deletionTimestamp"))
        columns_put(&page->out, "Termination Grace Period:\t%s\n",
                    json_text(&page->doc, describe_meta(page, "deletionGracePeriodSeconds")));
    add_if(page, "Reason:", describe_state(page, "reason"));
    add_if(page, "Message:", describe_state(page, "message"));
    add_addresses(page);
    add_controller(page);
    add_if(page, "NominatedNodeName:", describe_state(page, "nominatedNodeName"));
}

/* --- Containers --- */

/* "80/TCP, 443/TCP", from one member of each port. */
static void add_port_list(struct describe *page, json_ref ports, const char *label, const char *member)
{
    bool has_several = json_count(&page->doc, ports) > 1;

    buf_addf(&page->out.text, "    %s%s:\t%s", label, has_several ? "s" : "",
             json_first(&page->doc, ports) ? "" : "<none>");
    for (json_ref p = json_first(&page->doc, ports); p; p = json_next(&page->doc, p)) {
        struct str number = json_text(&page->doc, json_get(&page->doc, p, member));

        columns_put(&page->out, json_next(&page->doc, p) ? "%/%, " : "%/%",
                    number.len ? number : STR_LIT("0"), json_get_text(&page->doc, p, "protocol"));
    }
    buf_add_char(&page->out.text, '\n');
}

static void add_words(struct describe *page, const char *label, json_ref words)
{
    if (json_first(&page->doc, words))
        describe_line(page, "    %s:", label);
    for (json_ref w = json_first(&page->doc, words); w; w = json_next(&page->doc, w)) {
        struct str rest = json_text(&page->doc, w);

        while (rest.s)
            columns_put(&page->out, "      %\n", str_next(&rest, '\n'));
    }
}

static void add_terminated(struct describe *page, json_ref end)
{
    if (json_get(&page->doc, end, "reason"))
        describe_member(page, "      Reason:", end, "reason", "");
    if (json_get(&page->doc, end, "message"))
        describe_member(page, "      Message:", end, "message", "");
    describe_member(page, "      Exit Code:", end, "exitCode", "0");
    if (json_get(&page->doc, end, "signal"))
        describe_member(page, "      Signal:", end, "signal", "");
    describe_time(page, "      Started:", json_get(&page->doc, end, "startedAt"));
    describe_time(page, "      Finished:", json_get(&page->doc, end, "finishedAt"));
}

static void add_state(struct describe *page, const char *label, json_ref state)
{
    json_ref running = json_get(&page->doc, state, "running"),
             end = json_get(&page->doc, state, "terminated");
    json_ref waiting = json_get(&page->doc, state, "waiting");

    if (running) {
        describe_cstr(page, label, "Running");
        describe_time(page, "      Started:", json_get(&page->doc, running, "startedAt"));
    } else if (end) {
        describe_cstr(page, label, "Terminated");
        add_terminated(page, end);
    } else {
        describe_cstr(page, label, "Waiting");
        if (json_get_text(&page->doc, waiting, "reason").len)
            describe_member(page, "      Reason:", waiting, "reason", "");
    }
}

static void add_container_state(struct describe *page, json_ref status)
{
    json_ref ready = json_get(&page->doc, status, "ready");

    if (!status)
        return;
    add_state(page, "    State:", json_get(&page->doc, status, "state"));
    if (json_path(&page->doc, status, "lastState", "terminated"))
        add_state(page, "    Last State:", json_get(&page->doc, status, "lastState"));
    describe_cstr(page, "    Ready:", json_type(&page->doc, ready) == JSON_TRUE ? "True" : "False");
    describe_member(page, "    Restart Count:", status, "restartCount", "0");
}

static void add_resources(struct describe *page, json_ref resources, const char *label, const char *member)
{
    json_ref amounts = json_get(&page->doc, resources, member);

    if (json_first(&page->doc, amounts))
        describe_line(page, "    %s:", label);
    for (json_ref a = json_first(&page->doc, amounts); a; a = json_next(&page->doc, a))
        columns_put(&page->out, "      %:\t%\n", json_key(&page->doc, a), json_text(&page->doc, a));
}

static void add_environment(struct describe *page, json_ref env)
{
    describe_line(page, json_first(&page->doc, env) ? "    Environment:" : "    Environment:\t<none>");
    for (json_ref e = json_first(&page->doc, env); e; e = json_next(&page->doc, e)) {
        _cleanup_(buf_done_p) struct buf from = BUF_INIT(1 << 20);
        json_ref source = json_get(&page->doc, e, "valueFrom");

        if (source)
            json_write(&page->doc, source, &from);
        columns_put(&page->out, "      %:\t%\n", json_get_text(&page->doc, e, "name"),
                    source ? buf_str(&from) : json_get_text(&page->doc, e, "value"));
    }
}

/* An item to be sorted by a key; equal ones keep their order. */
struct keyed {
    struct str key;
    json_ref v;
    size_t index;
};

static int compare_keyed(const void *a, const void *b)
{
    const struct keyed *left = a, *right = b;
    int order = str_cmp(left->key, right->key);

    return order ? order : (left->index > right->index) - (left->index < right->index);
}

/* Shows each item of a list, sorted by a member. False when the list is empty, or memory is short. */
static bool show_sorted(struct describe *page, json_ref list, const char *member,
                        void (*show)(struct describe *page, json_ref item, bool is_first))
{
    _cleanup_(vec_done_p) VEC(struct keyed) items = { 0 };

    for (json_ref v = json_first(&page->doc, list); v; v = json_next(&page->doc, v))
        if (vec_push(&items, (struct keyed){ json_get_text(&page->doc, v, member), v, items.count }) < 0)
            return false;
    if (items.count)
        qsort(items.items, items.count, sizeof *items.items, compare_keyed);
    for (size_t i = 0; i < items.count; i++)
        show(page, items.items[i].v, i == 0);
    return items.count > 0;
}

static void add_mount(struct describe *page, json_ref mount, bool is_first)
{
    struct str sub_path = json_get_text(&page->doc, mount, "subPath");
    bool is_read_only = json_type(&page->doc, json_get(&page->doc, mount, "readOnly")) == JSON_TRUE;

    columns_put(&page->out, is_first ? "    Mounts:\n      % from % (" : "      % from % (",
                json_get_text(&page->doc, mount, "mountPath"), json_get_text(&page->doc, mount, "name"));
    buf_add_cstr(&page->out.text, is_read_only ? "ro" : "rw");
    if (sub_path.len)
        columns_put(&page->out, ",path=\"%\"", sub_path);
    buf_add_cstr(&page->out.text, ")\n");
}

static void add_mounts(struct describe *page, json_ref container)
{
    json_ref devices = json_get(&page->doc, container, "volumeDevices");

    if (!show_sorted(page, json_get(&page->doc, container, "volumeMounts"), "mountPath", add_mount))
        describe_line(page, "    Mounts:\t<none>");
    if (json_first(&page->doc, devices))
        describe_line(page, "    Devices:");
    for (json_ref m = json_first(&page->doc, devices); m; m = json_next(&page->doc, m))
        columns_put(&page->out, "      % from %\n", json_get_text(&page->doc, m, "devicePath"),
                    json_get_text(&page->doc, m, "name"));
}

static void add_container(struct describe *page, json_ref container, const char *statuses)
{
    struct str name = json_get_text(&page->doc, container, "name");
    json_ref status = json_first(&page->doc, describe_state(page, statuses));
    json_ref ports = json_get(&page->doc, container, "ports");
    json_ref resources = json_get(&page->doc, container, "resources");

    while (status && !str_eq(json_get_text(&page->doc, status, "name"), name))
        status = json_next(&page->doc, status);
    columns_put(&page->out, "  %:\n", name);
    if (status)
        describe_member(page, "    Container ID:", status, "containerID", "");
    describe_member(page, "    Image:", container, "image", "");
    if (status)
        describe_member(page, "    Image ID:", status, "imageID", "");
    add_port_list(page, ports, "Port", "containerPort");
    add_port_list(page, ports, "Host Port", "hostPort");
    add_words(page, "Command", json_get(&page->doc, container, "command"));
    add_words(page, "Args", json_get(&page->doc, container, "args"));
    add_container_state(page, status);
    add_resources(page, resources, "Limits", "limits");
    add_resources(page, resources, "Requests", "requests");
    add_environment(page, json_get(&page->doc, container, "env"));
    add_mounts(page, container);
}

static void add_containers(struct describe *page, const char *label, const char *list, const char *statuses)
{
    json_ref containers = describe_spec(page, list);

    if (json_first(&page->doc, containers))
        describe_line(page, "%s:", label);
    for (json_ref c = json_first(&page->doc, containers); c; c = json_next(&page->doc, c))
        add_container(page, c, statuses);
}

/* --- Conditions, tolerations and volumes --- */

static void add_conditions(struct describe *page)
{
    json_ref conditions = describe_state(page, "conditions");

    if (json_first(&page->doc, conditions))
        describe_line(page, "Conditions:\n  Type\tStatus");
    for (json_ref c = json_first(&page->doc, conditions); c; c = json_next(&page->doc, c))
        columns_put(&page->out, "  % \t% \n", json_get_text(&page->doc, c, "type"),
                    json_get_text(&page->doc, c, "status"));
}

static void add_volumes(struct describe *page)
{
    json_ref volumes = describe_spec(page, "volumes");

    describe_line(page, json_first(&page->doc, volumes) ? "Volumes:" : "Volumes:\t<none>");
    for (json_ref v = json_first(&page->doc, volumes); v; v = json_next(&page->doc, v)) {
        columns_put(&page->out, "  %:\n", json_get_text(&page->doc, v, "name"));
        describe_source(page, v, "    ");
    }
}

static void add_toleration(struct describe *page, json_ref t, bool is_first)
{
    struct str value = json_get_text(&page->doc, t, "value"), effect = json_get_text(&page->doc, t, "effect");
    struct str op = json_get_text(&page->doc, t, "operator");
    int64_t seconds;

    columns_put(&page->out, is_first ? "Tolerations:\t%" : "\t%", json_get_text(&page->doc, t, "key"));
    if (value.len)
        columns_put(&page->out, "=%", value);
    if (effect.len)
        columns_put(&page->out, ":%", effect);
    if (str_is(op, "Exists") && value.len == 0)
        buf_add_cstr(&page->out.text,
                     json_get_text(&page->doc, t, "key").len || effect.len ? " op=Exists" : "op=Exists");
    if (json_int64(&page->doc, json_get(&page->doc, t, "tolerationSeconds"), &seconds))
        buf_addf(&page->out.text, " for %" PRId64 "s", seconds);
    buf_add_char(&page->out.text, '\n');
}

void describe_pod(struct describe *page)
{
    add_head(page);
    add_containers(page, "Init Containers", "initContainers", "initContainerStatuses");
    add_containers(page, "Containers", "containers", "containerStatuses");
    add_conditions(page);
    add_volumes(page);
    describe_text(page, "QoS Class:", json_text(&page->doc, describe_state(page, "qosClass")));
    describe_labels(page, "Node-Selectors:", describe_spec(page, "nodeSelector"));
    if (!show_sorted(page, describe_spec(page, "tolerations"), "key", add_toleration))
        describe_line(page, "Tolerations:\t<none>");
    describe_events(page);
}

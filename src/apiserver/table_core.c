/* Cells of nodes, events, namespaces, config maps, secrets, service accounts, leases, services and their
 * endpoints. */
#include "apiserver/table_int.h"

#include <inttypes.h>
#include <string.h>

#include "api/config.h"
#include "api/event.h"
#include "api/lease.h"
#include "api/namespace.h"
#include "api/node.h"
#include "api/service.h"

#define LABEL_ROLE "kubernetes.io/role"
#define LABEL_ROLE_PREFIX "node-role.kubernetes.io/"

/* --- Node --- */

static const struct column node_columns[] = {
    COLUMN_NAME,
    { "Status", "string", "Whether the node is ready and schedulable." },
    { "Roles", "string", "The roles of the node, from its labels." },
    COLUMN_AGE,
    { "Version", "string", "Version of the node agent." },
    { "Internal-IP", "string", "The node's address in the cluster.", 1 },
    { "External-IP", "string", "The node's external address.", 1 },
    { "OS-Image", "string", "The name of the operating system.", 1 },
    { "Kernel-Version", "string", "Version of the kernel, and the architecture.", 1 },
    { "Container-Runtime", "string", "The container runtime and its version.", 1 },
};

/* The last condition of the type counts. */
static void cell_node_status(struct cells *c, const struct node *n)
{
    const char *word = "Unknown";

    for (uint32_t i = 0; i < n->conditions.count; i++) {
        const struct status_condition *condition = &n->conditions.items[i];

        if (strcmp(condition->type, "Ready") == 0)
            word = condition->status == CONDITION_TRUE ? "Ready" : "NotReady";
    }
    cell_open(c);
    cell_add(c, word);
    cell_add(c, n->is_unschedulable ? ",SchedulingDisabled" : "");
    cell_close(c);
}

static void add_role(struct cells *c, const char *role, bool *has_one)
{
    cell_add(c, *has_one ? "," : "");
    cell_add(c, role);
    *has_one = true;
}

/* The roles sorted by name, without duplicates. Labels are sorted already; the one label whose value is a
 * role is inserted in order. */
static void cell_roles(struct cells *c, const struct object *o)
{
    const char *single = object_label(o, LABEL_ROLE);
    bool has_one = false;

    if (single && single[0] == '\0')
        single = NULL;
    cell_open(c);
    for (uint32_t i = 0; i < o->labels.count; i++) {
        const char *role = o->labels.items[i].key + strlen(LABEL_ROLE_PREFIX);

        if (!str_has_prefix(str_of(o->labels.items[i].key), LABEL_ROLE_PREFIX) || role[0] == '\0')
            continue;
        if (single && strcmp(single, role) < 0)
            add_role(c, TAKE(single), &has_one);
        if (single && strcmp(single, role) == 0)
            single = NULL;
        add_role(c, role, &has_one);
    }
    if (single)
        add_role(c, single, &has_one);
    cell_add(c, has_one ? "" : "<none>");
    cell_close(c);
}

static void cell_address(struct cells *c, const struct node *n, const char *type)
{
    const char *address = node_address(n, type);

    cell_text(c, address ? address : "<none>");
}

/* `6.1.0 (amd64)`. */
static void cell_kernel(struct cells *c, const struct node_system *s)
{
    cell_open(c);
    cell_add(c, s->kernel_version[0] ? s->kernel_version : "<unknown>");
    if (s->kernel_version[0] && s->architecture[0]) {
        cell_add(c, " (");
        cell_add(c, s->architecture);
        cell_add(c, ")");
    }
    cell_close(c);
}

static void node_cells(const struct object *o, struct cells *c)
{
    const struct node *n = node_of(o);

    cell_text(c, o->name);
    cell_node_status(c, n);
    cell_roles(c, o);
    cell_age(c, o->created);
    cell_text(c, n->system.kubelet_version);
    cell_address(c, n, "InternalIP");
    cell_address(c, n, "ExternalIP");
    cell_text_or(c, n->system.os_image, "<unknown>");
    cell_kernel(c, &n->system);
    cell_text_or(c, n->system.container_runtime, "<unknown>");
}

const struct table_kind node_table = { COLUMNS(node_columns), node_cells };

/* --- Event --- */

/* The name is last and hidden: users do not look for an event by its name. */
static const struct column event_columns[] = {
    { "Last Seen", "string", "Time since the event last occurred." },
    { "Type", "string", "Normal or Warning." },
    { "Reason", "string", "The reason, as one word." },
    { "Object", "string", "The object that the event refers to." },
    { "Subobject", "string", "The part of the object that the event refers to.", 1 },
    { "Source", "string", "The component that reported the event.", 1 },
    { "Message", "string", "The description of the event." },
    { "First Seen", "string", "Time since the event first occurred.", 1 },
    { "Count", "string", "How often the event occurred.", 1 },
    { "Name", "string", "The name of the event.", 1 },
};

/* Times of an event: core events have two, events.k8s.io events have one, and a series the time of its last
 * occurrence. */
struct event_times {
    struct timestamp first;
    struct timestamp last;
    int64_t count;
};

static struct event_times event_times(const struct event *e)
{
    bool is_series = e->series_count != 0 || !timestamp_is_zero(e->series_last);
    struct event_times t = { .first = timestamp_is_zero(e->first) ? e->time : e->first };

    t.last = timestamp_is_zero(e->last) ? t.first : e->last;
    t.count = e->count ? e->count : 1;
    if (is_series) {
        t.last = e->series_last;
        t.count = e->series_count;
    }
    return t;
}

/* "persistentvolumeclaim/data" */
static void cell_involved(struct cells *c, const struct event_object *involved)
{
    static const char capitals[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

    cell_open(c);
    for (const char *s = involved->kind; *s;) {
        size_t len = strcspn(s, capitals);

        json_write_chars(c->out, (struct str){ s, len });
        s += len;
        if (*s)
            json_write_chars(c->out, (struct str){ (const char[]){ (char)(*s++ - 'A' + 'a') }, 1 });
    }
    if (involved->name[0]) {
        cell_add(c, "/");
        cell_add(c, involved->name);
    }
    cell_close(c);
}

/* "component, instance": the deprecated fields if they are set, otherwise the new ones. */
static void cell_source(struct cells *c, const struct event *e)
{
    const char *instance = e->source_host[0] ? e->source_host : e->reporting_instance;

    cell_open(c);
    cell_add(c, e->source_component[0] ? e->source_component : e->reporting_controller);
    if (instance[0]) {
        cell_add(c, ", ");
        cell_add(c, instance);
    }
    cell_close(c);
}

static void event_cells(const struct object *o, struct cells *c)
{
    const struct event *e = VIEW_OF(o, event);
    struct event_times t = event_times(e);

    cell_age(c, t.last);
    cell_text(c, e->type);
    cell_text(c, e->reason);
    cell_involved(c, &e->involved);
    cell_text(c, e->involved.field_path);
    cell_source(c, e);
    cell_open(c);
    json_write_chars(c->out, str_trim(str_of(e->message)));
    cell_close(c);
    cell_age(c, t.first);
    cell_int(c, t.count);
    cell_text(c, o->name);
}

const struct table_kind event_table = { COLUMNS(event_columns), event_cells };

/* --- Namespace --- */

static const struct column namespace_columns[] = {
    COLUMN_NAME,
    { "Status", "string", "The phase of the namespace: Active or Terminating." },
    COLUMN_AGE,
};

static void namespace_cells(const struct object *o, struct cells *c)
{
    cell_text(c, o->name);
    cell_text(c, namespace_phase_names[namespace_of(o)->phase]);
    cell_age(c, o->created);
}

const struct table_kind namespace_table = { COLUMNS(namespace_columns), namespace_cells };

/* --- ConfigMap, Secret, ServiceAccount --- */

static const struct column config_map_columns[] = {
    COLUMN_NAME,
    { "Data", "string", "The number of entries." },
    COLUMN_AGE,
};

static void config_map_cells(const struct object *o, struct cells *c)
{
    cell_text(c, o->name);
    cell_int(c, VIEW_OF(o, config_map)->data.count);
    cell_age(c, o->created);
}

const struct table_kind config_map_table = { COLUMNS(config_map_columns), config_map_cells };

static const struct column secret_columns[] = {
    COLUMN_NAME,
    { "Type", "string", "The type of the secret." },
    { "Data", "string", "The number of entries." },
    COLUMN_AGE,
};

static void secret_cells(const struct object *o, struct cells *c)
{
    const struct secret *s = VIEW_OF(o, secret);

    cell_text(c, o->name);
    cell_text(c, s->type);
    cell_int(c, s->data.count);
    cell_age(c, o->created);
}

const struct table_kind secret_table = { COLUMNS(secret_columns), secret_cells };

static const struct column service_account_columns[] = { COLUMN_NAME, COLUMN_AGE };

static void service_account_cells(const struct object *o, struct cells *c)
{
    cell_text(c, o->name);
    cell_age(c, o->created);
}

const struct table_kind service_account_table = { COLUMNS(service_account_columns), service_account_cells };

/* --- Lease --- */

static const struct column lease_columns[] = {
    COLUMN_NAME,
    { "Holder", "string", "The holder of the lease." },
    COLUMN_AGE,
};

static void lease_cells(const struct object *o, struct cells *c)
{
    cell_text(c, o->name);
    cell_text(c, VIEW_OF(o, lease)->holder);
    cell_age(c, o->created);
}

const struct table_kind lease_table = { COLUMNS(lease_columns), lease_cells };

/* --- Service, Endpoints, EndpointSlice --- */

static const struct column service_columns[] = {
    COLUMN_NAME,
    { "Type", "string", "How the service is exposed." },
    { "Cluster-IP", "string", "The address of the service." },
    { "External-IP", "string", "The external address of the service." },
    { "Port(s)", "string", "The ports of the service, with their protocols." },
    COLUMN_AGE,
    { "Selector", "string", "The labels of the service's pods.", 1 },
};

/* "7443/TCP" */
static void cell_service_ports(struct cells *c, const struct service_ports *ports)
{
    cell_open(c);
    for (uint32_t i = 0; i < ports->count; i++) {
        buf_addf(c->out, "%s%" PRId64 "/", i ? "," : "", ports->items[i].port);
        cell_add(c, ports->items[i].protocol);
    }
    cell_add(c, ports->count ? "" : "<none>");
    cell_close(c);
}

static void service_cells(const struct object *o, struct cells *c)
{
    const struct service *s = VIEW_OF(o, service);

    cell_text(c, o->name);
    cell_text(c, s->type);
    cell_text_or(c, s->cluster_ip, "<none>");
    cell_text(c, "<none>");
    cell_service_ports(c, &s->ports);
    cell_age(c, o->created);
    cell_text(c, "<none>");
}

const struct table_kind service_table = { COLUMNS(service_columns), service_cells };

static const struct column endpoints_columns[] = {
    COLUMN_NAME,
    { "Endpoints", "string", "The addresses of the service, with their ports." },
    COLUMN_AGE,
};

/* "10.0.0.7:7443", "[fd00::7]:7443": each address with each port. */
static void cell_endpoints(struct cells *c, const struct endpoints *e)
{
    bool has_one = false;

    cell_open(c);
    for (uint32_t p = 0; p < e->ports.count; p++) {
        for (uint32_t i = 0; i < e->addresses.count; i++, has_one = true) {
            bool is_v6 = strchr(e->addresses.items[i], ':');

            cell_add(c, has_one ? "," : "");
            cell_add(c, is_v6 ? "[" : "");
            cell_add(c, e->addresses.items[i]);
            buf_addf(c->out, "%s:%" PRId64, is_v6 ? "]" : "", e->ports.items[p].port);
        }
    }
    cell_add(c, has_one ? "" : "<none>");
    cell_close(c);
}

static void endpoints_cells(const struct object *o, struct cells *c)
{
    cell_text(c, o->name);
    cell_endpoints(c, VIEW_OF(o, endpoints));
    cell_age(c, o->created);
}

const struct table_kind endpoints_table = { COLUMNS(endpoints_columns), endpoints_cells };

static const struct column endpoint_slice_columns[] = {
    COLUMN_NAME,
    { "AddressType", "string", "The type of the addresses: IPv4, IPv6 or FQDN." },
    { "Ports", "string", "The ports of the endpoints." },
    { "Endpoints", "string", "The addresses of the endpoints." },
    COLUMN_AGE,
};

static void endpoint_slice_cells(const struct object *o, struct cells *c)
{
    const struct endpoint_slice *s = VIEW_OF(o, endpoint_slice);

    cell_text(c, o->name);
    cell_text(c, s->address_type);
    cell_open(c);
    for (uint32_t i = 0; i < s->ports.count; i++)
        buf_addf(c->out, "%s%" PRId64, i ? "," : "", s->ports.items[i].port);
    cell_add(c, s->ports.count ? "" : "<unset>");
    cell_close(c);
    cell_open(c);
    for (uint32_t i = 0; i < s->addresses.count; i++) {
        cell_add(c, i ? "," : "");
        cell_add(c, s->addresses.items[i]);
    }
    cell_add(c, s->addresses.count ? "" : "<unset>");
    cell_close(c);
    cell_age(c, o->created);
}

const struct table_kind endpoint_slice_table = { COLUMNS(endpoint_slice_columns), endpoint_slice_cells };

/* Writes the Service `kubernetes` in the namespace `default`, with its EndpointSlice and Endpoints: the
 * address of the server.
 *
 * Berth has no service network that translates addresses: clusterIP and port are those of the server itself,
 * so that a client that connects to them reaches it. Clients can only read these three kinds, so only a start
 * with another address makes them outdated: they are written once per start, and a write that changes nothing
 * is not stored. */
#include "apiserver/duties.h"

#include "api/json_out.h"

#include <string.h>

#define SELF_NAMESPACE "default"
#define SELF_NAME "kubernetes"
#define SELF_BYTES_MAX 4096

struct self_service {
    struct duty_base base;
    bool is_sent;
};

/* --- The objects --- */

/* The server's address, in the parts that the objects need. */
struct self_address {
    struct str ip;
    const char *port;
    const char *family;
    const char *port_name;
};

/* The address is the server's own: "10.0.0.7:7443" or "[fd00::7]:7443". */
static struct self_address self_address(const struct apiserver *s)
{
    const char *colon = strrchr(s->advertised, ':');
    struct str host = { s->advertised, (size_t)(colon - s->advertised) };
    bool is_v6 = host.len > 1 && host.s[0] == '[';

    if (is_v6)
        host = (struct str){ host.s + 1, host.len - 2 };
    return (struct self_address){
        .ip = host,
        .port = colon + 1,
        .family = is_v6 ? "IPv6" : "IPv4",
        .port_name = s->is_plain ? "http" : "https",
    };
}

static void open_labelled(const char *label, const char *value, struct buf *out)
{
    json_out_object(out, NULL);
    json_out_object(out, "metadata");
    json_out_text(out, "name", SELF_NAME);
    json_out_object(out, "labels");
    json_out_text(out, label, value);
}

static void close_labelled(struct buf *out)
{
    json_out_end_object(out);
    json_out_end_object(out);
}

static void write_one(const char *key, struct str text, struct buf *out)
{
    json_out_array(out, key);
    json_out_str(out, NULL, text);
    json_out_end_array(out);
}

/* Writes the only port, with the members in the order of the kind. */
static void write_ports(const struct self_address *a, bool has_target, struct buf *out)
{
    json_out_array(out, "ports");
    json_out_object(out, NULL);
    json_out_text(out, "name", a->port_name);
    json_out_text(out, "protocol", "TCP");
    json_out_raw(out, "port", str_of(a->port));
    if (has_target)
        json_out_raw(out, "targetPort", str_of(a->port));
    json_out_end_object(out);
    json_out_end_array(out);
}

static void write_service(const struct self_address *a, struct buf *out)
{
    open_labelled("component", "apiserver", out);
    json_out_text(out, "provider", "kubernetes");
    close_labelled(out);
    json_out_object(out, "spec");
    write_ports(a, /* has_target= */ true, out);
    json_out_str(out, "clusterIP", a->ip);
    write_one("clusterIPs", a->ip, out);
    json_out_text(out, "type", "ClusterIP");
    json_out_text(out, "sessionAffinity", "None");
    write_one("ipFamilies", str_of(a->family), out);
    json_out_text(out, "ipFamilyPolicy", "SingleStack");
    json_out_text(out, "internalTrafficPolicy", "Cluster");
    json_out_end_object(out);
    json_out_end_object(out);
}

/* The label keeps controllers that mirror Endpoints from creating a second slice. */
static void write_endpoints(const struct self_address *a, struct buf *out)
{
    open_labelled("endpointslice.kubernetes.io/skip-mirror", "true", out);
    close_labelled(out);
    json_out_array(out, "subsets");
    json_out_object(out, NULL);
    json_out_array(out, "addresses");
    json_out_object(out, NULL);
    json_out_str(out, "ip", a->ip);
    json_out_end_object(out);
    json_out_end_array(out);
    write_ports(a, /* has_target= */ false, out);
    json_out_end_object(out);
    json_out_end_array(out);
    json_out_end_object(out);
}

static void write_slice(const struct self_address *a, struct buf *out)
{
    open_labelled("kubernetes.io/service-name", SELF_NAME, out);
    close_labelled(out);
    json_out_text(out, "addressType", a->family);
    json_out_array(out, "endpoints");
    json_out_object(out, NULL);
    write_one("addresses", a->ip, out);
    json_out_object(out, "conditions");
    json_out_bool(out, "ready", true);
    json_out_end_object(out);
    json_out_end_object(out);
    json_out_end_array(out);
    write_ports(a, /* has_target= */ false, out);
    json_out_end_object(out);
}

/* --- The duty --- */

static void put_object(struct self_service *service, enum kind kind,
                       void (*write_body)(const struct self_address *a, struct buf *out))
{
    const struct kind_info *k = kind_info(kind);
    bool is_there = store_get_newest(service->base.server->store, kind, SELF_NAMESPACE, SELF_NAME);
    _cleanup_(buf_done_p) struct buf path = BUF_INIT(SELF_BYTES_MAX), body = BUF_INIT(SELF_BYTES_MAX);
    struct self_address a = self_address(service->base.server);

    buf_addf(&path, "/%s%s/%s/namespaces/" SELF_NAMESPACE "/%s%s", k->group[0] ? "apis/" : "api", k->group,
             k->version, k->plural, is_there ? "/" SELF_NAME : "");
    write_body(&a, &body);
    duty_calls_send(service->base.calls, is_there ? HTTP_PUT : HTTP_POST, NULL, buf_str(&path),
                    buf_str(&body));
}

static void self_service_reconcile(void *ctx)
{
    struct self_service *service = ctx;

    if (service->is_sent || !service->base.server->advertised ||
        !store_get_newest(service->base.server->store, KIND_NAMESPACE, "", SELF_NAMESPACE))
        return;
    service->is_sent = true;
    put_object(service, KIND_SERVICE, write_service);
    put_object(service, KIND_ENDPOINTS, write_endpoints);
    put_object(service, KIND_ENDPOINT_SLICE, write_slice);
}

/* Retries what a full disk refused. */
static void self_service_answered(void *ctx)
{
    struct self_service *service = ctx;

    if (duty_calls_have_failed(service->base.calls)) {
        service->is_sent = false;
        self_service_reconcile(service);
    }
}

static void self_service_observe(void *duty, const struct store_event *ev)
{
    struct self_service *service = duty;

    if (!service->is_sent && ev->object->kind->kind == KIND_NAMESPACE)
        loop_defer(&service->base.reconcile);
}

const struct duty duty_self_service = {
    sizeof(struct self_service),
    self_service_reconcile,
    self_service_answered,
    self_service_observe,
};

/* Writes the administrator's kubeconfig, and keeps an existing file whose entries for this server are still
 * right. */
#include "apiserver/kubeconfig.h"

#include <stdbool.h>
#include <string.h>

#include "api/base64.h"
#include "api/json.h"
#include "api/yaml.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "io/file.h"

#define KUBECONFIG_NAME "berth"
#define KUBECONFIG_BYTES_MAX ((size_t)1 << 20)

/* The address for clients on this machine: loopback, if the server listens on all addresses. */
static void add_server(struct buf *out, const struct kubeconfig *k)
{
    const char *port = strrchr(k->address, ':');

    buf_add_cstr(out, k->ca.len ? "https://" : "http://");
    if (strncmp(k->address, "0.0.0.0:", 8) == 0 && port)
        buf_addf(out, "127.0.0.1%s", port);
    else if (strncmp(k->address, "[::]:", 5) == 0 && port)
        buf_addf(out, "[::1]%s", port);
    else
        buf_add_cstr(out, k->address);
}

static void set_base64(struct json *d, json_ref object, const char *key, struct str bytes)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(KUBECONFIG_BYTES_MAX);

    if (!bytes.len)
        return;
    base64_encode(bytes, &text);
    json_set(d, object, key, json_new_string(d, buf_str(&text)));
}

/* [{name: berth, <what>: {}}]; returns the inner object. */
static json_ref add_named(struct json *d, json_ref root, const char *list, const char *what)
{
    json_ref items = json_new_array(d), item = json_new_object(d), inner = json_new_object(d);

    json_set_string(d, item, "name", KUBECONFIG_NAME);
    json_set(d, item, what, inner);
    json_append(d, items, item);
    json_set(d, root, list, items);
    return inner;
}

static json_ref kubeconfig_tree(struct json *d, const struct kubeconfig *k)
{
    _cleanup_(buf_done_p) struct buf server = BUF_INIT(KUBECONFIG_BYTES_MAX);
    json_ref root = json_new_object(d), cluster, context, user;

    add_server(&server, k);
    json_set_string(d, root, "apiVersion", "v1");
    json_set_string(d, root, "kind", "Config");
    cluster = add_named(d, root, "clusters", "cluster");
    set_base64(d, cluster, "certificate-authority-data", k->ca);
    json_set(d, cluster, "server", json_new_string(d, buf_str(&server)));
    context = add_named(d, root, "contexts", "context");
    json_set_string(d, context, "cluster", KUBECONFIG_NAME);
    json_set_string(d, context, "user", KUBECONFIG_NAME);
    json_set_string(d, root, "current-context", KUBECONFIG_NAME);
    user = add_named(d, root, "users", "user");
    set_base64(d, user, "client-certificate-data", k->cert);
    set_base64(d, user, "client-key-data", k->key);
    return root;
}

/* The berth entry of that list; 0 when there is none. */
static json_ref find_named(const struct json *d, json_ref root, const char *list, const char *what)
{
    json_ref items = json_get(d, root, list);

    for (json_ref m = json_first(d, items); m; m = json_next(d, m))
        if (json_is_string(d, json_get(d, m, "name"), KUBECONFIG_NAME))
            return json_get(d, m, what);
    return 0;
}

/* Whether the existing file still leads to this server. Other contents belong to the user. */
static bool still_holds(const char *path, struct json *d, json_ref wanted)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(0);
    struct error ignored;
    json_ref root = 0;

    if (io_read_file(path, KUBECONFIG_BYTES_MAX, &text, &ignored) < 0 ||
        yaml_or_json_parse(d, buf_str(&text), &root, &ignored) < 0)
        return false;
    return json_equal(d, find_named(d, root, "clusters", "cluster"),
                      find_named(d, wanted, "clusters", "cluster")) &&
           json_equal(d, find_named(d, root, "users", "user"), find_named(d, wanted, "users", "user"));
}

int kubeconfig_update(const char *path, const struct kubeconfig *k, struct error *err)
{
    _cleanup_(json_done_p) struct json d;
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(KUBECONFIG_BYTES_MAX);
    json_ref root;
    int r;

    json_init(&d, 8 * KUBECONFIG_BYTES_MAX);
    root = kubeconfig_tree(&d, k);
    r = json_check(&d, err);
    if (r < 0)
        return r;
    if (still_holds(path, &d, root))
        return 0;
    r = yaml_write(&d, root, &text, err);
    return r < 0 ? r : io_replace_file(path, text.data, text.len, 0600, err);
}

/* Finds the configuration of the client: named file, $KUBECONFIG, ~/.kube/config, or the files of a pod.
 * Files are read once; rotating credentials are the carrier's task. */
#include "client/config.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "client/config_int.h"
#include "client/server_url.h"
#include "io/env.h"
#include "io/path.h"

#define INVALID "invalid configuration: "
#define NO_CONFIG "no configuration has been provided, try setting KUBERNETES_MASTER environment variable"
#define POD_DIR "/var/run/secrets/kubernetes.io/serviceaccount"
#define POD_NAMESPACE_BYTES_MAX 253

/* The given value, else the environment variable; NULL when both are empty. */
static const char *option_or_variable(const char *given, const char *variable)
{
    const char *value = given || !variable ? given : io_env(variable);

    return value && value[0] != '\0' ? value : NULL;
}

/* --- Files --- */

static int read_files(const struct config_options *o, struct kubeconfigs *k, struct error *err)
{
    const char *file = option_or_variable(o->file, /* variable= */ NULL), *list, *home;
    char path[PATH_MAX];
    int n;

    if (file)
        return kubeconfigs_read_named(k, file, err);
    list = option_or_variable(o->env, "KUBECONFIG");
    if (list)
        return kubeconfigs_read_listed(k, list, err);
    home = option_or_variable(o->home, "HOME");
    if (!home)
        return 0;
    n = snprintf(path, sizeof path, "%s/.kube/config", home);
    if (n < 0 || (size_t)n >= sizeof path)
        return error_set(err, ERR_INVALID, "the home directory's path is too long");
    return kubeconfigs_read_if_there(k, path, err);
}

/* A file that cannot be read now would fail later, at the first connection. */
static void check_file(struct config_choice *choice, const char *path, const char *field, const char *owner)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(0);
    struct error why = { 0 };

    if (path && kubeconfig_read_file(path, &text, &why) < 0)
        error_list_add(&choice->bad, "unable to read %s %s for %s due to %s", field, path, owner, why.msg);
}

static int check_choice(struct config_choice *choice, struct error *err)
{
    const struct client_config *c = choice->config;

    check_file(choice, c->cert.path, "client-cert", choice->user);
    check_file(choice, c->key.path, "client-key", choice->user);
    check_file(choice, c->token_file, "tokenFile", choice->user);
    check_file(choice, c->ca.path, "certificate-authority", choice->cluster);
    return error_list_check(&choice->bad, INVALID, err);
}

/* --- In a pod --- */

/* The pod's own namespace; "" when it is unknown. */
static const char *pod_namespace(const char *dir, struct arena *a)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(0);
    const char *path = arena_printf(a, "%s/namespace", dir);
    struct error ignored;
    struct str ns;

    if (!path || kubeconfig_read_file(path, &text, &ignored) < 0)
        return "default";
    ns = str_trim(buf_str(&text));
    if (ns.len == 0 || ns.len > POD_NAMESPACE_BYTES_MAX || memchr(ns.s, '\0', ns.len))
        return "default";
    return arena_dup(a, ns);
}

static int pod_server(const char *host, const char *port, struct client_config *c, struct error *err)
{
    _cleanup_(buf_done_p) struct buf given = BUF_INIT(KUBECONFIG_FILE_BYTES_MAX);
    _cleanup_(buf_done_p) struct buf url = BUF_INIT(KUBECONFIG_FILE_BYTES_MAX);
    int r;

    buf_addf(&given, strchr(host, ':') ? "https://[%s]:%s" : "https://%s:%s", host, port);
    r = buf_check(&given, "server address", err);
    if (r == 0)
        r = server_url_normalize(buf_str(&given), /* tls_is_default= */ true, &url, &c->is_tls, err);
    if (r < 0)
        return error_wrap(err, "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT");
    c->server = arena_dup(&c->arena, buf_str(&url));
    return 0;
}

static int choose_pod(const char *host, const char *port, const char *dir, struct client_config *c,
                      struct error *err)
{
    struct config_choice choice = { .config = c, .cluster = "in-cluster", .user = "in-cluster" };
    int r = pod_server(host, port, c, err);

    if (r < 0)
        return r;
    c->ca.path = arena_printf(&c->arena, "%s/ca.crt", dir);
    c->token_file = arena_printf(&c->arena, "%s/token", dir);
    c->ns = pod_namespace(dir, &c->arena);
    c->source = CONFIG_SOURCE_POD;
    r = arena_check(&c->arena, err);
    return r < 0 ? r : check_choice(&choice, err);
}

static int load_in_cluster(const struct config_options *o, struct client_config *c, struct error *err)
{
    const char *host = option_or_variable(o->pod_host, "KUBERNETES_SERVICE_HOST");
    const char *port = option_or_variable(o->pod_port, "KUBERNETES_SERVICE_PORT");
    const char *dir = o->pod_dir ? o->pod_dir : POD_DIR;
    char token[PATH_MAX];
    bool is_present = false;
    int n = snprintf(token, sizeof token, "%s/token", dir), r = 0;

    if (host && port && n > 0 && (size_t)n < sizeof token)
        r = io_exists(token, &is_present, err);
    if (r < 0)
        return r;
    if (!is_present)
        return error_set(err, ERR_NOT_FOUND, INVALID NO_CONFIG);
    return choose_pod(host, port, dir, c, err);
}

/* --- Loading --- */

static void kubeconfigs_done_p(struct kubeconfigs *k)
{
    kubeconfigs_done(k);
}

static int load_config(const struct config_options *o, struct client_config *c, struct error *err)
{
    _cleanup_(kubeconfigs_done_p) struct kubeconfigs k = { 0 };
    struct config_choice choice = { .config = c };
    int r = read_files(o, &k, err);

    if (r == 0)
        r = config_choose(&k, option_or_variable(o->context, /* variable= */ NULL), &choice, err);
    if (r < 0)
        return r;
    return r > 0 ? check_choice(&choice, err) : load_in_cluster(o, c, err);
}

int config_load(const struct config_options *o, struct client_config *ret, struct error *err)
{
    struct client_config c = { .arena = ARENA_INIT(CONFIG_BYTES_MAX) };
    int r = load_config(o, &c, err);

    if (r < 0) {
        config_done(&c);
        return r;
    }
    *ret = c;
    return 0;
}

int config_each_context(const struct config_options *o, config_context_fn *fn, void *ctx, struct error *err)
{
    _cleanup_(kubeconfigs_done_p) struct kubeconfigs k = { 0 };
    int r = read_files(o, &k, err);

    for (size_t i = 0; i < k.files.count && r == 0; i++) {
        const struct kubeconfig_file *f = &k.files.items[i];

        for (json_ref c = json_first(&f->doc, json_get(&f->doc, f->root, "contexts")); c;
             c = json_next(&f->doc, c))
            fn(ctx, json_get_text(&f->doc, c, "name"));
    }
    return r;
}

void config_done(struct client_config *c)
{
    arena_done(&c->arena);
    *c = (struct client_config){ 0 };
}

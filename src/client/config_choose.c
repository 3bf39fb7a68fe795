/* One context, its cluster and its user, out of what the files say.
 *
 * Each field is read by its type; what is wrong becomes a complaint and reading goes on, so that a person
 * sees all of it at once. Texts go into the config's arena, whose failure sticks: it is asked at the end, and
 * until then a NULL may mean "no memory" as well as "not there". */
#include "client/config_int.h"

#include <stdio.h>
#include <string.h>

#include "api/base64.h"
#include "api/quote.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "client/server_url.h"

#define QUOTED_BYTES 256

/* For %q in a message: each has a buffer of its own, which lives as long as the block around it. */
#define QUOTE(s) quote((char[QUOTED_BYTES]){ 0 }, QUOTED_BYTES, (s))

/* --- Fields --- */

static void complain_of_field(struct config_choice *x, const struct kubeconfig_entry *e, const char *key,
                              const char *what)
{
    complaints_add(&x->bad, "%s %s: %s: %s", kubeconfig_list_singular(e->list), QUOTE(e->name), key, what);
}

/* The member when it is there and of this type. */
static json_ref field(struct config_choice *x, const struct kubeconfig_entry *e, const char *key,
                      enum json_type type)
{
    const struct json *d = &e->file->doc;
    json_ref v = json_get(d, e->body, key);
    char what[64];

    if (json_type(d, v) == type)
        return v;
    if (json_type(d, v) != JSON_NONE && json_type(d, v) != JSON_NULL) {
        (void)snprintf(what, sizeof what, "expected %s, found %s", json_type_name(type),
                       json_type_name(json_type(d, v)));
        complain_of_field(x, e, key, what);
    }
    return 0;
}

/* Fields end up in paths, headers and C strings: none may end one of these early. */
static bool has_control(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.s[i] < 0x20 || s.s[i] == 0x7F)
            return true;
    return false;
}

/* A copy; NULL when it may not be used. */
static const char *take_text(struct config_choice *x, const struct kubeconfig_entry *e, const char *key,
                             struct str text)
{
    if (has_control(text)) {
        complain_of_field(x, e, key, "may not contain line ends or other control characters");
        return NULL;
    }
    return arena_dup(&x->config->arena, text);
}

/* NULL when it is absent or empty. */
static const char *field_text(struct config_choice *x, const struct kubeconfig_entry *e, const char *key)
{
    struct str text = json_text(&e->file->doc, field(x, e, key, JSON_STRING));

    return text.len ? take_text(x, e, key, text) : NULL;
}

static bool field_bool(struct config_choice *x, const struct kubeconfig_entry *e, const char *key)
{
    const struct json *d = &e->file->doc;

    if (json_type(d, json_get(d, e->body, key)) == JSON_FALSE)
        return false;
    return field(x, e, key, JSON_TRUE) != 0;
}

static const char *field_path(struct config_choice *x, const struct kubeconfig_entry *e, const char *key)
{
    const char *path = field_text(x, e, key);

    return path ? kubeconfig_resolve(e->file, str_of(path), &x->config->arena) : NULL;
}

/* PEM is text: a zero byte would end it early. The content is secret and stays out of the messages. */
static const char *field_data(struct config_choice *x, const struct kubeconfig_entry *e, const char *key)
{
    struct str text = json_text(&e->file->doc, field(x, e, key, JSON_STRING));
    _cleanup_(buf_done_p) struct buf data = BUF_INIT(KUBECONFIG_FILE_BYTES_MAX);
    struct error why = { 0 };

    if (text.len == 0)
        return NULL;
    if (base64_decode(text, &data, &why) < 0)
        complain_of_field(x, e, key, why.msg);
    else if (memchr(buf_cstr(&data), '\0', data.len))
        complain_of_field(x, e, key, "not a PEM text: it contains a zero byte");
    else
        return arena_dup(&x->config->arena, buf_str(&data));
    return NULL;
}

static bool field_is_set(const struct kubeconfig_entry *e, const char *key)
{
    return json_get_text(&e->file->doc, e->body, key).len > 0;
}

static struct config_file field_file(struct config_choice *x, const struct kubeconfig_entry *e,
                                     const char *key, const char *data_key)
{
    struct config_file f = { .data = field_data(x, e, data_key) };

    if (!field_is_set(e, data_key))
        f.path = field_path(x, e, key);
    else if (field_is_set(e, key))
        log_warn("the file is not used: its content stands in the kubeconfig too", LOG_STR("field", key),
                 LOG_TEXT(kubeconfig_list_singular(e->list), e->name), LOG_STR("kubeconfig", e->file->path));
    return f;
}

static bool file_is_set(const struct config_file *f)
{
    return f->path || f->data;
}

/* A list of texts, NULL behind the last; NULL for an empty one. */
static const char *const *take_texts(struct config_choice *x, const struct kubeconfig_entry *e,
                                     const char *key, json_ref list)
{
    const struct json *d = &e->file->doc;
    const char **ret = arena_array(&x->config->arena, json_count(d, list) + 1, sizeof *ret);
    size_t n = 0;

    for (json_ref item = json_first(d, list); item && ret; item = json_next(d, item)) {
        if (json_type(d, item) != JSON_STRING) {
            complain_of_field(x, e, key, "expected a list of strings");
            break;
        }
        ret[n++] = take_text(x, e, key, json_text(d, item));
    }
    return n ? ret : NULL;
}

/* --- The user --- */

static const struct config_extra *field_extra(struct config_choice *x, const struct kubeconfig_entry *e,
                                              const char *key)
{
    static const char *const none[] = { NULL };
    const struct json *d = &e->file->doc;
    json_ref map = field(x, e, key, JSON_OBJECT);
    struct config_extra *ret;
    size_t n = 0;

    if (json_count(d, map) == 0)
        return NULL;
    ret = arena_array(&x->config->arena, json_count(d, map) + 1, sizeof *ret);
    for (json_ref m = json_first(d, map); m && ret; m = json_next(d, m)) {
        if (json_type(d, m) != JSON_ARRAY || json_key(d, m).len == 0) {
            complain_of_field(x, e, key, "expected lists of strings, each under a name");
            break;
        }
        ret[n].key = take_text(x, e, key, json_key(d, m));
        ret[n].values = take_texts(x, e, key, m);
        if (!ret[n].values)
            ret[n].values = none;
        n++;
    }
    return ret;
}

static void choose_impersonation(struct config_choice *x, const struct kubeconfig_entry *e)
{
    struct client_config *c = x->config;

    c->as = field_text(x, e, "as");
    c->as_uid = field_text(x, e, "as-uid");
    c->as_groups = take_texts(x, e, "as-groups", field(x, e, "as-groups", JSON_ARRAY));
    c->as_extra = field_extra(x, e, "as-user-extra");
    if (!c->as && (c->as_uid || c->as_groups || c->as_extra))
        complaints_add(&x->bad, "requesting uid, groups or user-extra for %s without impersonating a user",
                       x->user);
}

static void choose_certificate(struct config_choice *x, const struct kubeconfig_entry *e)
{
    struct client_config *c = x->config;

    c->cert = field_file(x, e, "client-certificate", "client-certificate-data");
    c->key = field_file(x, e, "client-key", "client-key-data");
    if (file_is_set(&c->cert) && !field_is_set(e, "client-key") && !field_is_set(e, "client-key-data"))
        complaints_add(&x->bad,
                       "client-key-data or client-key must be specified for %s to use the clientCert "
                       "authentication method.",
                       x->user);
    if (!field_is_set(e, "client-certificate") && !field_is_set(e, "client-certificate-data"))
        c->key = (struct config_file){ 0 }; /* a key alone proves nothing */
}

static void choose_secrets(struct config_choice *x, const struct kubeconfig_entry *e)
{
    struct client_config *c = x->config;
    const char *token_file = field_path(x, e, "tokenFile");
    const char *username = field_text(x, e, "username"), *password = field_text(x, e, "password");

    c->token = field_text(x, e, "token");
    if (!field_is_set(e, "token"))
        c->token_file = token_file;
    if (username || password) {
        c->username = username ? username : "";
        c->password = password ? password : "";
    }
    if ((c->token || c->token_file) && c->username)
        complaints_add(&x->bad,
                       "more than one authentication method found for %s; found [token basicAuth], only one "
                       "is allowed",
                       x->user);
}

/* Credentials that are not in the file but come from elsewhere. */
static int refuse_plugins(const struct kubeconfig_entry *e, struct error *err)
{
    const struct json *d = &e->file->doc;
    json_ref provider = json_get(d, e->body, "auth-provider");

    if (json_type(d, provider) != JSON_NONE && json_type(d, provider) != JSON_NULL)
        return error_set(err, ERR_UNSUPPORTED, "auth provider %s is not supported; use exec",
                         QUOTE(json_get_text(d, provider, "name")));
    if (json_type(d, json_get(d, e->body, "exec")) != JSON_NONE &&
        json_type(d, json_get(d, e->body, "exec")) != JSON_NULL)
        return error_set(err, ERR_UNSUPPORTED, "exec plugins are not supported yet (user %s)",
                         QUOTE(e->name));
    return 0;
}

/* A context without a user is an anonymous one. */
static int choose_user(const struct kubeconfigs *k, struct config_choice *x, struct error *err)
{
    struct kubeconfig_entry e;
    int r;

    if (x->user[0] == '\0')
        return 0;
    r = kubeconfigs_find(k, KUBECONFIG_USERS, str_of(x->user), &e, err);
    if (r == 0)
        complaints_add(&x->bad, "user %s was not found for context %s", QUOTE(str_of(x->user)),
                       QUOTE(str_of(x->context)));
    if (r <= 0)
        return r;
    r = refuse_plugins(&e, err);
    if (r < 0)
        return r;
    choose_certificate(x, &e);
    choose_secrets(x, &e);
    choose_impersonation(x, &e);
    return 0;
}

/* --- The cluster --- */

static void choose_server(struct config_choice *x, const struct kubeconfig_entry *e)
{
    _cleanup_(buf_done_p) struct buf url = BUF_INIT(KUBECONFIG_FILE_BYTES_MAX * 2);
    struct client_config *c = x->config;
    const char *server = field_text(x, e, "server");
    struct error why = { 0 };

    if (!server) {
        if (!field_is_set(e, "server"))
            complaints_add(&x->bad, "no server found for cluster %s", QUOTE(e->name));
    } else if (server_url_normalize(str_of(server),
                                    file_is_set(&c->ca) || file_is_set(&c->cert) || c->is_insecure, &url,
                                    &c->is_tls, &why) < 0) {
        complaints_add(&x->bad, "invalid server for cluster %s: %s", QUOTE(e->name), why.msg);
    } else {
        c->server = arena_dup(&c->arena, buf_str(&url));
    }
}

static void choose_proxy(struct config_choice *x, const struct kubeconfig_entry *e)
{
    struct error why = { 0 };

    x->config->proxy_url = field_text(x, e, "proxy-url");
    if (x->config->proxy_url && server_url_check_proxy(str_of(x->config->proxy_url), &why) < 0)
        complaints_add(&x->bad, "invalid 'proxy-url' for cluster %s: %s", QUOTE(e->name), why.msg);
}

static int choose_cluster(const struct kubeconfigs *k, struct config_choice *x, struct error *err)
{
    struct client_config *c = x->config;
    struct kubeconfig_entry e;
    int r;

    if (x->cluster[0] == '\0') {
        complaints_add(&x->bad, "cluster was not specified for context %s", QUOTE(str_of(x->context)));
        return 0;
    }
    r = kubeconfigs_find(k, KUBECONFIG_CLUSTERS, str_of(x->cluster), &e, err);
    if (r == 0)
        complaints_add(&x->bad, "cluster %s was not found for context %s", QUOTE(str_of(x->cluster)),
                       QUOTE(str_of(x->context)));
    if (r <= 0)
        return r;
    c->is_insecure = field_bool(x, &e, "insecure-skip-tls-verify");
    c->disables_compression = field_bool(x, &e, "disable-compression");
    c->tls_server_name = field_text(x, &e, "tls-server-name");
    c->ca = field_file(x, &e, "certificate-authority", "certificate-authority-data");
    if (c->is_insecure && file_is_set(&c->ca))
        complaints_add(&x->bad, "specifying a root certificates file with the insecure flag is not allowed");
    choose_server(x, &e);
    choose_proxy(x, &e);
    return 0;
}

/* --- The context --- */

static const char *or_empty(const char *s)
{
    return s ? s : "";
}

static const char *list_sources(const struct kubeconfigs *k, struct arena *a)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(CONFIG_BYTES_MAX);

    for (size_t i = 0; i < k->files.count; i++)
        buf_addf(&text, "%s%s", i ? ", " : "", k->files.items[i].path);
    return text.failed ? "kubeconfig" : arena_dup(a, buf_str(&text));
}

/* Returns 1, or 0 when there is no such context. */
static int choose_context(const struct kubeconfigs *k, struct str name, struct config_choice *x,
                          struct error *err)
{
    struct kubeconfig_entry e;
    const char *ns;
    int r = kubeconfigs_find(k, KUBECONFIG_CONTEXTS, name, &e, err);

    if (r == 0)
        complaints_add(&x->bad, "context %s does not exist", QUOTE(name));
    if (r <= 0)
        return r;
    x->cluster = or_empty(field_text(x, &e, "cluster"));
    x->user = or_empty(field_text(x, &e, "user"));
    ns = field_text(x, &e, "namespace");
    if (ns)
        x->config->ns = ns;
    return 1;
}

/* The user first: whether a server without a scheme is https depends on the certificate too. */
static int choose_entries(const struct kubeconfigs *k, struct config_choice *x, struct error *err)
{
    int r = choose_user(k, x, err);

    return r < 0 ? r : choose_cluster(k, x, err);
}

int config_choose(const struct kubeconfigs *k, const char *context, struct config_choice *x,
                  struct error *err)
{
    struct str name = context ? str_of(context) : kubeconfigs_current_context(k);
    struct client_config *c = x->config;
    int r;

    if (name.len == 0)
        return 0;
    x->context = or_empty(arena_dup(&c->arena, name));
    x->cluster = x->user = "";
    c->ns = "default";
    c->source = list_sources(k, &c->arena);
    r = choose_context(k, name, x, err);
    if (r > 0)
        r = choose_entries(k, x, err);
    if (r == 0)
        r = arena_check(&c->arena, err);
    return r < 0 ? r : 1;
}

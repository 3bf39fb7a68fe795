/* Selects one context, its cluster and its user from the files.
 *
 * Each field is read according to its type; errors are collected and reading continues, so that the user sees
 * all of them at once. Texts are copied into the config's arena, whose failure is sticky and checked at the
 * end: until then a NULL may mean "out of memory" or "absent". */
#include "client/config_int.h"

#include <stdio.h>
#include <string.h>

#include "api/base64.h"
#include "api/quote.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "client/server_url.h"

#define QUOTED_BYTES 256

/* For %q in a message: each use has its own buffer, which lives as long as the enclosing block. */
#define QUOTE(s) quote_text((char[QUOTED_BYTES]){ 0 }, QUOTED_BYTES, (s))

/* --- Fields --- */

static void complain_of_field(struct config_choice *choice, const struct kubeconfig_entry *e, const char *key,
                              const char *what)
{
    error_list_add(&choice->bad, "%s %s: %s: %s", kubeconfig_list_singular(e->list), QUOTE(e->name), key,
                   what);
}

/* The member if it exists and has this type. */
static json_ref get_field(struct config_choice *choice, const struct kubeconfig_entry *e, const char *key,
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
        complain_of_field(choice, e, key, what);
    }
    return 0;
}

/* Fields are used in paths, headers and C strings: a control character could end one early. */
static bool has_control(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.s[i] < 0x20 || s.s[i] == 0x7F)
            return true;
    return false;
}

/* A copy; NULL when the text is refused. */
static const char *take_text(struct config_choice *choice, const struct kubeconfig_entry *e, const char *key,
                             struct str text)
{
    if (has_control(text)) {
        complain_of_field(choice, e, key, "may not contain line ends or other control characters");
        return NULL;
    }
    return arena_dup(&choice->config->arena, text);
}

/* NULL when it is absent or empty. */
static const char *field_text(struct config_choice *choice, const struct kubeconfig_entry *e, const char *key)
{
    struct str text = json_text(&e->file->doc, get_field(choice, e, key, JSON_STRING));

    return text.len ? take_text(choice, e, key, text) : NULL;
}

static bool field_bool(struct config_choice *choice, const struct kubeconfig_entry *e, const char *key)
{
    const struct json *d = &e->file->doc;

    if (json_type(d, json_get(d, e->body, key)) == JSON_FALSE)
        return false;
    return get_field(choice, e, key, JSON_TRUE) != 0;
}

static const char *field_path(struct config_choice *choice, const struct kubeconfig_entry *e, const char *key)
{
    const char *path = field_text(choice, e, key);

    return path ? kubeconfig_resolve(e->file, str_of(path), &choice->config->arena) : NULL;
}

/* PEM is text: a zero byte would end it early. The content is secret and must not appear in messages. */
static const char *field_data(struct config_choice *choice, const struct kubeconfig_entry *e, const char *key)
{
    struct str text = json_text(&e->file->doc, get_field(choice, e, key, JSON_STRING));
    _cleanup_(buf_done_p) struct buf data = BUF_INIT(KUBECONFIG_FILE_BYTES_MAX);
    struct error why = { 0 };

    if (text.len == 0)
        return NULL;
    if (base64_decode(text, &data, &why) < 0)
        complain_of_field(choice, e, key, why.msg);
    else if (memchr(buf_cstr(&data), '\0', data.len))
        complain_of_field(choice, e, key, "not a PEM text: it contains a zero byte");
    else
        return arena_dup(&choice->config->arena, buf_str(&data));
    return NULL;
}

static bool field_is_set(const struct kubeconfig_entry *e, const char *key)
{
    return json_get_text(&e->file->doc, e->body, key).len > 0;
}

static struct config_file field_file(struct config_choice *choice, const struct kubeconfig_entry *e,
                                     const char *key, const char *data_key)
{
    struct config_file f = { .data = field_data(choice, e, data_key) };

    if (!field_is_set(e, data_key))
        f.path = field_path(choice, e, key);
    else if (field_is_set(e, key))
        log_warn("file is ignored: the kubeconfig also contains its content", LOG_STR("field", key),
                 LOG_TEXT(kubeconfig_list_singular(e->list), e->name), LOG_STR("kubeconfig", e->file->path));
    return f;
}

static bool file_is_set(const struct config_file *f)
{
    return f->path || f->data;
}

/* A list of texts, NULL-terminated; NULL for an empty one. */
static const char *const *take_texts(struct config_choice *choice, const struct kubeconfig_entry *e,
                                     const char *key, json_ref list)
{
    const struct json *d = &e->file->doc;
    const char **ret = arena_array(&choice->config->arena, json_count(d, list) + 1, sizeof *ret);
    size_t n = 0;

    for (json_ref item = json_first(d, list); item && ret; item = json_next(d, item)) {
        if (json_type(d, item) != JSON_STRING) {
            complain_of_field(choice, e, key, "expected a list of strings");
            break;
        }
        ret[n++] = take_text(choice, e, key, json_text(d, item));
    }
    return n ? ret : NULL;
}

/* --- The user --- */

static const struct config_extra *field_extra(struct config_choice *choice, const struct kubeconfig_entry *e,
                                              const char *key)
{
    static const char *const none[] = { NULL };
    const struct json *d = &e->file->doc;
    json_ref map = get_field(choice, e, key, JSON_OBJECT);
    struct config_extra *ret;
    size_t n = 0;

    if (json_count(d, map) == 0)
        return NULL;
    ret = arena_array(&choice->config->arena, json_count(d, map) + 1, sizeof *ret);
    for (json_ref m = json_first(d, map); m && ret; m = json_next(d, m)) {
        if (json_type(d, m) != JSON_ARRAY || json_key(d, m).len == 0) {
            complain_of_field(choice, e, key, "expected lists of strings, each under a name");
            break;
        }
        ret[n].key = take_text(choice, e, key, json_key(d, m));
        ret[n].values = take_texts(choice, e, key, m);
        if (!ret[n].values)
            ret[n].values = none;
        n++;
    }
    return ret;
}

static void choose_impersonation(struct config_choice *choice, const struct kubeconfig_entry *e)
{
    struct client_config *c = choice->config;

    c->as = field_text(choice, e, "as");
    c->as_uid = field_text(choice, e, "as-uid");
    c->as_groups = take_texts(choice, e, "as-groups", get_field(choice, e, "as-groups", JSON_ARRAY));
    c->as_extra = field_extra(choice, e, "as-user-extra");
    if (!c->as && (c->as_uid || c->as_groups || c->as_extra))
        error_list_add(&choice->bad,
                       "requesting uid, groups or user-extra for %s without impersonating a user",
                       choice->user);
}

static void choose_certificate(struct config_choice *choice, const struct kubeconfig_entry *e)
{
    struct client_config *c = choice->config;

    c->cert = field_file(choice, e, "client-certificate", "client-certificate-data");
    c->key = field_file(choice, e, "client-key", "client-key-data");
    if (file_is_set(&c->cert) && !field_is_set(e, "client-key") && !field_is_set(e, "client-key-data"))
        error_list_add(&choice->bad,
                       "client-key-data or client-key must be specified for %s to use the clientCert "
                       "authentication method.",
                       choice->user);
    if (!field_is_set(e, "client-certificate") && !field_is_set(e, "client-certificate-data"))
        c->key = (struct config_file){ 0 }; /* a key without a certificate is useless */
}

static void choose_secrets(struct config_choice *choice, const struct kubeconfig_entry *e)
{
    struct client_config *c = choice->config;
    const char *token_file = field_path(choice, e, "tokenFile");
    const char *username = field_text(choice, e, "username"), *password = field_text(choice, e, "password");

    c->token = field_text(choice, e, "token");
    if (!field_is_set(e, "token"))
        c->token_file = token_file;
    if (username || password) {
        c->username = username ? username : "";
        c->password = password ? password : "";
    }
    if ((c->token || c->token_file) && c->username)
        error_list_add(&choice->bad,
                       "more than one authentication method found for %s; found [token basicAuth], only one "
                       "is allowed",
                       choice->user);
}

/* Credentials that are provided by a plugin. */
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

/* A context without a user is anonymous. */
static int choose_user(const struct kubeconfigs *k, struct config_choice *choice, struct error *err)
{
    struct kubeconfig_entry e;
    int r;

    if (choice->user[0] == '\0')
        return 0;
    r = kubeconfigs_find(k, KUBECONFIG_USERS, str_of(choice->user), &e, err);
    if (r == 0)
        error_list_add(&choice->bad, "user %s was not found for context %s", QUOTE(str_of(choice->user)),
                       QUOTE(str_of(choice->context)));
    if (r <= 0)
        return r;
    r = refuse_plugins(&e, err);
    if (r < 0)
        return r;
    choose_certificate(choice, &e);
    choose_secrets(choice, &e);
    choose_impersonation(choice, &e);
    return 0;
}

/* --- The cluster --- */

static void choose_server(struct config_choice *choice, const struct kubeconfig_entry *e)
{
    _cleanup_(buf_done_p) struct buf url = BUF_INIT(KUBECONFIG_FILE_BYTES_MAX * 2);
    struct client_config *c = choice->config;
    const char *server = field_text(choice, e, "server");
    struct error why = { 0 };

    if (!server) {
        if (!field_is_set(e, "server"))
            error_list_add(&choice->bad, "no server found for cluster %s", QUOTE(e->name));
    } else if (server_url_normalize(str_of(server),
                                    file_is_set(&c->ca) || file_is_set(&c->cert) || c->is_insecure, &url,
                                    &c->is_tls, &why) < 0) {
        error_list_add(&choice->bad, "invalid server for cluster %s: %s", QUOTE(e->name), why.msg);
    } else {
        c->server = arena_dup(&c->arena, buf_str(&url));
    }
}

static int choose_cluster(const struct kubeconfigs *k, struct config_choice *choice, struct error *err)
{
    struct client_config *c = choice->config;
    struct error why = { 0 };
    struct kubeconfig_entry e;
    int r;

    if (choice->cluster[0] == '\0') {
        error_list_add(&choice->bad, "cluster was not specified for context %s",
                       QUOTE(str_of(choice->context)));
        return 0;
    }
    r = kubeconfigs_find(k, KUBECONFIG_CLUSTERS, str_of(choice->cluster), &e, err);
    if (r == 0)
        error_list_add(&choice->bad, "cluster %s was not found for context %s",
                       QUOTE(str_of(choice->cluster)), QUOTE(str_of(choice->context)));
    if (r <= 0)
        return r;
    c->is_insecure = field_bool(choice, &e, "insecure-skip-tls-verify");
    c->disables_compression = field_bool(choice, &e, "disable-compression");
    c->tls_server_name = field_text(choice, &e, "tls-server-name");
    c->ca = field_file(choice, &e, "certificate-authority", "certificate-authority-data");
    if (c->is_insecure && file_is_set(&c->ca))
        error_list_add(&choice->bad,
                       "specifying a root certificates file with the insecure flag is not allowed");
    choose_server(choice, &e);
    c->proxy_url = field_text(choice, &e, "proxy-url");
    if (c->proxy_url && server_url_check_proxy(str_of(c->proxy_url), &why) < 0)
        error_list_add(&choice->bad, "invalid 'proxy-url' for cluster %s: %s", QUOTE(e.name), why.msg);
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
static int choose_context(const struct kubeconfigs *k, struct str name, struct config_choice *choice,
                          struct error *err)
{
    struct kubeconfig_entry e;
    const char *ns;
    int r = kubeconfigs_find(k, KUBECONFIG_CONTEXTS, name, &e, err);

    if (r == 0)
        error_list_add(&choice->bad, "context %s does not exist", QUOTE(name));
    if (r <= 0)
        return r;
    choice->cluster = or_empty(field_text(choice, &e, "cluster"));
    choice->user = or_empty(field_text(choice, &e, "user"));
    ns = field_text(choice, &e, "namespace");
    if (ns)
        choice->config->ns = ns;
    return 1;
}

int config_choose(const struct kubeconfigs *k, const char *context, struct config_choice *choice,
                  struct error *err)
{
    struct str name = context ? str_of(context) : kubeconfigs_current_context(k);
    struct client_config *c = choice->config;
    int r;

    if (name.len == 0)
        return 0;
    choice->context = or_empty(arena_dup(&c->arena, name));
    choice->cluster = choice->user = "";
    c->ns = "default";
    c->source = list_sources(k, &c->arena);
    r = choose_context(k, name, choice, err);
    if (r > 0) {
        /* The user first: whether a server without a scheme is https also depends on the certificate. */
        r = choose_user(k, choice, err);
        r = r < 0 ? r : choose_cluster(k, choice, err);
    }
    if (r == 0)
        r = arena_check(&c->arena, err);
    return r < 0 ? r : 1;
}

/* Kubeconfigs from any bytes, several with 0xFF between them: what is chosen without complaint keeps the
 * promises of client/config.h. No file is opened. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "base/cleanup.h"
#include "client/config_int.h"

static void check_text(const char *s)
{
    for (; s && *s; s++)
        FUZZ_CHECK((unsigned char)*s >= 0x20 && *s != 0x7F);
}

static void check_file(const struct config_file *f)
{
    FUZZ_CHECK(!f->path || !f->data);
    FUZZ_CHECK(!f->path || f->path[0] == '/');
    check_text(f->path);
}

static void check_server(const struct client_config *c)
{
    const char *scheme = c->is_tls ? "https://" : "http://";
    size_t len = strlen(scheme);

    FUZZ_CHECK(c->server && strncmp(c->server, scheme, len) == 0);
    FUZZ_CHECK(strlen(c->server) > len && c->server[len] != '/');
    FUZZ_CHECK(c->server[strlen(c->server) - 1] != '/');
    FUZZ_CHECK(!strpbrk(c->server, " ?#\\"));
    FUZZ_CHECK(!memchr(c->server + len, '@', strcspn(c->server + len, "/")));
    check_text(c->server);
}

static void check_identity(const struct client_config *c)
{
    FUZZ_CHECK(!c->token || !c->token_file);
    FUZZ_CHECK(!c->username == !c->password);
    FUZZ_CHECK(!c->username || (!c->token && !c->token_file));
    FUZZ_CHECK(!c->token_file || c->token_file[0] == '/');
    FUZZ_CHECK(c->as || (!c->as_uid && !c->as_groups && !c->as_extra));
    FUZZ_CHECK(!c->as_groups || c->as_groups[0]);
    for (const char *const *g = c->as_groups; g && *g; g++)
        check_text(*g);
    for (const struct config_extra *x = c->as_extra; x && x->key; x++) {
        check_text(x->key);
        FUZZ_CHECK(x->values);
        for (const char *const *v = x->values; *v; v++)
            check_text(*v);
    }
    check_text(c->token);
    check_text(c->as);
    check_text(c->as_uid);
}

static void check_config(const struct client_config *c)
{
    check_server(c);
    check_identity(c);
    check_file(&c->ca);
    check_file(&c->cert);
    check_file(&c->key);
    FUZZ_CHECK(!c->is_insecure || (!c->ca.path && !c->ca.data));
    FUZZ_CHECK((c->cert.path || c->cert.data) == (c->key.path || c->key.data));
    FUZZ_CHECK(c->ns && c->ns[0] && c->source && c->source[0]);
    check_text(c->ns);
    check_text(c->tls_server_name);
    check_text(c->proxy_url);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct client_config c = { .arena = ARENA_INIT(CONFIG_BYTES_MAX) };
    struct config_choice x = { .config = &c };
    struct str rest = { size ? (const char *)data : "", size };
    struct kubeconfigs k = { 0 };
    struct error err = { 0 };
    int r;

    while (rest.s && k.files.count < KUBECONFIG_FILES_MAX)
        if (kubeconfigs_add(&k, "/dir/kubeconfig", str_next(&rest, '\xFF'), &err) < 0)
            FUZZ_CHECK(err.code != ERR_NONE && err.msg[0]);
    err = (struct error){ 0 };
    r = config_choose(&k, /* context= */ NULL, &x, &err);
    FUZZ_CHECK(r <= 1);
    FUZZ_CHECK(r >= 0 || (err.code != ERR_NONE && err.code != ERR_NO_MEMORY && err.code != ERR_TOO_LARGE));
    if (r == 1 && error_list_check(&x.bad, "", &err) == 0)
        check_config(&c);
    config_done(&c);
    kubeconfigs_done(&k);
    return 0;
}

#include "apiserver/health.h"

#include <assert.h>
#include <string.h>

#include "apiserver/server.h"
#include "store/store.h"

/* The Kubernetes whose behaviour this is; clients compare it with theirs. */
#define KUBERNETES_MAJOR "1"
#define KUBERNETES_MINOR "34"

static bool always(const struct apiserver *s)
{
    (void)s;
    return true;
}

static bool store_is_well(const struct apiserver *s)
{
    struct error ignored;

    return store_check(s->store, &ignored) == 0;
}

/* A first start makes the predefined namespaces, this one last: whoever waited for readiness finds them. */
static bool has_namespaces(const struct apiserver *s)
{
    return store_get(s->store, KIND_NAMESPACE, "", "kube-system") != NULL;
}

static bool is_not_stopping(const struct apiserver *s)
{
    return !s->is_stopping;
}

enum { ENDPOINT_LIVEZ = 1 << 0, ENDPOINT_READYZ = 1 << 1, ENDPOINT_HEALTHZ = 1 << 2 };

static const struct {
    const char *name;
    unsigned bit;
} endpoints[] = { { "livez", ENDPOINT_LIVEZ },
                  { "readyz", ENDPOINT_READYZ },
                  { "healthz", ENDPOINT_HEALTHZ } };

/* The image is in memory before the server listens, and admission is compiled in: their checks say that they
 * exist. */
static const struct check {
    const char *name;
    bool (*is_well)(const struct apiserver *s);
    unsigned endpoints;
} checks[] = {
    { "ping", always, ENDPOINT_LIVEZ | ENDPOINT_READYZ | ENDPOINT_HEALTHZ },
    { "store", store_is_well, ENDPOINT_READYZ | ENDPOINT_HEALTHZ },
    { "informer-sync", has_namespaces, ENDPOINT_READYZ },
    { "admission", always, ENDPOINT_LIVEZ | ENDPOINT_READYZ | ENDPOINT_HEALTHZ },
    { "shutdown", is_not_stopping, ENDPOINT_READYZ },
};

/* "/readyz/store" is the check "store" of readyz; ret_check is "" for all of them. -1 for no such path. */
static int endpoint_of(const char *path, const char **ret_check)
{
    for (size_t i = 0; i < ARRAY_LEN(endpoints); i++) {
        size_t len = strlen(endpoints[i].name);

        if (strncmp(path + 1, endpoints[i].name, len) != 0)
            continue;
        *ret_check = path[1 + len] == '/' ? path + len + 2 : "";
        if (path[1 + len] == '\0' || path[1 + len] == '/')
            return (int)i;
    }
    return -1;
}

bool health_has_path(const char *path)
{
    const char *ignored;

    return path[0] == '/' && endpoint_of(path, &ignored) >= 0;
}

static bool is_excluded(const struct call *c, const char *check)
{
    for (size_t i = 0; i < c->params.count; i++) {
        if (str_is(c->params.items[i].name, "exclude") && str_is(c->params.items[i].value, check))
            return true;
    }
    return false;
}

static bool is_check_of(struct str name, unsigned endpoint)
{
    for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
        if (str_is(name, checks[i].name) && (checks[i].endpoints & endpoint))
            return true;
    }
    return false;
}

static void warn_of_unknown(const struct call *c, unsigned endpoint, struct buf *out)
{
    bool any = false;

    for (size_t i = 0; i < c->params.count; i++) {
        const struct param *p = &c->params.items[i];

        if (!str_is(p->name, "exclude") || is_check_of(p->value, endpoint))
            continue;
        buf_addf(out, "%s\"%.*s\"",
                 any ? "," : "warn: some health checks cannot be excluded: no matches for ",
                 STR_ARG(p->value));
        any = true;
    }
    if (any)
        buf_add_char(out, '\n');
}

static void serve_one(struct call *c, const char *name, unsigned endpoint)
{
    for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
        if (strcmp(checks[i].name, name) != 0 || !(checks[i].endpoints & endpoint))
            continue;
        if (checks[i].is_well(c->server))
            call_answer_text(c, 200, "ok");
        else
            call_answer_text(c, 500, call_text(c, "internal server error: %s failed\n", name));
        return;
    }
    call_answer_text(c, 404, "404 page not found\n");
}

static void serve_all(struct call *c, int at)
{
    struct buf lines = BUF_INIT((size_t)64 << 10);
    bool is_well = true, is_verbose = params_get(&c->params, "verbose").s != NULL;

    for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
        const struct check *k = &checks[i];

        if (!(k->endpoints & endpoints[at].bit))
            continue;
        if (is_excluded(c, k->name)) {
            buf_addf(&lines, "[+]%s excluded: ok\n", k->name);
        } else if (k->is_well(c->server)) {
            buf_addf(&lines, "[+]%s ok\n", k->name);
        } else {
            buf_addf(&lines, "[-]%s failed: reason withheld\n", k->name);
            is_well = false;
        }
    }
    warn_of_unknown(c, endpoints[at].bit, &lines);
    buf_addf(&lines, "%s check %s\n", endpoints[at].name, is_well ? "passed" : "failed");
    call_answer_text(c, is_well ? 200 : 500, is_well && !is_verbose ? "ok" : call_copy(c, buf_str(&lines)));
    buf_done(&lines);
}

void health_serve(struct call *c)
{
    const char *check = "";
    int at = endpoint_of(c->route.path, &check);

    assert(at >= 0); /* health_has_path() */
    if (check[0])
        serve_one(c, check, endpoints[at].bit);
    else
        serve_all(c, at);
}

void version_serve(struct call *c)
{
    c->view.is_pretty = true;
    buf_addf(&c->reply,
             "{\"major\":\"" KUBERNETES_MAJOR "\",\"minor\":\"" KUBERNETES_MINOR
             "\",\"gitVersion\":\"v" KUBERNETES_MAJOR "." KUBERNETES_MINOR
             ".0+berth.%s\",\"gitCommit\":\"\",\"gitTreeState\":\"clean\",\"buildDate\":"
             "\"1970-01-01T00:00:00Z\",\"goVersion\":\"none\",\"compiler\":\"%s\",\"platform\":\"linux/%s\"}",
             BERTH_VERSION, BERTH_COMPILER, BERTH_ARCH);
    call_answer_json_reply(c, 200);
}

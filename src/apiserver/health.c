/* Health checks of the server, /livez, /readyz, /healthz and /version. Checks read memory only. */
#include "apiserver/health.h"

#include <assert.h>

#include "api/json_out.h"
#include "apiserver/server.h"
#include "machinery/health.h"
#include "machinery/server_version.h"
#include "store/store.h"

#define TEXT_BYTES_MAX ((size_t)256 << 10)

static int check_nothing(void *ctx, struct error *err)
{
    (void)ctx;
    (void)err;
    return 0;
}

static int check_store(void *ctx, struct error *err)
{
    const struct apiserver *s = ctx;

    return store_check(s->store, err);
}

/* A first start creates the predefined namespaces, this one last: a client that waited for readiness finds
 * all of them. */
static int check_namespaces(void *ctx, struct error *err)
{
    const struct apiserver *s = ctx;

    if (!store_get(s->store, KIND_NAMESPACE, "", "kube-system"))
        return error_set(err, ERR_UNAVAILABLE, "namespace 'kube-system' does not exist yet");
    return 0;
}

static int check_stopping(void *ctx, struct error *err)
{
    const struct apiserver *s = ctx;

    return s->is_stopping ? error_set(err, ERR_UNAVAILABLE, "server is stopping") : 0;
}

/* Checks that always pass, for compatibility: the objects are in memory before the server listens, and
 * admission is compiled in. */
static const struct {
    const char *name;
    unsigned when;
    health_check_fn *check;
} checks[] = {
    { "store", HEALTH_READY | HEALTH_OLD, check_store },
    { "informer-sync", HEALTH_READY, check_namespaces },
    { "admission", HEALTH_ALL, check_nothing },
    { "shutdown", HEALTH_READY, check_stopping },
};

int server_health_new(struct apiserver *s, struct health **ret, struct error *err)
{
    _cleanup_(health_free_p) struct health *h = health_new();
    int r = h ? 0 : error_no_memory(err);

    for (size_t i = 0; i < ARRAY_LEN(checks) && r == 0; i++)
        r = health_add(h, checks[i].name, checks[i].when, checks[i].check, s, err);
    if (r < 0)
        return r;
    *ret = TAKE(h);
    return 0;
}

int health_text(const struct health *h, const char *path, const struct params *params, struct arena *a,
                const char **ret_text)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(TEXT_BYTES_MAX);
    struct health_ask ask = { .is_verbose = params_get(params, "verbose").s != NULL };
    struct str *excluded = arena_array(a, params->count + 1, sizeof *excluded);
    int status;

    for (size_t i = 0; i < params->count && excluded; i++) {
        if (str_is(params->items[i].name, "exclude"))
            excluded[ask.excluded_count++] = params->items[i].value;
    }
    ask.excluded = excluded;
    status = health_answer(h, str_of(path), &ask, &text);
    assert(status > 0); /* callers check health_has_path() */
    *ret_text = arena_dup(a, buf_str(&text));
    if (!*ret_text)
        *ret_text = "";
    return status;
}

void health_serve(const struct health *h, struct call *c)
{
    const char *text;
    int status = health_text(h, c->route.path, &c->params, &c->arena, &text);

    call_answer_text(c, status, text);
}

void version_serve(struct call *c)
{
    static const char *const members[][2] = {
        { "major", KUBERNETES_MAJOR },
        { "minor", KUBERNETES_MINOR },
        { "emulationMajor", KUBERNETES_MAJOR },
        { "emulationMinor", KUBERNETES_MINOR },
        { "minCompatibilityMajor", KUBERNETES_MAJOR },
        { "minCompatibilityMinor", KUBERNETES_MINOR_COMPATIBLE },
        { "gitVersion", KUBERNETES_VERSION BERTH_VERSION },
        { "gitCommit", "" },
        { "gitTreeState", "clean" },
        { "buildDate", "1970-01-01T00:00:00Z" },
        { "goVersion", "none" },
        { "compiler", BERTH_COMPILER },
        { "platform", "linux/" BERTH_ARCH },
    };

    c->view.is_pretty = true;
    json_out_object(&c->reply, NULL);
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        json_out_text(&c->reply, members[i][0], members[i][1]);
    json_out_end_object(&c->reply);
    call_answer_json_reply(c, 200);
}

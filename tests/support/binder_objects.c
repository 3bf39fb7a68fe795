/* The bodies of what tests/unit/test_binder_objects.h declares. */
#include "tests/unit/test_binder_objects.h"

/* --- Orders --- */

void in_both_orders(void (*make)(struct world *w), void (*check)(struct world *w))
{
    for (int is_early = 0; is_early < 2; is_early++) {
        struct world w;

        world_init(&w);
        if (is_early)
            world_start(&w);
        make(&w);
        if (!is_early)
            world_start(&w);
        world_settle(&w);
        check(&w);
        world_done(&w);
    }
}

void world_recount(struct world *w)
{
    w->requests = 0;
    w->writes = 0;
    buf_clear(&w->log);
}

void fail_next(struct world *w, enum tap_fault fault, const char *begins, unsigned count)
{
    w->fault = fault;
    w->failing = begins;
    w->failing_count = count;
}

/* --- Objects --- */

void make_volume(struct world *w, const char *name, const char *meta, const char *source, const char *rest)
{
    post_volume(w, name, meta, "1Gi", RWO, source, rest);
}

void make_claim(struct world *w, const char *name, const char *meta, const char *rest)
{
    post_claim(w, name, meta, "1Gi", RWO, rest);
}

void make_class(struct world *w, const char *name, const char *provisioner, const char *rest)
{
    char body[1024];

    (void)snprintf(body, sizeof body,
                   "{'apiVersion':'storage.k8s.io/v1','kind':'StorageClass','metadata':{'name':'%s'},"
                   "'provisioner':'%s'%s}",
                   name, provisioner, rest);
    ASSERT_SENT(&w->served, 201, "POST", CLASSES, body);
}

void make_default_class(struct world *w, const char *name, const char *provisioner)
{
    char body[1024];

    (void)snprintf(body, sizeof body,
                   "{'apiVersion':'storage.k8s.io/v1','kind':'StorageClass','metadata':{'name':'%s',"
                   "'annotations':{'" ANN_DEFAULT_CLASS "':'true'}},'provisioner':'%s'}",
                   name, provisioner);
    ASSERT_SENT(&w->served, 201, "POST", CLASSES, body);
}

void make_pod(struct world *w, const char *name, const char *claim, const char *node)
{
    char body[1024];

    (void)snprintf(body, sizeof body,
                   "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s'},'spec':{'nodeName':'%s',"
                   "'containers':[{'name':'c','image':'i:1'}],'volumes':[{'name':'v',"
                   "'persistentVolumeClaim':{'claimName':'%s'}}]}}",
                   name, node, claim);
    ASSERT_SENT(&w->served, 201, "POST", PODS, body);
}

void set_pod_phase(struct world *w, const char *name, const char *phase)
{
    char path[256], body[128];

    (void)snprintf(path, sizeof path, PODS "/%s/status", name);
    (void)snprintf(body, sizeof body, "{'status':{'phase':'%s'}}", phase);
    ASSERT_SENT(&w->served, 200, "MERGE", path, body);
}

const char *ref_to(const char *claim, const char *uid)
{
    static char text[2][512];
    static unsigned turn;
    char *to = text[turn++ % 2];

    (void)snprintf(to, 512,
                   ",'claimRef':{'kind':'PersistentVolumeClaim','apiVersion':'v1','namespace':'default',"
                   "'name':'%s','uid':'%s'}",
                   claim, uid);
    return to;
}

const char *ref_to_claim(struct world *w, const char *claim)
{
    char uid[64];

    look_at_claim(w, claim);
    uid_of_last(w, uid);
    return ref_to(claim, uid);
}

const char *annotated(const char *key, const char *value)
{
    static char text[2][256];
    static unsigned turn;
    char *to = text[turn++ % 2];

    (void)snprintf(to, 256, ",'annotations':{'%s':'%s'}", key, value);
    return to;
}

void drop_claim(struct world *w, const char *name)
{
    char path[512];

    (void)snprintf(path, sizeof path, CLAIMS "/%s", name);
    ASSERT_SENT(&w->served, 200, "MERGE", path, "{'metadata':{'finalizers':null}}");
    ASSERT_SENT(&w->served, 200, "DELETE", path, NULL);
    ASSERT_SENT(&w->served, 404, "GET", path, NULL);
}

void assert_goes(struct world *w, const char *name)
{
    char path[512];

    (void)snprintf(path, sizeof path, VOLUMES "/%s", name);
    look_at_volume(w, name);
    if (strcmp(got(&w->served, "metadata/deletionTimestamp"), "-") == 0)
        fail_msg("volume %s is not being deleted\n%s", name, w->served.text.data);
    ASSERT_GOT(&w->served, "['" FINALIZER_VOLUME_PROTECTION "']", "metadata/finalizers");
    ASSERT_SENT(&w->served, 200, "MERGE", path, "{'metadata':{'finalizers':null}}");
    ASSERT_SENT(&w->served, 404, "GET", path, NULL);
}

void assert_let_go(struct world *w, const char *volume)
{
    look_at_volume(w, volume);
    if (plan.fault == TAP_NONE || strcmp(got(&w->served, "status/phase"), "Failed") != 0)
        ASSERT_GOT(&w->served, "Released", "status/phase");
}

bool is_deleting(struct world *w, const char *volume)
{
    look_at_volume(w, volume);
    return strcmp(got(&w->served, "metadata/deletionTimestamp"), "-") != 0;
}

unsigned count_told(struct world *w, const char *object, const char *reason)
{
    unsigned count = 0;

    ASSERT_SENT(&w->served, 200, "GET", "/api/v1/events", NULL);
    for (size_t i = 0, n = got_items(&w->served); i < n; i++)
        if (event_is(w, i, object, reason))
            count += (unsigned)strtoul(event_text(w, i, "count"), NULL, 10);
    return count;
}

void assert_told(struct world *w, const char *object, const char *type, const char *reason,
                 const char *message)
{
    unsigned count = count_events(w, object, reason, message);

    if (count != 1 && plan.fault == TAP_NONE)
        fail_msg("%s: %s \"%s\" not once in\n%s", object, reason, message ? message : "…",
                 w->served.text.data);
    assert_times(1, count);
    assert_times(1, count_told(w, object, reason));
    for (size_t i = 0, n = got_items(&w->served); i < n; i++)
        if (event_is(w, i, object, reason))
            ASSERT_STR(type, event_text(w, i, "type"));
}

unsigned count_writes(const struct world *w, const char *begins)
{
    const char *at = w->log.len ? buf_cstr(&w->log) : "";
    unsigned count = 0;

    while (*at) {
        count += strncmp(at, begins, strlen(begins)) == 0;
        at = strchr(at, '\n') + 1;
    }
    return count;
}

double number_of(const struct world *w, const char *line)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT((size_t)1 << 20);
    char start[256];
    const char *at;

    metrics_write(w->metrics, &text);
    (void)snprintf(start, sizeof start, "\n%s ", line);
    at = strstr(buf_cstr(&text), start);
    return at ? strtod(at + strlen(start), NULL) : -1;
}

/* --- What no server would let in --- */

static void plant_on_done(void *ctx, int r, const struct error *e)
{
    (void)e;
    assert_int_equal(r, 0);
    ((struct plant *)ctx)->is_done = true;
}

void plant(struct world *w, enum kind kind, const char *text)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(1 << 20), whole = BUF_INIT(1 << 20);
    int64_t revision = store_reserve(w->served.store);
    struct plant p = { 0 };
    struct object *o = NULL;
    struct json d;

    json_init(&d, 1 << 20);
    buf_addf(&body, "{'metadata':{'resourceVersion':'%lld',%s", (long long)revision, text);
    kind_quotes(buf_cstr(&body), &whole);
    ASSERT_OK(object_decode(kind_info(kind), buf_str(&whole), &d, &o, &err));
    o->revision = revision;
    store_submit(w->served.store, &p.write, o, /* is_delete= */ false, plant_on_done, &p);
    served_settle(&w->served);
    assert_true(p.is_done);
    (void)object_unref(o);
    json_done(&d);
}

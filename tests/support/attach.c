/* The bodies of what tests/unit/test_attach.h declares. */
#include "tests/unit/test_attach.h"

/* --- The plugin: PersistentVolumes and pods' volumes of NFS, by their names --- */

struct script script = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool script_supports(const struct volume_plugin *self, const struct volume_spec *s)
{
    (void)self;
    return spec_source(s).kind == SOURCE_NFS;
}

static int script_name(const struct volume_plugin *self, const struct volume_spec *s, struct buf *ret,
                       struct error *e)
{
    (void)self;
    buf_add_cstr(ret, spec_name(s));
    return buf_check(ret, "name", e);
}

static bool script_can(const struct volume_plugin *self, const struct volume_spec *s)
{
    (void)self;
    (void)s;
    return true;
}

static int script_call(unsigned *count, char node_is[64], const char *node, struct error *e)
{
    int r = 0;

    (void)pthread_mutex_lock(&script.lock);
    (*count)++;
    (void)snprintf(node_is, 64, "%s", node);
    if (script.fails) {
        script.fails--;
        r = error_set(e, script.fails_with ? script.fails_with : ERR_IO, "%s",
                      script.says ? script.says : "no luck");
    }
    (void)pthread_mutex_unlock(&script.lock);
    return r;
}

static int script_attach(const struct volume_plugin *self, const struct volume_env *env,
                         const struct volume_spec *s, const char *node, char *ret_device, struct error *e)
{
    int r = script_call(&script.attaches, script.attached_to, node, e);

    (void)self;
    (void)env;
    (void)s;
    if (r == -ERR_EXISTS)
        (void)snprintf(ret_device, PATH_MAX, "%s", script.elsewhere);
    else if (r == 0)
        (void)snprintf(ret_device, PATH_MAX, "%s", script.device ? script.device : "/dev/x");
    return r;
}

static int script_detach(const struct volume_plugin *self, const struct volume_env *env, const char *volume,
                         const char *node, struct error *e)
{
    (void)self;
    (void)env;
    (void)volume;
    return script_call(&script.detaches, script.detached_from, node, e);
}

static int script_verify(const struct volume_plugin *self, const struct volume_env *env,
                         const struct volume_spec *s, const char *node, bool *ret, struct error *e)
{
    int r = 0;

    (void)self;
    (void)env;
    (void)s;
    (void)node;
    (void)pthread_mutex_lock(&script.lock);
    script.checks++;
    *ret = !script.is_lost;
    if (script.cannot_verify)
        r = error_set(e, ERR_UNSUPPORTED, "not supported");
    (void)pthread_mutex_unlock(&script.lock);
    return r;
}

static const struct attach_table script_table = {
    .can_attach = script_can, .attach = script_attach, .detach = script_detach, .is_attached = script_verify
};
static const struct volume_plugin script_plugin = { .name = "test.io/disk",
                                                    .can_support = script_supports,
                                                    .volume_name = script_name,
                                                    .attach = &script_table };
static const struct volume_plugin *const script_plugins[] = { &script_plugin, NULL };

/* --- The part --- */

struct attach_options attach_options; /* what a test wants otherwise */

static int attach_make(const struct component_deps *o, void **ret, struct error *e)
{
    struct attach_part *x = calloc(1, sizeof *x);
    struct attach_options options = attach_options;

    assert_non_null(x);
    assert_int_equal(pool_new(o->loop, 2, 1024, &x->pool, e), 0);
    assert_int_equal(registry_new(script_plugins, NULL, &x->registry, e), 0);
    options.part = *o;
    options.pool = x->pool;
    options.registry = x->registry;
    the_parts->pool = x->pool;
    *ret = x;
    return attach_new(&options, &x->attach, e);
}

static void attach_begin(void *part)
{
    attach_start(((struct attach_part *)part)->attach);
}

static void attach_end(void *part)
{
    struct attach_part *x = part;

    the_parts->pool = NULL;
    (void)attach_free(x->attach);
    (void)registry_free(x->registry);
    (void)pool_free(x->pool);
    free(x);
}

const struct part_type attach_type = { attach_make, attach_begin, attach_end };

void script_clear(void)
{
    script = (struct script){ .lock = PTHREAD_MUTEX_INITIALIZER };
}

void attach_init(struct parts *w)
{
    script_clear();
    attach_options = (struct attach_options){ 0 };
    parts_init(w, &attach_type);
}

void attach_restart(struct parts *w)
{
    process_kill(w);
    process_start(w);
    parts_rest(w);
}

/* --- Objects --- */

void set_ready(struct parts *w, const char *node, bool is_ready)
{
    char path[128], body[256];

    (void)snprintf(path, sizeof path, NODES "/%s/status", node);
    (void)snprintf(body, sizeof body, "{'status':{'conditions':[{'type':'Ready','status':'%s'}]}}",
                   is_ready ? "True" : "False");
    ASSERT_DID(w, 200, "MERGE", path, body);
}

void add_node(struct parts *w, const char *name)
{
    char body[256];

    (void)snprintf(body, sizeof body, "{'metadata':{'name':'%s'," MANAGED "}}", name);
    ASSERT_DID(w, 201, "POST", NODES, body);
    set_ready(w, name, true);
}

void set_in_use(struct parts *w, const char *node, const char *names)
{
    char path[128], body[1024];

    (void)snprintf(path, sizeof path, NODES "/%s/status", node);
    (void)snprintf(body, sizeof body, "{'status':{'volumesInUse':[%s]}}", names);
    ASSERT_DID(w, 200, "MERGE", path, body);
    (void)snprintf(path, sizeof path, NODES "/%s", node);
    ASSERT_DID(w, 200, "MERGE", path, "{'metadata':{'labels':{'beat':'yes'}}}");
    ASSERT_DID(w, 200, "MERGE", path, "{'metadata':{'labels':{'beat':null}}}");
}

void add_pair_in(struct parts *w, const char *ns, const char *claim, const char *volume, const char *modes,
                 const char *source)
{
    char path[256], body[1024];

    (void)snprintf(path, sizeof path, "/api/v1/namespaces/%s/persistentvolumeclaims", ns);
    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'%s'},'spec':{'accessModes':[" RWO
                   "],'volumeName':'%s','resources':{'requests':{'storage':'1Gi'}}}}",
                   claim, volume);
    ASSERT_SENT(&w->served, 201, "POST", path, body);
    (void)snprintf(
        body, sizeof body,
        "{'metadata':{'name':'%s'},'spec':{'capacity':{'storage':'1Gi'},'accessModes':[%s],'claimRef':{"
        "'namespace':'%s','name':'%s','uid':'%s'},%s}}",
        volume, modes, ns, claim, got(&w->served, "metadata/uid"), source);
    ASSERT_SENT(&w->served, 201, "POST", VOLUMES, body);
    (void)snprintf(path, sizeof path, "/api/v1/namespaces/%s/persistentvolumeclaims/%s/status", ns, claim);
    ASSERT_DID(w, 200, "MERGE", path, "{'status':{'phase':'Bound'}}");
}

void add_pair(struct parts *w, const char *claim, const char *volume, const char *modes, const char *source)
{
    add_pair_in(w, "default", claim, volume, modes, source);
}

void add_pod_in(struct parts *w, const char *ns, const char *pod, const char *node, const char *volumes)
{
    char path[128], body[2048];

    (void)snprintf(path, sizeof path, "/api/v1/namespaces/%s/pods", ns);
    (void)snprintf(
        body, sizeof body,
        "{'metadata':{'name':'%s'},'spec':{'nodeName':'%s','containers':[{'name':'c','image':'i:1'}],"
        "'volumes':[%s]}}",
        pod, node, volumes);
    ASSERT_DID(w, 201, "POST", path, body);
}

void add_pod(struct parts *w, const char *pod, const char *node, const char *volumes)
{
    add_pod_in(w, "default", pod, node, volumes);
}

void drop_pod(struct parts *w, const char *pod)
{
    char path[128];

    (void)snprintf(path, sizeof path, PODS "/%s?gracePeriodSeconds=0", pod);
    ASSERT_DID(w, 200, "DELETE", path, NULL);
}

void pass_ms(struct parts *w, uint64_t ms)
{
    parts_pass_ns(w, ms * NS_PER_MS);
}

void pass_s(struct parts *w, uint64_t seconds)
{
    parts_pass_ns(w, seconds * NS_PER_S);
}

/* --- Attachments, and who serves them --- */

const char *attachment_path(const char *handle, const char *node)
{
    static char path[256];
    char text[256], sum[SHA256_HEX_BYTES];

    (void)snprintf(text, sizeof text, "%s" DRIVER "%s", handle, node);
    ASSERT_OK(sha256_hex(str_of(text), sum, &err));
    (void)snprintf(path, sizeof path, ATTACHMENTS "/csi-%s", sum);
    return path;
}

void patch_attachment(struct parts *w, const char *handle, const char *node, const char *sub,
                      const char *body)
{
    char path[320];

    (void)snprintf(path, sizeof path, "%s%s", attachment_path(handle, node), sub);
    ASSERT_DID(w, 200, "MERGE", path, body);
}

void grant(struct parts *w, const char *handle, const char *node)
{
    patch_attachment(w, handle, node, "", FINALIZED);
    patch_attachment(w, handle, node, "/status", "{'status':{'attached':true}}");
}

void release(struct parts *w, const char *handle, const char *node)
{
    patch_attachment(w, handle, node, "", "{'metadata':{'finalizers':null}}");
}

void serve_attachments(struct parts *w)
{
    for (unsigned round = 0; round < 8; round++) {
        char path[256] = "", body[128] = "";

        parts_rest(w);
        ASSERT_SENT(&w->served, 200, "GET", ATTACHMENTS, NULL);
        for (uint32_t i = 0; i < got_items(&w->served) && !path[0]; i++) {
            const struct json *d = &w->served.doc;
            json_ref o = json_at(d, json_get(d, w->served.root, "items"), i);
            json_ref name = json_path(d, o, "metadata", "name");
            bool is_deleting = json_path(d, o, "metadata", "deletionTimestamp") != 0;
            bool is_attached = json_type(d, json_path(d, o, "status", "attached")) == JSON_TRUE;

            if (is_attached && !is_deleting)
                continue;
            (void)snprintf(path, sizeof path, ATTACHMENTS "/%.*s%s", STR_ARG(json_text(d, name)),
                           is_deleting ? "" : "/status");
            (void)snprintf(body, sizeof body, "%s",
                           is_deleting ? "{'metadata':{'finalizers':null}}" : "{'status':{'attached':true}}");
        }
        if (!path[0])
            return;
        ASSERT_DID(w, 200, "MERGE", path, body);
    }
}

/* --- What stands there --- */

const char *attached_to(struct parts *w, const char *node)
{
    static char names[1024];
    char path[128];

    (void)snprintf(path, sizeof path, NODES "/%s", node);
    ASSERT_SENT(&w->served, 200, "GET", path, NULL);
    names[0] = '\0';
    for (unsigned i = 0; i < 8; i++) {
        size_t len = strlen(names);

        (void)snprintf(path, sizeof path, "status/volumesAttached/%u/name", i);
        if (strcmp(got(&w->served, path), "-") == 0)
            break;
        (void)snprintf(names + len, sizeof names - len, "%s ", got(&w->served, path));
    }
    return names;
}

void assert_attachment(struct parts *w, const char *handle, const char *node, bool is_there)
{
    ASSERT_SENT(&w->served, is_there ? 200 : 404, "GET", attachment_path(handle, node), NULL);
}

unsigned count_of(struct parts *w, const char *pod, const char *reason, const char *message)
{
    unsigned found = 0;

    ASSERT_SENT(&w->served, 200, "GET", "/api/v1/events", NULL);
    for (unsigned i = 0; i < got_items(&w->served); i++) {
        const struct json *d = &w->served.doc;
        json_ref e = json_at(d, json_get(d, w->served.root, "items"), i);
        int64_t count = 1;

        if (!json_is_string(d, json_get(d, e, "reason"), reason) ||
            !json_is_string(d, json_path(d, e, "involvedObject", "name"), pod) ||
            (message && !json_is_string(d, json_get(d, e, "message"), message)))
            continue;
        (void)json_int64(d, json_get(d, e, "count"), &count);
        found += (unsigned)count;
    }
    return found;
}

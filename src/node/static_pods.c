/* Static pods. A worker reads the whole directory whenever something in it changes; the next step of each pod
 * follows from the manifests and from the server's objects: create, delete, or wait until it is deleted. Each
 * pod has at most one request in flight. Only pods that are assigned to this node and annotated as coming
 * from a file are ever changed.
 *
 * A record exists for each pod that has a manifest or exists on the server, sorted by namespace and name. */
#include "node/static_pods.h"

#include <string.h>

#include "api/pod.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/omap.h"
#include "io/dirwatch.h"
#include "io/job.h"
#include "machinery/api_write.h"
#include "node/manifest.h"
#include "node/register.h"

#define RETRY_NS (10 * NS_PER_S)
#define RETRY_NS_MAX (300 * NS_PER_S)
#define TEXTS_BYTES_MAX ((size_t)256 << 20)

struct scan {
    struct job job;
    struct arena arena;
    const char *dir;
    const char *node_name;
    struct pod_manifest *files;
    size_t count;
};

struct record {
    struct static_pods *all;
    char *ns;
    char *name;
    const struct pod_manifest *wanted; /* in all->scan; NULL: no manifest */
    struct api_write write;
    struct timer retry;
    unsigned failures;
};

struct static_pods {
    struct static_pods_options o;
    struct api api;
    struct omap records;
    struct arena texts; /* of the last successful scan */
    struct pod_manifest *files;
    size_t files_count;
    bool is_read; /* a scan succeeded */
    struct dirwatch *watch;
    struct timer again; /* the directory is missing or unreadable */
    struct job *scan;
    bool wants_scan; /* another scan follows the one in progress */
    struct deferred sync;
    struct informer_handler on_pods;
    struct error last_error; /* of the directory, as last logged */
};

/* --- Records --- */

static int key_cmp(const char *ns, const char *name, const struct record *b)
{
    int order = strcmp(ns, b->ns);

    return order ? order : strcmp(name, b->name);
}

static int record_cmp(void *ctx, const void *a, const void *b)
{
    const struct record *record = a;

    (void)ctx;
    return key_cmp(record->ns, record->name, b);
}

struct record_key {
    const char *ns;
    const char *name;
};

static int record_cmp_key(void *ctx, const void *key, const void *b)
{
    const struct record_key *k = key;

    (void)ctx;
    return key_cmp(k->ns, k->name, b);
}

static struct record *record_find(const struct static_pods *s, const char *ns, const char *name)
{
    return omap_find(&s->records, /* rank= */ 0, &(struct record_key){ ns, name });
}

static void record_free(struct record *record)
{
    api_write_cancel(&record->write);
    timer_disarm(&record->retry);
    free(record->ns);
    free(record->name);
    free(record);
}

static void on_retry(void *ctx)
{
    const struct record *record = ctx;

    loop_defer(&record->all->sync);
}

/* NULL when out of memory. */
static struct record *record_add(struct static_pods *s, const char *ns, const char *name)
{
    struct record *record = record_find(s, ns, name);

    if (record)
        return record;
    record = calloc(1, sizeof *record);
    if (!record)
        return NULL;
    record->all = s;
    record->ns = strdup(ns);
    record->name = strdup(name);
    timer_init(&record->retry, s->o.part.loop, on_retry, record);
    if (!record->ns || !record->name || omap_insert(&s->records, /* rank= */ 0, record) < 0) {
        record_free(record);
        return NULL;
    }
    return record;
}

/* --- The next step of a pod --- */

static bool is_ours(const struct static_pods *s, const struct object *o)
{
    return object_annotation_is(o, ANN_CONFIG_SOURCE, CONFIG_SOURCE_FILE) &&
           object_annotation(o, ANN_CONFIG_MIRROR) && object_annotation(o, ANN_CONFIG_FILE) &&
           strcmp(pod_of(o)->node_name, s->o.node_name) == 0;
}

static void on_done(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct record *record = ctx;
    struct static_pods *s = record->all;

    if (api_write_succeeded(outcome)) {
        record->failures = 0;
    } else {
        uint64_t delay = RETRY_NS;

        for (unsigned i = 0; i < record->failures && delay < RETRY_NS_MAX; i++)
            delay *= 2;
        record->failures++;
        timer_arm_after(&record->retry, delay < RETRY_NS_MAX ? delay : RETRY_NS_MAX);
        log_warn("cannot create or delete static pod, retrying",
                 LOG_STR("file", record->wanted ? record->wanted->file : NULL),
                 LOG_STR("namespace", record->ns), LOG_STR("pod", record->name), LOG_ERR(&a->error));
    }
    loop_defer(&s->sync);
}

/* Deletes the pod with its own grace period. NULL: creates it. */
static void record_send(struct record *record, const struct object *o)
{
    struct api_write_options w = {
        .api = record->all->api,
        .request = { .verb = CLIENT_DELETE, .kind = &pod_kind, .ns = record->ns, .name = record->name },
        .object = o,
        .informer = record->all->o.pods,
        .done = on_done,
        .ctx = record
    };

    if (o) {
        log_info("deleting static pod", LOG_STR("pod", record->name),
                 LOG_STR("why", record->wanted ? "manifest changed" : "manifest removed"));
    } else {
        w.request.verb = CLIENT_CREATE;
        w.body = record->wanted->body;
        log_info("creating static pod", LOG_STR("file", record->wanted->file), LOG_STR("pod", record->name));
    }
    api_write_start(&record->write, &w);
}

/* The manifest exists and is invalid now. */
static bool is_in_doubt(const struct static_pods *s, const struct object *o)
{
    const char *file = object_annotation(o, ANN_CONFIG_FILE);

    for (size_t i = 0; i < s->files_count; i++)
        if (s->files[i].r < 0 && strcmp(s->files[i].file, file) == 0)
            return true;
    return false;
}

static void record_step(struct static_pods *s, struct record *record)
{
    const struct object *o = informer_get(s->o.pods, record->ns, record->name);

    if (api_write_is_active(&record->write) || timer_is_armed(&record->retry))
        return;
    if (!o) {
        if (record->wanted)
            record_send(record, NULL);
    } else if (is_ours(s, o) && !o->is_deleting) {
        if (record->wanted ? !object_annotation_is(o, ANN_CONFIG_HASH, record->wanted->hash)
                           : !is_in_doubt(s, o))
            record_send(record, o);
    }
    /* Otherwise it is being deleted and is created again after that, or it is not a static pod. */
}

/* The first record that is no longer needed; NULL. */
static struct record *find_idle(const struct static_pods *s)
{
    struct omap_cursor at;

    for (struct record *record = omap_first(&s->records, &at); record; record = omap_next(&at))
        if (!record->wanted && !api_write_is_active(&record->write) &&
            !informer_get(s->o.pods, record->ns, record->name))
            return record;
    return NULL;
}

static void sync_pods(void *ctx)
{
    struct static_pods *s = ctx;
    struct informer_cursor c;
    struct omap_cursor at;
    struct record *record;

    if (!s->is_read)
        return;
    for (const struct object *o = informer_first(s->o.pods, &c); o; o = informer_next(&c))
        if (is_ours(s, o) && !record_add(s, o->ns, o->name))
            log_error("cannot track static pod: out of memory", LOG_STR("pod", o->name));
    for (record = omap_first(&s->records, &at); record; record = omap_next(&at))
        record_step(s, record);
    while ((record = find_idle(s))) {
        (void)omap_remove(&s->records, /* rank= */ 0, record);
        record_free(record);
    }
}

/* --- The directory --- */

static int scan_run(struct job *j, struct error *err)
{
    struct scan *scan = CONTAINER_OF(j, struct scan, job);

    return manifest_read_dir(&scan->arena, scan->dir, scan->node_name, &scan->files, &scan->count, err);
}

static void scan_free(struct job *j)
{
    struct scan *scan = CONTAINER_OF(j, struct scan, job);

    arena_done(&scan->arena);
    free(scan);
}

static const struct job_type scan_type = { "static pod manifests", scan_run, scan_free };

/* The last error of the file; NULL for none. */
static const char *error_of_file(const struct static_pods *s, const char *file)
{
    for (size_t i = 0; i < s->files_count; i++)
        if (s->files[i].r < 0 && strcmp(s->files[i].file, file) == 0)
            return s->files[i].err.msg;
    return NULL;
}

/* Logged once per reason. */
static void log_broken_manifest(const struct static_pods *s, const struct pod_manifest *m)
{
    const char *before = error_of_file(s, m->file);

    if (!before || strcmp(before, m->err.msg) != 0)
        log_error("invalid static pod manifest, keeping the existing pod", LOG_STR("file", m->file),
                  LOG_ERR(&m->err));
}

/* Replaces the old manifests: records point into them. */
static void take_files(struct static_pods *s, struct scan *scan)
{
    struct omap_cursor at;

    for (size_t i = 0; i < scan->count; i++)
        if (scan->files[i].r < 0)
            log_broken_manifest(s, &scan->files[i]);
    for (struct record *r = omap_first(&s->records, &at); r; r = omap_next(&at))
        r->wanted = NULL;
    arena_done(&s->texts);
    s->texts = scan->arena;
    scan->arena = ARENA_INIT(0);
    s->files = scan->files;
    s->files_count = scan->count;
    s->is_read = true;
    for (size_t i = 0; i < s->files_count; i++) {
        const struct pod_manifest *m = &s->files[i];
        struct record *r = m->r == 0 ? record_add(s, m->ns, m->name) : NULL;

        if (r) {
            r->wanted = m;
            timer_disarm(&r->retry);
            r->failures = 0;
        }
    }
}

static void begin_scan(struct static_pods *s);

/* Logged once per reason; the pods are kept. */
static void dir_failed(struct static_pods *s, const struct error *err)
{
    if (strcmp(s->last_error.msg, err->msg) != 0)
        log_error("static pods", LOG_STR("dir", s->o.dir), LOG_ERR(err));
    s->last_error = *err;
    s->watch = dirwatch_stop(s->watch);
    timer_arm_after(&s->again, RETRY_NS);
}

static void on_scanned(void *ctx, struct job *j, int r, const struct error *err)
{
    struct static_pods *s = ctx;

    s->scan = NULL;
    if (r < 0) {
        dir_failed(s, err);
        return;
    }
    s->last_error = (struct error){ 0 };
    take_files(s, CONTAINER_OF(j, struct scan, job));
    loop_defer(&s->sync);
    if (s->wants_scan)
        begin_scan(s);
}

static void begin_scan(struct static_pods *s)
{
    struct scan *scan;
    struct error err = { 0 };

    s->wants_scan = s->scan;
    if (s->scan)
        return;
    scan = calloc(1, sizeof *scan);
    if (!scan) {
        (void)error_no_memory(&err);
        dir_failed(s, &err);
        return;
    }
    scan->job.type = &scan_type;
    scan->arena = ARENA_INIT(TEXTS_BYTES_MAX);
    scan->job.about = scan->dir = arena_dup(&scan->arena, str_of(s->o.dir)); /* the worker may outlive this */
    scan->node_name = arena_dup(&scan->arena, str_of(s->o.node_name));
    if (scan->arena.failed) {
        scan_free(&scan->job);
        (void)error_no_memory(&err);
        dir_failed(s, &err);
        return;
    }
    s->scan = &scan->job;
    job_begin(s->scan, s->o.pool, on_scanned, s);
}

static void on_dir(void *ctx, enum dirwatch_event event, const char *name)
{
    struct static_pods *s = ctx;
    struct error gone = { 0 };

    (void)name;
    if (event == DIRWATCH_GONE) {
        (void)error_set(&gone, ERR_NOT_FOUND, "directory was removed");
        dir_failed(s, &gone);
    } else {
        begin_scan(s);
    }
}

/* Starts the watch before the scan, so that no change is missed. */
static void open_dir(void *ctx)
{
    struct static_pods *s = ctx;
    struct error err = { 0 };

    if (!s->watch && dirwatch_start(s->o.part.loop, s->o.dir, on_dir, s, &s->watch, &err) < 0)
        dir_failed(s, &err);
    else
        begin_scan(s);
}

/* --- Start and end --- */

static void on_pod_changed(void *ctx, const struct object *o)
{
    struct static_pods *s = ctx;

    if (is_ours(s, o) || record_find(s, o->ns, o->name))
        loop_defer(&s->sync);
}

int static_pods_new(const struct static_pods_options *o, struct static_pods **ret, struct error *err)
{
    _cleanup_(static_pods_free_p) struct static_pods *s = calloc(1, sizeof *s);
    int r;

    if (!s)
        return error_no_memory(err);
    s->o = *o;
    omap_init(&s->records, (struct omap_order){ record_cmp, record_cmp_key, NULL });
    timer_init(&s->again, o->part.loop, open_dir, s);
    deferred_init(&s->sync, o->part.loop, sync_pods, s);
    s->on_pods =
        (struct informer_handler){ .on_upsert = on_pod_changed, .on_removed = on_pod_changed, .ctx = s };
    r = component_api(&o->part, NODE_FIELD_MANAGER, &s->api, err);
    if (r < 0)
        return r;
    *ret = TAKE(s);
    return 0;
}

struct static_pods *static_pods_free(struct static_pods *s)
{
    struct omap_cursor at;

    if (!s)
        return NULL;
    if (s->on_pods.informer)
        informer_remove_handler(&s->on_pods);
    s->watch = dirwatch_stop(s->watch);
    s->scan = job_drop(s->scan);
    timer_disarm(&s->again);
    loop_undefer(&s->sync);
    for (struct record *record = omap_first(&s->records, &at); record; record = omap_next(&at))
        record_free(record);
    omap_done(&s->records);
    arena_done(&s->texts);
    free(s);
    return NULL;
}

void static_pods_start(struct static_pods *s)
{
    informer_add_handler(s->o.pods, &s->on_pods);
    open_dir(s);
}

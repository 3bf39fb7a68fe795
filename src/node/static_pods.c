/* The directory is read as a whole, on a worker, whenever something in it changed; from what it holds and
 * from what the server has follows the next step of each pod: make it, delete it, or wait until it is gone.
 * Each has one request on its way at most. A pod is one of ours when it is on this node and says that it came
 * from a file: no other is ever touched.
 *
 * A record stands for a pod that a file wants or the server has; the records are in the order of namespace
 * and name. */
#include "node/static_pods.h"

#include <string.h>

#include "api/pod.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/omap.h"
#include "io/dirwatch.h"
#include "io/job.h"
#include "machinery/write.h"
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
    struct manifest *files;
    size_t count;
};

struct record {
    struct static_pods *all;
    char *ns;
    char *name;
    const struct manifest *wanted; /* in all->scan; NULL: no file wants it */
    struct api_write write;
    struct timer retry;
    unsigned failures;
};

struct static_pods {
    struct static_pods_options o;
    struct omap records;
    struct arena texts; /* of the last scan that went well */
    struct manifest *files;
    size_t files_count;
    bool is_read; /* there was one */
    struct dirwatch *watch;
    struct timer again; /* the directory is not there, or cannot be read */
    struct job *scan;
    bool wants_scan; /* one more, behind the one under way */
    struct deferred look;
    struct informer_handler on_pods;
    struct error trouble; /* of the directory, when last told */
};

/* --- Records --- */

static int key_cmp(const char *ns, const char *name, const struct record *b)
{
    int order = strcmp(ns, b->ns);

    return order ? order : strcmp(name, b->name);
}

static int record_cmp(void *ctx, const void *a, const void *b)
{
    const struct record *x = a;

    (void)ctx;
    return key_cmp(x->ns, x->name, b);
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

static void record_free(struct record *x)
{
    api_write_cancel(&x->write);
    timer_disarm(&x->retry);
    free(x->ns);
    free(x->name);
    free(x);
}

static void on_retry(void *ctx)
{
    const struct record *x = ctx;

    loop_defer(&x->all->look);
}

/* NULL without memory. */
static struct record *record_add(struct static_pods *s, const char *ns, const char *name)
{
    struct record *x = record_find(s, ns, name);

    if (x)
        return x;
    x = calloc(1, sizeof *x);
    if (!x)
        return NULL;
    x->all = s;
    x->ns = strdup(ns);
    x->name = strdup(name);
    timer_init(&x->retry, s->o.part.loop, on_retry, x);
    if (!x->ns || !x->name || omap_insert(&s->records, /* rank= */ 0, x) < 0) {
        record_free(x);
        return NULL;
    }
    return x;
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
    struct record *x = ctx;
    struct static_pods *s = x->all;

    if (api_went_well(outcome)) {
        x->failures = 0;
    } else {
        uint64_t delay = RETRY_NS;

        for (unsigned i = 0; i < x->failures && delay < RETRY_NS_MAX; i++)
            delay *= 2;
        x->failures++;
        timer_arm_after(&x->retry, delay < RETRY_NS_MAX ? delay : RETRY_NS_MAX);
        log_warn("static pod", LOG_STR("file", x->wanted ? x->wanted->file : NULL),
                 LOG_STR("namespace", x->ns), LOG_STR("pod", x->name), LOG_ERR(&a->error));
    }
    loop_defer(&s->look);
}

/* Deletes the pod, with its own grace: what runs in it may end in peace. NULL: makes it. */
static void record_send(struct record *x, const struct object *o)
{
    const struct static_pods_options *all = &x->all->o;
    struct api_write_options w = {
        .api = { .client = all->part.client, .loop = all->part.loop, .manager = NODE_FIELD_MANAGER },
        .request = { .verb = CLIENT_DELETE, .kind = &pod_kind, .ns = x->ns, .name = x->name },
        .object = o,
        .informer = all->pods,
        .done = on_done,
        .ctx = x
    };

    if (o) {
        log_info("static pod deleted", LOG_STR("pod", x->name),
                 LOG_STR("why", x->wanted ? "its file changed" : "its file is gone"));
    } else {
        w.request.verb = CLIENT_CREATE;
        w.body = x->wanted->body;
        log_info("static pod made", LOG_STR("file", x->wanted->file), LOG_STR("pod", x->name));
    }
    api_write_start(&x->write, &w);
}

/* The file that made it is there and cannot be understood now. */
static bool is_in_doubt(const struct static_pods *s, const struct object *o)
{
    const char *file = object_annotation(o, ANN_CONFIG_FILE);

    for (size_t i = 0; i < s->files_count; i++)
        if (s->files[i].r < 0 && strcmp(s->files[i].file, file) == 0)
            return true;
    return false;
}

static void record_step(struct static_pods *s, struct record *x)
{
    const struct object *o = informer_get(s->o.pods, x->ns, x->name);

    if (api_write_is_active(&x->write) || timer_is_armed(&x->retry))
        return;
    if (!o) {
        if (x->wanted)
            record_send(x, NULL);
    } else if (is_ours(s, o) && !o->is_deleting) {
        if (x->wanted ? !object_annotation_is(o, ANN_CONFIG_HASH, x->wanted->hash) : !is_in_doubt(s, o))
            record_send(x, o);
    }
    /* Else it is being deleted, and made anew once it is gone; or it is somebody else's. */
}

/* The first record that nothing needs any more; NULL. */
static struct record *find_idle(const struct static_pods *s)
{
    struct omap_cursor at;

    for (struct record *x = omap_first(&s->records, &at); x; x = omap_next(&at))
        if (!x->wanted && !api_write_is_active(&x->write) && !informer_get(s->o.pods, x->ns, x->name))
            return x;
    return NULL;
}

static void look(void *ctx)
{
    struct static_pods *s = ctx;
    struct informer_cursor c;
    struct omap_cursor at;
    struct record *x;

    if (!s->is_read)
        return;
    for (const struct object *o = informer_first(s->o.pods, &c); o; o = informer_next(&c))
        if (is_ours(s, o) && !record_add(s, o->ns, o->name))
            log_error("no memory for a static pod", LOG_STR("pod", o->name));
    for (x = omap_first(&s->records, &at); x; x = omap_next(&at))
        record_step(s, x);
    while ((x = find_idle(s))) {
        (void)omap_remove(&s->records, /* rank= */ 0, x);
        record_free(x);
    }
}

/* --- The directory --- */

static int scan_run(struct job *j, struct error *err)
{
    struct scan *x = CONTAINER_OF(j, struct scan, job);

    return manifest_read_dir(&x->arena, x->dir, x->node_name, &x->files, &x->count, err);
}

static void scan_free(struct job *j)
{
    struct scan *x = CONTAINER_OF(j, struct scan, job);

    arena_done(&x->arena);
    free(x);
}

static const struct job_type scan_type = { "manifests of static pods", scan_run, scan_free };

/* What was wrong with the file when it was last read; NULL for nothing. */
static const char *complaint_of(const struct static_pods *s, const char *file)
{
    for (size_t i = 0; i < s->files_count; i++)
        if (s->files[i].r < 0 && strcmp(s->files[i].file, file) == 0)
            return s->files[i].err.msg;
    return NULL;
}

/* Once for each reason. */
static void tell_broken(const struct static_pods *s, const struct manifest *m)
{
    const char *before = complaint_of(s, m->file);

    if (!before || strcmp(before, m->err.msg) != 0)
        log_error("manifest of a static pod cannot be used, its pod stays as it is", LOG_STR("file", m->file),
                  LOG_ERR(&m->err));
}

/* The new files in place of the old: records point into them. */
static void take_files(struct static_pods *s, struct scan *x)
{
    struct omap_cursor at;

    for (size_t i = 0; i < x->count; i++)
        if (x->files[i].r < 0)
            tell_broken(s, &x->files[i]);
    for (struct record *r = omap_first(&s->records, &at); r; r = omap_next(&at))
        r->wanted = NULL;
    arena_done(&s->texts);
    s->texts = x->arena;
    x->arena = ARENA_INIT(0);
    s->files = x->files;
    s->files_count = x->count;
    s->is_read = true;
    for (size_t i = 0; i < s->files_count; i++) {
        const struct manifest *m = &s->files[i];
        struct record *r = m->r == 0 ? record_add(s, m->ns, m->name) : NULL;

        if (r) {
            r->wanted = m;
            timer_disarm(&r->retry);
            r->failures = 0;
        }
    }
}

static void begin_scan(struct static_pods *s);

/* Said once for each reason; the pods stay. */
static void dir_failed(struct static_pods *s, const struct error *err)
{
    if (strcmp(s->trouble.msg, err->msg) != 0)
        log_error("static pods", LOG_STR("dir", s->o.dir), LOG_ERR(err));
    s->trouble = *err;
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
    s->trouble = (struct error){ 0 };
    take_files(s, CONTAINER_OF(j, struct scan, job));
    loop_defer(&s->look);
    if (s->wants_scan)
        begin_scan(s);
}

static void begin_scan(struct static_pods *s)
{
    struct scan *x;
    struct error err = { 0 };

    s->wants_scan = s->scan;
    if (s->scan)
        return;
    x = calloc(1, sizeof *x);
    if (!x) {
        (void)error_no_memory(&err);
        dir_failed(s, &err);
        return;
    }
    x->job.type = &scan_type;
    x->arena = ARENA_INIT(TEXTS_BYTES_MAX);
    x->job.about = x->dir = arena_dup(&x->arena, str_of(s->o.dir)); /* the worker may outlive us */
    x->node_name = arena_dup(&x->arena, str_of(s->o.node_name));
    if (x->arena.failed) {
        scan_free(&x->job);
        (void)error_no_memory(&err);
        dir_failed(s, &err);
        return;
    }
    s->scan = &x->job;
    job_begin(s->scan, s->o.pool, on_scanned, s);
}

static void on_dir(void *ctx, enum dirwatch_event event, const char *name)
{
    struct static_pods *s = ctx;
    struct error gone = { 0 };

    (void)name;
    if (event == DIRWATCH_GONE) {
        (void)error_set(&gone, ERR_NOT_FOUND, "the directory is gone");
        dir_failed(s, &gone);
    } else {
        begin_scan(s);
    }
}

/* Watches first, then looks, so that nothing is missed. */
static void open_dir(void *ctx)
{
    struct static_pods *s = ctx;
    struct error err = { 0 };

    if (!s->watch && dirwatch_start(s->o.part.loop, s->o.dir, on_dir, s, &s->watch, &err) < 0)
        dir_failed(s, &err);
    else
        begin_scan(s);
}

/* --- Life --- */

static void see(struct static_pods *s, const struct object *o)
{
    if (is_ours(s, o) || record_find(s, o->ns, o->name))
        loop_defer(&s->look);
}

static void on_add(void *ctx, const struct object *o, bool is_initial)
{
    (void)is_initial;
    see(ctx, o);
}

static void on_update(void *ctx, const struct object *old, const struct object *o)
{
    (void)old;
    see(ctx, o);
}

static void on_delete(void *ctx, const struct object *o, bool is_final_unknown)
{
    (void)is_final_unknown;
    see(ctx, o);
}

int static_pods_new(const struct static_pods_options *o, struct static_pods **ret, struct error *err)
{
    struct static_pods *s = calloc(1, sizeof *s);

    if (!s)
        return error_no_memory(err);
    s->o = *o;
    omap_init(&s->records, (struct omap_order){ record_cmp, record_cmp_key, NULL });
    timer_init(&s->again, o->part.loop, open_dir, s);
    deferred_init(&s->look, o->part.loop, look, s);
    s->on_pods = (struct informer_handler){
        .on_add = on_add, .on_update = on_update, .on_delete = on_delete, .ctx = s
    };
    *ret = s;
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
    loop_undefer(&s->look);
    for (struct record *x = omap_first(&s->records, &at); x; x = omap_next(&at))
        record_free(x);
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

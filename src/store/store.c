/* Writes in flight: queued, committed in batches, applied and reported in order.
 *
 * At most one work is at the log: a batch of writes or a chunk of rows to drop. Its end defers flush(), which
 * starts the next. So the writes of one turn of the loop are committed together, and writes that arrive
 * during a commit form the next batch. A turn with many writes does not leave the log idle: at
 * STORE_EAGER_COUNT writes a batch is started at once, and the loop prepares the next ones while it commits.
 *
 * Everything that may fail does so before a write goes to the log: entry and ring have their memory by then.
 * After a successful append the rest cannot fail.
 *
 * A full disk is a special case: only writes that grow are refused, and those that remove continue in
 * separate batches (store/reserve.h).
 *
 * Refusals by the log are logged, one line per cause and STORE_REFUSAL_LOG_NS.
 *
 * A log that refused a batch is probed until it works again, so that the store's health is known without
 * writes: clients do not write to an unhealthy store. */
#include "store/store.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "io/file.h"
#include "store/store_int.h"

/* --- Life --- */

static void store_flush(void *ctx);
static void store_on_retry(void *ctx);

static int store_make(struct loop *l, const struct store_options *o, bool threaded, struct store *s,
                      struct error *err)
{
    int r;

    s->loop = l;
    if (o)
        s->options = *o;
    if (s->options.history_count == 0)
        s->options.history_count = STORE_HISTORY_COUNT;
    if (s->options.history_bytes == 0)
        s->options.history_bytes = STORE_HISTORY_BYTES;
    if (s->options.batch_max == 0)
        s->options.batch_max = STORE_BATCH_MAX;
    store_image_init(&s->image);
    for (size_t k = 0; k < KIND_COUNT; k++)
        store_past_init(&s->pasts[k]);
    TAILQ_INIT(&s->queue);
    TAILQ_INIT(&s->batch);
    TAILQ_INIT(&s->refused);
    for (size_t k = 0; k <= KIND_COUNT; k++)
        TAILQ_INIT(&s->watchers[k]);
    deferred_init(&s->flush, l, store_flush, s);
    timer_init(&s->retry, l, store_on_retry, s);
    s->rows = calloc(s->options.batch_max, sizeof *s->rows);
    if (!s->rows)
        return error_no_memory(err);
    r = store_history_init(&s->history, s->options.history_count, s->options.history_bytes, err);
    if (r == 0 && threaded)
        r = pool_new(l, /* threads= */ 1, /* queued_max= */ 1, &s->pool, err);
    return r;
}

int store_new(struct loop *l, const struct store_options *o, struct store_log log, bool threaded, int lock_fd,
              struct store **ret, struct error *err)
{
    _cleanup_(store_free_p) struct store *s = calloc(1, sizeof *s);
    int r;

    if (!s) {
        log.type->close(log.ctx);
        fd_closep(&lock_fd);
        return error_no_memory(err);
    }
    s->log = log;
    s->lock_fd = lock_fd;
    r = store_make(l, o, threaded, s, err);
    if (r == 0)
        r = store_load(s, err);
    if (r < 0)
        return r;
    loop_defer(&s->flush); /* loading may have found rows to drop */
    *ret = TAKE(s);
    return 0;
}

int store_open_memory(struct loop *l, const struct store_options *o, struct store **ret, struct error *err)
{
    return store_new(l, o, store_log_memory(), /* threaded= */ false, /* lock_fd= */ -1, ret, err);
}

/* Adds a hint to the error for another running server; other errors need none. */
static int store_explain_busy(struct error *err)
{
    if (err->code != ERR_BUSY)
        return -(int)err->code;
    return error_set(err, ERR_BUSY, "%s: stop that one first, or use another data directory", err->msg);
}

int store_open_sqlite(const char *dir, struct loop *l, const struct store_options *o, struct store **ret,
                      struct error *err)
{
    _cleanup_(fd_closep) int lock_fd = -1;
    struct store_log log;
    int r;

    r = io_mkdirs(dir, 0700, err);
    if (r < 0)
        return r;
    r = io_lock_dir(dir, &lock_fd, err);
    if (r < 0)
        return store_explain_busy(err);
    r = store_log_open_sqlite(dir, &log, err);
    if (r < 0)
        return store_explain_busy(err);
    return store_new(l, o, log, /* threaded= */ true, take_fd(&lock_fd), ret, err);
}

static void store_report_refused(struct store *s);
static bool store_start(struct store *s);

void store_finish(struct store *s)
{
    assert(!s->is_delivering);
    s->is_closing = true;
    while (s->is_busy || store_start(s))
        if (s->pool)
            pool_drain(s->pool);
    store_report_refused(s);
}

struct store *store_free(struct store *s)
{
    if (!s)
        return NULL;
    store_finish(s);
    for (size_t k = 0; k <= KIND_COUNT; k++)
        assert(TAILQ_EMPTY(&s->watchers[k]));
    assert(s->past_bytes == 0); /* all snapshots must be closed */
    loop_undefer(&s->flush);
    timer_disarm(&s->retry);
    s->pool = pool_free(s->pool);
    s->log.type->close(s->log.ctx);
    store_image_done(&s->image);
    store_history_done(&s->history);
    vec_done(&s->drops);
    free(s->rows);
    fd_closep(&s->lock_fd);
    free(s);
    return NULL;
}

/* --- Reading --- */

const struct object *store_get(const struct store *s, enum kind k, const char *ns, const char *name)
{
    const struct store_entry *e = store_image_find(&s->image, k, store_key_of(ns, name));

    return e ? e->object : NULL;
}

const struct object *store_get_newest(const struct store *s, enum kind k, const char *ns, const char *name)
{
    const struct store_entry *e = store_image_find(&s->image, k, store_key_of(ns, name));

    if (!e || !e->newest)
        return e ? e->object : NULL;
    return e->newest->is_delete ? NULL : e->newest->object;
}

int64_t store_revision(const struct store *s)
{
    return s->revision;
}

size_t store_count(const struct store *s, enum kind k)
{
    assert(k < KIND_COUNT);
    return s->image.counts[k];
}

int store_check(const struct store *s, struct error *err)
{
    return s->last_failure.code ? error_set(err, s->last_failure.code, "%s", s->last_failure.msg) : 0;
}

/* --- Writing --- */

int64_t store_reserve(struct store *s)
{
    assert(s->reserved >= s->submitted);
    return ++s->reserved;
}

/* True when the write must not use the reserve of a full disk. */
static bool write_grows(const struct store_entry *e, const struct object *o, bool is_delete)
{
    size_t room = o->is_deleting ? STORE_DELETING_BYTES_MAX : 0;
    const struct object *old = e->object;

    if (e->newest)
        old = e->newest->is_delete ? NULL : e->newest->object;
    if (is_delete)
        return false;
    return !old || o->text.len >= old->text.len + room;
}

static void store_refuse(struct store *s, struct store_write *w, enum err why)
{
    w->refused = why;
    TAILQ_INSERT_TAIL(&s->refused, w, link);
}

void store_submit(struct store *s, struct store_write *w, const struct object *o, bool is_delete,
                  store_done_fn *done, void *ctx)
{
    enum kind k = o->kind->kind;

    assert(k != KIND_EVENT_V1); /* another view of what is stored as KIND_EVENT */
    assert((o->ns[0] != '\0') == o->kind->is_namespaced);
    assert(o->revision > s->submitted);
    assert(o->revision <= s->reserved);
    assert(done);
    if (is_delete) /* deleting nothing would be treated as damage at the next start */
        assert(store_get_newest(s, k, o->ns, o->name));
    *w = (struct store_write){ .object = object_ref(o), .is_delete = is_delete, .done = done, .ctx = ctx };
    s->submitted = o->revision;
    if (s->is_closing) {
        store_refuse(s, w, ERR_CANCELLED);
        return; /* store_free() reports it */
    }
    loop_defer(&s->flush);
    w->entry = store_image_ensure(&s->image, k, store_key_of(o->ns, o->name));
    if (!w->entry) {
        store_refuse(s, w, ERR_NO_MEMORY);
        return;
    }
    w->grows = write_grows(w->entry, o, is_delete);
    w->entry->newest = w;
    TAILQ_INSERT_TAIL(&s->queue, w, link);
    s->queued++;
    /* Not from a writer's or watcher's callback: the current batch must be reported first. */
    if (s->pool && !s->is_busy && !s->is_delivering && s->queued >= STORE_EAGER_COUNT)
        (void)store_start(s);
}

static const char *refusal_hint(const struct store *s, enum err code)
{
    if (code == ERR_NO_MEMORY)
        return "give the server more memory";
    if (!s->is_full)
        return "check the disk of the data directory and the kernel's log";
    return s->rows_grow ? "free space on the disk of the data directory; deletions still work"
                        : "free space on the disk of the data directory";
}

/* count: additional refusals; 0 to log those collected so far. */
static void store_log_refusals(struct store *s, const struct error *err, size_t count)
{
    struct store_refusals *f = &s->refusals[s->is_full ? ERR_NONE : err->code];
    uint64_t now_ns = loop_now_ns(s->loop);

    f->count += count;
    if (count && s->options.on_refuse)
        s->options.on_refuse(s->options.ctx, count);
    if (f->count == 0 || (f->is_logged && now_ns - f->logged_ns < STORE_REFUSAL_LOG_NS))
        return;
    log_error("store refused writes", LOG_UINT("writes", f->count), LOG_ERR(err),
              LOG_STR("hint", refusal_hint(s, err->code)));
    *f = (struct store_refusals){ .is_logged = true, .logged_ns = now_ns };
}

/* Reports the result to the writer, who owns the write again. */
static void store_report(struct store *s, struct store_write *w, int r, const struct error *err)
{
    bool was_delivering = s->is_delivering;

    w->object = object_unref(w->object);
    w->old = object_unref(w->old);
    s->is_delivering = true;
    w->done(w->ctx, r, err);
    s->is_delivering = was_delivering;
}

static void store_report_refused(struct store *s)
{
    struct store_write *w;

    while ((w = TAILQ_FIRST(&s->refused))) {
        struct error err = { 0 };
        int r = w->refused == ERR_NO_MEMORY ? error_no_memory(&err)
                                            : error_set(&err, w->refused, "the store is being closed");
        TAILQ_REMOVE(&s->refused, w, link);
        if (w->refused == ERR_NO_MEMORY)
            store_log_refusals(s, &err, 1);
        store_report(s, w, r, &err);
    }
}

/* --- Commits --- */

/* Out of memory: the row stays in the log, and the next start finds it superseded. */
static void store_forget_row(struct store *s, int64_t revision)
{
    if (!s->drops_lost && vec_push(&s->drops, revision) < 0)
        s->drops_lost = true;
}

void store_forget(struct store *s, const struct object *old, int64_t revision, bool is_delete)
{
    if (old)
        store_forget_row(s, old->revision);
    if (is_delete)
        store_forget_row(s, revision);
}

void store_remember(struct store *s, const struct store_event *ev)
{
    struct store_event gone;

    while (store_history_pop(&s->history, ev->object->text.len, &gone)) {
        store_forget(s, gone.old, gone.revision, gone.is_delete);
        store_event_done(&gone);
    }
    store_history_push(&s->history, ev);
}

static struct store_event write_event(const struct store_write *w)
{
    return (struct store_event){ w->object, w->old, w->object->revision, w->is_delete };
}

/* Removes the write from its key, and the key from the image when it is no longer used. */
static void store_detach_write(struct store *s, struct store_write *w)
{
    assert(w->entry && w->entry->newest);
    if (w->entry->newest == w)
        w->entry->newest = NULL;
    store_image_release(&s->image, w->object->kind->kind, w->entry);
    w->entry = NULL;
}

/* The log has the batch: applies all of it, then notifies the watchers, then the writers. */
static void store_apply(struct store *s)
{
    static const struct error none;
    struct store_write *w;

    assert(!s->is_delivering);
    for (w = TAILQ_FIRST(&s->batch); w; w = TAILQ_NEXT(w, link)) {
        assert(w->object->revision > s->revision);
        struct object *o = w->is_delete ? NULL : object_ref(w->object);
        w->old = store_image_set(&s->image, w->object->kind->kind, w->entry, o);
        store_detach_write(s, w);
        s->revision = w->object->revision;
        struct store_event ev = write_event(w);
        store_past_note(s, &ev);
        store_remember(s, &ev);
    }
    s->is_delivering = true;
    for (w = TAILQ_FIRST(&s->batch); w; w = TAILQ_NEXT(w, link)) {
        struct store_event ev = write_event(w);
        store_notify(s, &ev);
    }
    store_notify_settled(s);
    s->is_delivering = false;
    while ((w = TAILQ_FIRST(&s->batch))) {
        TAILQ_REMOVE(&s->batch, w, link);
        store_report(s, w, 0, &none);
    }
}

/* Queued writes may build on those that have failed, so all of them fail. They are removed from the image
 * before the first writer is notified: it may retry at once. */
static void store_fail(struct store *s, int r, const struct error *err)
{
    struct store_writes failed = TAILQ_HEAD_INITIALIZER(failed);
    struct store_write *w;
    size_t count = 0;

    TAILQ_CONCAT(&failed, &s->batch, link);
    TAILQ_CONCAT(&failed, &s->queue, link);
    s->queued = 0;
    for (w = TAILQ_FIRST(&failed); w; w = TAILQ_NEXT(w, link), count++)
        store_detach_write(s, w);
    store_log_refusals(s, err, count);
    while ((w = TAILQ_FIRST(&failed))) {
        TAILQ_REMOVE(&failed, w, link);
        store_report(s, w, r, err);
    }
}

/* The disk is full: fails the writes that grow, and later writes to the same objects, which may build on
 * them. The others are queued again, in their order. */
static void store_fail_growing(struct store *s, int r, const struct error *err)
{
    struct store_writes all = TAILQ_HEAD_INITIALIZER(all), failed = TAILQ_HEAD_INITIALIZER(failed);
    struct store_write *w;
    size_t count = 0;

    TAILQ_CONCAT(&all, &s->batch, link);
    TAILQ_CONCAT(&all, &s->queue, link);
    s->queued = 0;
    while ((w = TAILQ_FIRST(&all))) {
        TAILQ_REMOVE(&all, w, link);
        w->is_failed = w->grows || (w->entry->newest && w->entry->newest->is_failed);
        if (w->is_failed)
            w->entry->newest = w; /* for later writes to the same object */
        TAILQ_INSERT_TAIL(w->is_failed ? &failed : &s->queue, w, link);
        s->queued += !w->is_failed;
        count += w->is_failed;
    }
    for (w = TAILQ_FIRST(&s->queue); w; w = TAILQ_NEXT(w, link))
        w->entry->newest = w;
    for (w = TAILQ_FIRST(&failed); w; w = TAILQ_NEXT(w, link))
        store_detach_write(s, w);
    store_log_refusals(s, err, count);
    while ((w = TAILQ_FIRST(&failed))) {
        TAILQ_REMOVE(&failed, w, link);
        store_report(s, w, r, err);
    }
}

static int store_append(void *ctx)
{
    struct store *s = ctx;

    return s->log.type->append(s->log.ctx, s->rows, s->rows_count, &s->work_err);
}

/* Updates the log's health from the result of the work. */
static void store_set_health(struct store *s, int r)
{
    s->must_probe = false;
    if (r < 0) {
        s->last_failure = s->work_err;
        s->is_full = s->log.type->is_full && s->log.type->is_full(s->log.ctx);
        timer_arm_after(&s->retry, STORE_RETRY_NS);
    } else {
        if (s->last_failure.code)
            log_info("store accepts writes again");
        s->last_failure.code = ERR_NONE;
        s->is_full = false;
        s->drops_must_wait = false;
        timer_disarm(&s->retry);
    }
}

static void store_on_appended(void *ctx, int r)
{
    struct store *s = ctx;

    s->is_busy = false;
    loop_defer(&s->flush);
    if (r < 0 || s->rows_grow || !s->is_full) /* a successful removal does not show that there is space */
        store_set_health(s, r);
    if (r < 0) {
        struct error err = s->work_err; /* a writer may start the next work */
        if (s->is_full && s->rows_grow)
            store_fail_growing(s, r, &err);
        else
            store_fail(s, r, &err);
        return;
    }
    if (s->options.on_commit)
        s->options.on_commit(s->options.ctx, loop_now_ns(s->loop) - s->started_ns, s->rows_count);
    store_apply(s);
}

static int store_drop(void *ctx)
{
    struct store *s = ctx;

    return s->log.type->drop(s->log.ctx, s->dropping, s->dropping_count, &s->meta, &s->work_err);
}

/* A failure does no harm: the rows stay longer. Writers are notified of problems with the log. */
static void store_on_dropped(void *ctx, int r)
{
    struct store *s = ctx;

    s->is_busy = false;
    loop_defer(&s->flush);
    s->drops_must_wait = r < 0;
    if (r < 0)
        return;
    s->drops_at += s->dropping_count;
    if (s->drops_at > s->drops.count / 2) { /* rarely enough that moving costs nothing over time */
        s->drops.count -= s->drops_at;
        memmove(s->drops.items, s->drops.items + s->drops_at, s->drops.count * sizeof *s->drops.items);
        s->drops_at = 0;
    }
}

static void store_on_probed(void *ctx, int r)
{
    struct store *s = ctx;

    s->is_busy = false;
    loop_defer(&s->flush);
    store_set_health(s, r);
    if (r < 0)
        store_log_refusals(s, &s->work_err, 0);
}

static void store_run(struct store *s, pool_work_fn work, pool_done_fn done)
{
    int r;

    s->is_busy = true;
    s->work_err = (struct error){ 0 };
    s->started_ns = loop_now_ns(s->loop);
    r = s->pool ? pool_submit(s->pool, &s->work, work, done, s, &s->work_err) : work(s);
    if (r < 0 || !s->pool)
        done(s, r);
}

static void store_start_batch(struct store *s)
{
    size_t bytes = 0;
    struct store_write *w;

    s->rows_count = 0;
    s->rows_grow = false;
    while ((w = TAILQ_FIRST(&s->queue)) && s->rows_count < s->options.batch_max &&
           bytes < STORE_BATCH_BYTES_MAX) {
        const struct object *o = w->object;
        if (s->is_full && s->rows_count && w->grows != s->rows_grow)
            break; /* writes that grow will fail, and must not fail the others */
        s->rows_grow = s->rows_grow || w->grows;
        TAILQ_REMOVE(&s->queue, w, link);
        TAILQ_INSERT_TAIL(&s->batch, w, link);
        s->queued--;
        bytes += o->text.len;
        s->rows[s->rows_count++] = (struct store_row){
            .revision = o->revision,
            .kind = o->kind->kind,
            .ns = str_of(o->ns),
            .name = str_of(o->name),
            .body = w->is_delete ? (struct str){ NULL, 0 } : o->text,
            .grows = w->grows,
        };
    }
    s->was_drop = false;
    store_run(s, store_append, store_on_appended);
}

static void store_start_drop(struct store *s)
{
    memcpy(s->dropping, s->drops.items + s->drops_at, sizeof s->dropping);
    s->dropping_count = STORE_DROP_COUNT;
    s->meta = (struct store_log_meta){ .revision = s->revision, .history_start = s->history.start };
    s->was_drop = true;
    store_run(s, store_drop, store_on_dropped);
}

/* Drops nothing, but advances the counter: an unchanged value might not be written to the disk. */
static void store_start_probe(struct store *s)
{
    s->dropping_count = 0;
    s->meta = (struct store_log_meta){ .revision = store_reserve(s), .history_start = s->history.start };
    store_run(s, store_drop, store_on_probed);
}

static void store_on_retry(void *ctx)
{
    struct store *s = ctx;

    s->must_probe = true;
    loop_defer(&s->flush);
}

/* Starts what is due: drops and batches alternate when both are; a batch replaces a probe. False when there
 * is nothing to do. */
static bool store_start(struct store *s)
{
    bool has_writes = !TAILQ_EMPTY(&s->queue);
    bool has_drops =
        s->drops.count - s->drops_at >= STORE_DROP_COUNT && !s->drops_must_wait && !s->is_closing;

    if (has_drops && !(has_writes && s->was_drop))
        store_start_drop(s);
    else if (has_writes)
        store_start_batch(s);
    else if (s->must_probe && !s->is_closing)
        store_start_probe(s);
    else
        return false;
    return true;
}

static void store_flush(void *ctx)
{
    struct store *s = ctx;

    store_report_refused(s);
    if (!s->is_busy)
        (void)store_start(s);
}

/* Keeps the ConfigMap of call_record.h.
 *
 * Memory holds every entry as it should be; `is_dirty` marks what the server does not have yet. One write is
 * in flight at a time: it carries all dirty entries, and those that change meanwhile are dirty again. A
 * ConfigMap that was deleted is created again with all entries.
 *
 * Every write has the version that it is based on as precondition, and reading writes first (FENCE): a write
 * of an earlier holder of the lease that arrives late is rejected. Otherwise it could remove the entry of a
 * call that is repeated. Costs: O(dirty) per write, O(entries) to find them: their number is bounded by the
 * calls in flight. */
#include "controllers/call_record.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/config.h"
#include "api/csi_objects.h"
#include "api/json_out.h"
#include "api/uid.h"
#include "base/die.h"
#include "base/log.h"
#include "base/map.h"
#include "machinery/merge_patch.h"

#define MANAGER "berth-csi"
#define FENCE "csi.berth.io/fence" /* annotation: who has read it last */
#define RETRY_MIN_NS (NS_PER_S / 2)
#define RETRY_MAX_NS (30 * NS_PER_S)
/* What an entry adds to the ConfigMap besides its key and value. */
#define ENTRY_BYTES 16

enum entry_place {
    ENTRY_CLEAN,
    ENTRY_DIRTY,     /* to be written */
    ENTRY_IN_FLIGHT, /* part of the write in flight */
};

struct entry {
    TAILQ_ENTRY(entry) link; /* while it is being freed */
    enum entry_place place;
    bool is_removed; /* to be removed from the server; freed when it is */
    char *value;     /* NULL: removed */
    size_t value_len;
    struct call_record_write *waiting; /* NULL: nobody */
    char uid[];
};

struct call_record {
    struct call_record_options o;
    char *name;
    struct api api;
    struct api_write write;
    struct timer retry;
    struct deferred flush;
    struct map entries;     /* by uid */
    size_t bytes;           /* of keys and values, with ENTRY_BYTES each */
    struct object *current; /* the ConfigMap as last read; NULL: it does not exist, as far as known */
    unsigned failures;
    bool is_loaded;
};

/* --- Entries --- */

static size_t entry_bytes(const struct entry *e)
{
    return strlen(e->uid) + e->value_len + ENTRY_BYTES;
}

static struct entry *entry_new(struct call_record *r, const char *uid)
{
    size_t len = strlen(uid);
    struct entry *e = calloc(1, sizeof *e + len + 1);

    if (!e)
        return NULL;
    memcpy(e->uid, uid, len + 1);
    if (map_put(&r->entries, (struct str){ e->uid, len }, e, NULL) < 0) {
        free(e);
        return NULL;
    }
    r->bytes += entry_bytes(e);
    return e;
}

static void entry_free(struct call_record *r, struct entry *e)
{
    (void)map_remove(&r->entries, str_of(e->uid));
    r->bytes -= entry_bytes(e);
    free(e->value);
    free(e);
}

/* Takes the value; NULL removes the entry. */
static void entry_set(struct call_record *r, struct entry *e, char *value, size_t len)
{
    r->bytes -= e->value_len;
    free(e->value);
    e->value = value;
    e->value_len = value ? len : 0;
    e->is_removed = !value;
    r->bytes += e->value_len;
    e->place = ENTRY_DIRTY;
    if (r->is_loaded)
        loop_defer(&r->flush);
}

static struct entry *entry_get(const struct call_record *r, const char *uid)
{
    return map_get(&r->entries, str_of(uid));
}

/* --- Reading: at the start, and after it was created elsewhere --- */

static void record_flush(void *ctx);
static void record_load(void *ctx);

static void record_retry(struct call_record *r, loop_fn again)
{
    uint64_t delay_ns = RETRY_MIN_NS;

    for (unsigned i = 0; i < r->failures && delay_ns < RETRY_MAX_NS; i++)
        delay_ns *= 2;
    r->failures++;
    timer_init(&r->retry, r->o.part.loop, again, r);
    timer_arm_after(&r->retry, delay_ns < RETRY_MAX_NS ? delay_ns : RETRY_MAX_NS);
}

static void record_set_current(struct call_record *r, const struct object *o)
{
    (void)object_unref(r->current);
    r->current = o ? object_ref(o) : NULL;
}

static void load_entries(struct call_record *r, const struct config_map *map)
{
    for (uint32_t i = 0; i < map->data.count; i++) {
        const struct config_entry *from = &map->data.items[i];
        struct entry *e = entry_get(r, from->key);
        char *value;

        if (e) /* changed before it was read: the newer value is written soon */
            continue;
        e = entry_new(r, from->key);
        value = e ? strndup(from->bytes.s, from->bytes.len) : NULL;
        if (!value)
            die_with_reason("no memory to read the record of calls: volumes of a driver would be lost");
        e->value = value;
        e->value_len = strlen(value);
        r->bytes += e->value_len;
        r->o.on_entry(r->o.ctx, e->uid, (struct str){ e->value, e->value_len });
    }
}

static void on_loaded(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct call_record *r = ctx;

    if (outcome != API_DONE && (outcome != API_REFUSED || a->r != -ERR_NOT_FOUND)) {
        log_warn("record of calls not read, retrying", LOG_STR("configmap", r->name), LOG_ERR(&a->error));
        record_retry(r, record_load);
        return;
    }
    r->failures = 0;
    r->is_loaded = true;
    if (outcome == API_DONE) {
        record_set_current(r, a->object);
        load_entries(r, config_map_of(a->object));
    }
    loop_defer(&r->flush);
    r->o.on_loaded(r->o.ctx);
}

/* A new value each time, so that the version changes. */
static enum api_decision decide_fence(void *ctx, const struct object *now, struct buf *body,
                                      struct error *err)
{
    const struct call_record *r = ctx;
    struct merge_patch p;
    char value[64];

    (void)snprintf(value, sizeof value, "%" PRIx64 "-%" PRId64, r->o.part.seed,
                   clock_real_ns(r->o.part.clock));
    merge_patch_begin(&p, body, now);
    merge_patch_annotation(&p, FENCE, value);
    return api_decision_of(merge_patch_end(&p, err));
}

static void record_load(void *ctx)
{
    struct call_record *r = ctx;
    struct api_write_options w = { .api = r->api,
                                   .request = { .verb = CLIENT_PATCH,
                                                .kind = kind_info(KIND_CONFIG_MAP),
                                                .ns = r->o.ns,
                                                .name = r->name },
                                   .decide = decide_fence,
                                   .step = API_STEP_PROVISIONER,
                                   .done = on_loaded,
                                   .ctx = r };

    api_write_start(&r->write, &w);
}

/* --- Writing --- */

static void write_entry(struct buf *out, const struct entry *e)
{
    json_out_str(out, e->uid, (struct str){ e->value, e->value_len });
}

/* The dirty entries; of the ConfigMap itself only its data is ours. */
static enum api_decision decide_patch(void *ctx, const struct object *now, struct buf *body,
                                      struct error *err)
{
    struct call_record *r = ctx;
    struct merge_patch p;
    struct entry *e;

    merge_patch_begin(&p, body, now);
    merge_patch_member(&p, "data");
    json_out_object(body, NULL);
    for (size_t at = 0; (e = map_next(&r->entries, &at, NULL));) {
        if (e->place == ENTRY_CLEAN)
            continue;
        if (e->is_removed)
            json_out_null(body, e->uid);
        else
            write_entry(body, e);
        e->place = ENTRY_IN_FLIGHT;
    }
    json_out_end_object(body);
    return api_decision_of(merge_patch_end(&p, err));
}

static void write_whole(struct call_record *r, struct buf *body)
{
    struct entry *e;

    json_out_object(body, NULL);
    json_out_text(body, "apiVersion", "v1");
    json_out_text(body, "kind", "ConfigMap");
    json_out_object(body, "metadata");
    json_out_text(body, "namespace", r->o.ns);
    json_out_text(body, "name", r->name);
    if (r->o.node_name) {
        json_out_object(body, "annotations");
        json_out_text(body, ANN_RECORD_NODE, r->o.node_name);
        json_out_end_object(body);
    }
    json_out_end_object(body);
    json_out_object(body, "data");
    for (size_t at = 0; (e = map_next(&r->entries, &at, NULL));) {
        if (!e->is_removed)
            write_entry(body, e);
        e->place = ENTRY_IN_FLIGHT;
    }
    json_out_end_object(body);
    json_out_end_object(body);
}

/* The write in flight has ended: what it carried is clean, or dirty again. */
static void settle_entries(struct call_record *r, bool is_written)
{
    TAILQ_HEAD(, call_record_write) done = TAILQ_HEAD_INITIALIZER(done);
    TAILQ_HEAD(, entry) removed = TAILQ_HEAD_INITIALIZER(removed);
    struct call_record_write *w;
    struct entry *e;

    for (size_t at = 0; (e = map_next(&r->entries, &at, NULL));) {
        if (e->place != ENTRY_IN_FLIGHT)
            continue;
        e->place = is_written ? ENTRY_CLEAN : ENTRY_DIRTY;
        if (is_written && e->waiting) {
            TAILQ_INSERT_TAIL(&done, e->waiting, link);
            e->waiting->is_active = false;
            e->waiting = NULL;
        }
        if (is_written && e->is_removed) /* freed later: a map must not change while it is walked */
            TAILQ_INSERT_TAIL(&removed, e, link);
    }
    while ((e = TAILQ_FIRST(&removed))) {
        TAILQ_REMOVE(&removed, e, link);
        entry_free(r, e);
    }
    while ((w = TAILQ_FIRST(&done))) {
        TAILQ_REMOVE(&done, w, link);
        w->done(w);
    }
}

static bool has_dirty(const struct call_record *r)
{
    const struct entry *e;

    for (size_t at = 0; (e = map_next(&r->entries, &at, NULL));)
        if (e->place == ENTRY_DIRTY)
            return true;
    return false;
}

static void on_written(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct call_record *r = ctx;
    bool is_written = api_write_succeeded(outcome);

    if (is_written) {
        record_set_current(r, a->object);
        r->failures = 0;
    } else {
        /* Deleted, or changed: the next try starts from what the server has. */
        if (a->r == -ERR_NOT_FOUND || a->object)
            record_set_current(r, a->object);
        log_warn("record of calls not written, retrying", LOG_STR("configmap", r->name), LOG_ERR(&a->error));
        /* Created by another process, or by this one, whose answer was lost: it is read. */
        record_retry(r, a->r == -ERR_EXISTS ? record_load : record_flush);
    }
    if (is_written)
        loop_defer(&r->flush);
    settle_entries(r, is_written);
}

static void record_flush(void *ctx)
{
    struct call_record *r = ctx;
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(WRITE_BODY_BYTES_MAX);
    struct api_write_options w = {
        .api = r->api, .step = API_STEP_PROVISIONER, .done = on_written, .ctx = r
    };

    if (!r->is_loaded || api_write_is_active(&r->write) || timer_is_armed(&r->retry) || !has_dirty(r))
        return;
    if (r->current) {
        w.request = (struct client_request){ .verb = CLIENT_PATCH };
        w.object = r->current;
        w.decide = decide_patch;
    } else {
        write_whole(r, &body);
        w.request = (struct client_request){
            .verb = CLIENT_CREATE, .kind = kind_info(KIND_CONFIG_MAP), .ns = r->o.ns, .name = r->name
        };
        w.body = buf_str(&body);
        w.failed = body.failed;
    }
    api_write_start(&r->write, &w);
}

/* --- Changes --- */

int call_record_put(struct call_record *r, const char *uid, struct str value, struct call_record_write *w,
                    struct error *err)
{
    struct entry *e = entry_get(r, uid);
    char *copy;

    assert(!w->is_active);
    assert(!e || !e->waiting); /* one operation per claim */
    if (value.len > CALL_RECORD_VALUE_BYTES_MAX ||
        r->bytes + strlen(uid) + value.len + ENTRY_BYTES > CALL_RECORD_BYTES_MAX)
        return error_set(err, ERR_TOO_LARGE, "record of calls '%s/%s' is full: %zu bytes of %zu in use",
                         r->o.ns, r->name, r->bytes, CALL_RECORD_BYTES_MAX);
    copy = strndup(value.s, value.len);
    if (copy && !e)
        e = entry_new(r, uid);
    if (!copy || !e) {
        free(copy);
        return error_no_memory(err);
    }
    entry_set(r, e, copy, value.len);
    e->waiting = w;
    w->is_active = true;
    return 0;
}

void call_record_cancel(struct call_record *r, struct call_record_write *w)
{
    struct entry *e;

    if (!w->is_active)
        return;
    w->is_active = false;
    for (size_t at = 0; (e = map_next(&r->entries, &at, NULL));)
        if (e->waiting == w)
            e->waiting = NULL;
}

void call_record_remove(struct call_record *r, const char *uid)
{
    struct entry *e = entry_get(r, uid);

    if (!e || e->is_removed)
        return;
    assert(!e->waiting);
    entry_set(r, e, NULL, 0);
}

/* --- Lifecycle --- */

int call_record_new(const struct call_record_options *o, struct call_record **ret, struct error *err)
{
    _cleanup_(call_record_free_p) struct call_record *r = calloc(1, sizeof *r);
    int result;

    if (!r)
        return error_no_memory(err);
    r->o = *o;
    r->name = strdup(o->name);
    map_init(&r->entries, (struct hash_seed){ component_seed(&o->part, o->name), o->part.seed });
    deferred_init(&r->flush, o->part.loop, record_flush, r);
    if (!r->name)
        return error_no_memory(err);
    result = component_api(&o->part, MANAGER, &r->api, err);
    if (result == 0)
        *ret = TAKE(r);
    return result;
}

void call_record_start(struct call_record *r)
{
    assert(!r->is_loaded);
    record_load(r);
}

struct call_record *call_record_free(struct call_record *r)
{
    struct entry *e;

    if (!r)
        return NULL;
    api_write_cancel(&r->write);
    timer_disarm(&r->retry);
    loop_undefer(&r->flush);
    for (size_t at = 0; (e = map_next(&r->entries, &at, NULL)); at = 0)
        entry_free(r, e);
    map_done(&r->entries);
    (void)object_unref(r->current);
    free(r->name);
    free(r);
    return NULL;
}

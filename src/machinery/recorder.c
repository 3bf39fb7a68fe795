/* Implementation of the recorder: builds event bodies, correlates them and queues requests to the sender.
 *
 * Recording never fails for the caller: an event that cannot be built is counted and logged here. */
#include "machinery/recorder.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/event.h"
#include "api/json_out.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/rng.h"
#include "machinery/correlate.h"
#include "machinery/event_body.h"
#include "machinery/event_sender.h"
#include "machinery/series.h"

/* Names, uids and a message, with six bytes for each escaped byte; far more than they need. */
#define BODY_BYTES_MAX ((size_t)64 << 10)

struct recorder {
    struct loop *loop;
    const struct clock *clock;
    enum recorder_dialect dialect;
    const char *component;
    const char *host;
    struct rng names; /* for names that an object's own name does not fit into */
    int64_t names_offset_ns;
    int64_t names_last_ns;
    struct event_sender sender;
    struct correlator correlator;  /* of core/v1 */
    struct series_table series;    /* of events.k8s.io/v1 */
    struct timer series_timer;     /* for the next count to write */
    struct buf message, key, body; /* of the current event */
    struct buf create, patch;
};

#define EACH_BUF(r)                                                     \
    {                                                                   \
        &(r)->message, &(r)->key, &(r)->body, &(r)->create, &(r)->patch \
    }

static const char *const type_names[] = { [EVENT_NORMAL] = "Normal", [EVENT_WARNING] = "Warning" };

static void init_bufs(struct recorder *r)
{
    struct buf *const all[] = EACH_BUF(r);

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        buf_init(all[i], BODY_BYTES_MAX);
}

static void done_bufs(struct recorder *r)
{
    struct buf *const all[] = EACH_BUF(r);

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        buf_done(all[i]);
}

static void clear_bufs(struct recorder *r)
{
    struct buf *const all[] = EACH_BUF(r);

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        buf_clear(all[i]);
}

/* An event with an incomplete part is not sent. */
static int check_bufs(const struct recorder *r, struct error *err)
{
    const struct buf *const all[] = EACH_BUF(r);
    int result = 0;

    for (size_t i = 0; i < ARRAY_LEN(all) && result == 0; i++)
        result = buf_check(all[i], "event", err);
    return result;
}

/* Logged here, because the caller gets no error. */
static void drop_event(struct recorder *r, const char *name, const struct error *err)
{
    event_sender_count(&r->sender, EVENT_FAILED);
    log_error("cannot record event", LOG_STR("event", name), LOG_ERR(err));
}

/* --- Names --- */

/* Two events of the same moment must not have the same name, even in virtual time, where the clock does not
 * advance for long. Within a recorder each name uses a different nanosecond; between recorders an offset
 * below one millisecond differs. */
static int64_t next_name_ns(struct recorder *r)
{
    int64_t ns = clock_real_ns(r->clock) + r->names_offset_ns;

    if (ns <= r->names_last_ns)
        ns = r->names_last_ns + 1;
    r->names_last_ns = ns;
    return ns;
}

/* --- core/v1 --- */

static int send_core(struct recorder *r, const struct event_body *one, const struct correlated *c,
                     struct error *err)
{
    struct event_body b = *one;
    int result;

    if (c->is_combined) {
        event_sender_count(&r->sender, EVENT_AGGREGATED);
        buf_add_cstr(&r->body, CORRELATE_COMBINED);
        event_message(b.message, RECORDER_MESSAGE_BYTES_MAX - r->body.len, &r->body);
        b.message = buf_str(&r->body);
    }
    b.name = c->name;
    b.count = c->count;
    b.first_real_ns = c->first_real_ns;
    event_write_core(&b, &r->create);
    if (c->action == CORRELATE_PATCH)
        event_write_core_patch(&b, &r->patch);
    result = check_bufs(r, err);
    if (result < 0)
        return result;
    event_sender_add(&r->sender, &(struct event_request){ .kind = &event_kind,
                                                          .ns = event_namespace(b.about),
                                                          .name = c->name,
                                                          .create = buf_str(&r->create),
                                                          .patch = buf_str(&r->patch) });
    return 0;
}

static int record_core(struct recorder *r, const struct event_body *b, struct error *err)
{
    struct correlate_event e = { b->about, b->type, b->reason, b->message, b->name };
    struct correlated c;
    int result = correlator_observe(&r->correlator, &e, loop_now_ns(r->loop), b->last_real_ns, &c, err);

    if (result < 0)
        return result;
    if (c.action == CORRELATE_DROP) {
        event_sender_count(&r->sender, EVENT_FILTERED);
        return 0;
    }
    return send_core(r, b, &c, err);
}

/* --- events.k8s.io/v1 --- */

static int send_v1(struct recorder *r, const struct series *s, struct error *err)
{
    int result = check_bufs(r, err);

    if (result == 0)
        event_sender_add(&r->sender, &(struct event_request){ .kind = &event_v1_kind,
                                                              .ns = s->ns,
                                                              .name = s->name,
                                                              .create = buf_str(&r->create),
                                                              .patch = buf_str(&r->patch) });
    return result;
}

/* The count of a series, and the whole event in case it has expired. */
static int send_total(struct recorder *r, const struct series *s, struct error *err)
{
    buf_add_str(&r->create, s->body);
    event_write_series(s->count, s->last_real_ns, &r->create);
    json_out_end_object(&r->create);
    json_out_object(&r->patch, NULL);
    event_write_series(s->count, s->last_real_ns, &r->patch);
    json_out_end_object(&r->patch);
    return send_v1(r, s, err);
}

static void on_total(void *ctx, const struct series *s)
{
    struct recorder *r = ctx;
    struct error err;

    clear_bufs(r);
    if (send_total(r, s, &err) < 0)
        drop_event(r, s->name, &err);
}

static void arm_series(struct recorder *r)
{
    uint64_t at_ns;

    if (series_due_ns(&r->series, &at_ns))
        timer_arm(&r->series_timer, at_ns);
}

static void on_series_timer(void *ctx)
{
    struct recorder *r = ctx;

    series_run(&r->series, loop_now_ns(r->loop), on_total, r);
    arm_series(r);
}

/* All fields except the note: the note about a pod changes with the nodes that were rejected. */
static void write_series_key(const struct event_body *b, struct buf *out)
{
    const struct object *const objects[] = { b->about, b->related };

    event_key_text(str_of(b->type), out);
    event_key_text(str_of(b->action), out);
    event_key_text(str_of(b->reason), out);
    for (size_t i = 0; i < ARRAY_LEN(objects) && objects[i]; i++) {
        event_key_object(objects[i], out);
        buf_addf(out, "%lld", (long long)objects[i]->revision);
        event_key_text(STR_LIT(""), out);
    }
}

static int record_series(struct recorder *r, const struct event_body *b, struct error *err)
{
    struct series_event e = { .name = b->name, .ns = event_namespace(b->about) };
    const struct series *s;
    enum series_action action;
    int result;

    write_series_key(b, &r->key);
    event_write_v1_open(b, &r->body);
    result = check_bufs(r, err);
    if (result < 0)
        return result;
    e.key = buf_str(&r->key);
    e.body = buf_str(&r->body);
    result = series_observe(&r->series, &e, loop_now_ns(r->loop), b->last_real_ns, &s, &action, err);
    if (result < 0)
        return result;
    arm_series(r);
    if (action == SERIES_CREATE) {
        buf_add_str(&r->create, s->body);
        json_out_end_object(&r->create);
        return send_v1(r, s, err);
    }
    if (action == SERIES_PATCH)
        return send_total(r, s, err);
    event_sender_count(&r->sender, EVENT_AGGREGATED);
    return 0;
}

/* --- Recording --- */

void recorder_record(struct recorder *r, const struct recorded *e)
{
    char name[EVENT_NAME_BYTES];
    struct event_body b = {
        .name = name,
        .about = e->about,
        .related = e->related,
        .component = r->component,
        .host = r->host,
        .type = type_names[e->type],
        .reason = e->reason,
        .action = e->action[0] != '\0' ? e->action : e->reason, /* required by the server */
        .first_real_ns = clock_real_ns(r->clock),
        .count = 1,
    };
    struct error err;
    int result;

    assert(e->about->name[0] != '\0');
    assert(e->about->ns[0] != '\0' || !e->about->kind->is_namespaced);
    assert(e->reason[0] != '\0');
    if (r->dialect == RECORDER_SERIES)
        series_run(&r->series, loop_now_ns(r->loop), on_total, r);
    clear_bufs(r);
    b.last_real_ns = b.first_real_ns;
    event_message(e->message, RECORDER_MESSAGE_BYTES_MAX, &r->message);
    b.message = buf_str(&r->message);
    event_name(e->about->name, next_name_ns(r), &r->names, name);
    result = r->dialect == RECORDER_CORE ? record_core(r, &b, &err) : record_series(r, &b, &err);
    if (result < 0)
        drop_event(r, name, &err);
}

void recorder_event(struct recorder *r, const struct object *o, enum event_type type, const char *reason,
                    const char *fmt, ...)
{
    char text[RECORDER_TEXT_BYTES_MAX];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    recorder_record(r,
                    &(struct recorded){
                        .about = o, .type = type, .reason = reason, .action = "", .message = str_of(text) });
}

bool recorder_is_idle(const struct recorder *r)
{
    return event_sender_is_idle(&r->sender);
}

/* --- Lifecycle --- */

static struct hash_seed draw_seed(struct rng *rng)
{
    uint64_t k0 = rng_u64(rng);

    return (struct hash_seed){ k0, rng_u64(rng) };
}

int recorder_new(const struct recorder_options *o, struct recorder **ret, struct error *err)
{
    _cleanup_(recorder_free_p) struct recorder *r = calloc(1, sizeof *r);
    struct rng rng, hashes;
    int result;

    assert(o->component[0] != '\0');
    if (!r)
        return error_no_memory(err);
    r->loop = o->loop;
    r->clock = o->clock;
    r->dialect = o->dialect;
    r->component = o->component;
    r->host = o->host;
    rng_init(&rng, o->seed);
    rng_fork(&rng, "hashes", &hashes);
    rng_fork(&rng, "names", &r->names);
    r->names_offset_ns = (int64_t)rng_below(&r->names, NS_PER_MS);
    correlator_init(&r->correlator, draw_seed(&hashes));
    series_init(&r->series, draw_seed(&hashes));
    timer_init(&r->series_timer, o->loop, on_series_timer, r);
    init_bufs(r);
    result = event_sender_init(&r->sender, o, &rng, err);
    if (result < 0)
        return result;
    *ret = TAKE(r);
    return 0;
}

struct recorder *recorder_free(struct recorder *r)
{
    if (!r)
        return NULL;
    event_sender_done(&r->sender);
    timer_disarm(&r->series_timer);
    correlator_done(&r->correlator);
    series_done(&r->series);
    done_bufs(r);
    free(r);
    return NULL;
}

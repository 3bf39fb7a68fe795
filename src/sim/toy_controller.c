/* The toy controller (toy_controller.h).
 *
 * Keys of the work queue are "g/NAME" for guests and "s/NAME" for seats. A sync sends at most one request and
 * ends when that is answered; a cleaning is a pending operation with the name of the seat as key, so that a
 * seat is cleaned once at a time. A free seat has an empty guest uid. Before a seat is cleaned, its guest is
 * read from the server: the cache may be stale. */
#include "sim/toy_controller.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mutant.h"
#include "machinery/controller.h"
#include "machinery/informer.h"
#include "machinery/merge_patch.h"
#include "machinery/pending_operations.h"
#include "machinery/recorder.h"
#include "sim/informer_checker.h"
#include "sim/objects.h"

#define NAME_BYTES 64
#define CLEAN_NS (20 * NS_PER_S)

struct toy_controller {
    struct sim_process *process;
    struct informer *seats;
    struct informer *guests;
    struct informer_checker seats_checker;
    struct informer_checker guests_checker;
    struct informer_handler seats_handler;
    struct informer_handler guests_handler;
    struct controller *controller;
    struct operations *operations;
    struct recorder *recorder;
    TAILQ_HEAD(, toy_request) requests;
    TAILQ_HEAD(, cleaning) cleanings;
};

/* A request in flight, for a key that is being processed. */
struct toy_request {
    TAILQ_ENTRY(toy_request) link;
    struct toy_controller *owner;
    struct client_call call;
    char key[NAME_BYTES];
    char seat[NAME_BYTES];
    char uid[NAME_BYTES];
};

/* A seat that is being cleaned and then released. */
struct cleaning {
    TAILQ_ENTRY(cleaning) link;
    struct toy_controller *owner;
    struct pending_operation *op;
    struct host_op *host_op;
    struct object *seat; /* the version that the decision is based on */
    struct client_call call;
    struct timer timer;
};

const char *toy_annotation(const struct object *o, const char *annotation)
{
    const char *text = object_annotation(o, annotation);

    return text ? text : "";
}

static bool is_seat_free(const struct object *seat)
{
    return toy_annotation(seat, TOY_GUEST_UID)[0] == '\0';
}

/* --- Indexes --- */

static void index_guest_uid(const struct object *o, index_emit_fn *emit, void *ctx)
{
    emit(ctx, str_of(toy_annotation(o, TOY_GUEST_UID))); /* "" for free seats */
}

static void index_seated(const struct object *o, index_emit_fn *emit, void *ctx)
{
    emit(ctx, toy_annotation(o, TOY_SEAT_NAME)[0] ? STR_LIT("yes") : STR_LIT("no"));
}

static const struct informer_index seat_index = { "guest-uid", index_guest_uid };
static const struct informer_index guest_index = { "seated", index_seated };

/* --- Keys --- */

static void add_key(struct toy_controller *s, char kind, const char *name)
{
    char key[NAME_BYTES + 2];

    (void)snprintf(key, sizeof key, "%c/%s", kind, name);
    controller_add(s->controller, str_of(key));
}

static void on_seat(void *ctx, const struct object *seat)
{
    struct toy_controller *s = ctx;
    struct informer_cursor c;

    add_key(s, 's', seat->name);
    if (!is_seat_free(seat)) {
        add_key(s, 'g', toy_annotation(seat, TOY_GUEST_NAME));
        return;
    }
    for (const struct object *o = informer_first_by(s->guests, "seated", STR_LIT("no"), &c); o;
         o = informer_next(&c))
        add_key(s, 'g', o->name); /* guests without a seat */
}

/* A guest was added, changed or removed: its seats have to be checked. */
static void on_guest(void *ctx, const struct object *guest)
{
    struct toy_controller *s = ctx;
    struct informer_cursor c;

    add_key(s, 'g', guest->name);
    for (const struct object *o = informer_first_by(s->seats, "guest-uid", str_of(guest->uid), &c); o;
         o = informer_next(&c))
        add_key(s, 's', o->name);
}

static void on_synced(void *ctx)
{
    struct toy_controller *s = ctx;

    controller_wake(s->controller);
}

/* --- Requests --- */

static struct toy_request *request_new(struct toy_controller *s, struct str key)
{
    struct toy_request *r = sim_alloc(sizeof *r);

    r->owner = s;
    (void)snprintf(r->key, sizeof r->key, "%.*s", STR_ARG(key));
    TAILQ_INSERT_TAIL(&s->requests, r, link);
    return r;
}

static void request_free(struct toy_request *r)
{
    TAILQ_REMOVE(&r->owner->requests, r, link);
    client_cancel(&r->call);
    free(r);
}

static void request_finish(struct toy_request *r, enum sync_result result)
{
    struct toy_controller *s = r->owner;
    char key[NAME_BYTES];

    (void)snprintf(key, sizeof key, "%s", r->key);
    request_free(r);
    controller_finish(s->controller, str_of(key), result);
}

/* An annotation to set; a value of NULL removes it. */
struct annotation_change {
    const char *key;
    const char *value;
};

/* Patches annotations, with the version of the object as precondition. */
static void send_patch(struct toy_controller *s, struct client_call *call, const struct object *o,
                       const struct annotation_change *changes, size_t count, client_done_fn *done, void *ctx)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(4096);
    struct client_request q = { .verb = CLIENT_PATCH,
                                .kind = o->kind,
                                .ns = o->ns,
                                .name = o->name,
                                .patch = CLIENT_PATCH_MERGE,
                                .field_manager = "seats" };
    struct merge_patch p;
    struct error err;

    merge_patch_begin(&p, &body, MUTANT("seats-write-without-version") ? NULL : o);
    for (size_t i = 0; i < count; i++)
        merge_patch_annotation(&p, changes[i].key, changes[i].value);
    sim_must(merge_patch_end(&p, &err), &err);
    q.body = buf_str(&body);
    client_send(s->process->client, call, &q, done, ctx);
}

/* --- Guests --- */

static void on_patched(void *ctx, const struct client_answer *a)
{
    struct toy_request *r = ctx;
    struct toy_controller *s = r->owner;

    if (a->r == 0 && a->object) {
        bool is_seat = r->seat[0] != '\0';

        informer_observe(is_seat ? s->seats : s->guests, a->object);
        if (!is_seat)
            recorder_event(s->recorder, a->object, EVENT_NORMAL, "Seated", "has seat %s",
                           toy_annotation(a->object, TOY_SEAT_NAME));
        controller_add(s->controller, str_of(r->key)); /* process the next stage */
        request_finish(r, SYNC_DONE);
    } else if (a->r == -ERR_NOT_FOUND) {
        request_finish(r, SYNC_DONE);
    } else {
        request_finish(r, SYNC_AGAIN);
    }
}

static enum sync_result sync_guest(struct toy_controller *s, struct str key, const char *name)
{
    const struct object *guest = informer_get(s->guests, OBJECTS_NS, name), *seat;
    struct informer_cursor c;
    struct toy_request *r;

    if (!guest || toy_annotation(guest, TOY_SEAT_NAME)[0] != '\0')
        return SYNC_DONE;
    seat = informer_first_by(s->seats, "guest-uid", str_of(guest->uid), &c);
    if (seat) { /* reserved for the guest, but not written to it yet */
        r = request_new(s, key);
        send_patch(s, &r->call, guest, &(struct annotation_change){ TOY_SEAT_NAME, seat->name }, 1,
                   on_patched, r);
        return SYNC_LATER;
    }
    seat = informer_first_by(s->seats, "guest-uid", STR_LIT(""), &c);
    if (seat) { /* free */
        struct annotation_change changes[] = { { TOY_GUEST_NAME, guest->name },
                                               { TOY_GUEST_UID, guest->uid } };

        r = request_new(s, key);
        (void)snprintf(r->seat, sizeof r->seat, "%s", seat->name);
        send_patch(s, &r->call, seat, changes, ARRAY_LEN(changes), on_patched, r);
        return SYNC_LATER;
    }
    recorder_event(s->recorder, guest, EVENT_WARNING, "NoSeat", "every seat is taken");
    return SYNC_DONE; /* a seat that becomes free requeues the guest */
}

/* --- Seats --- */

static void cleaning_free(struct cleaning *c)
{
    TAILQ_REMOVE(&c->owner->cleanings, c, link);
    timer_disarm(&c->timer);
    client_cancel(&c->call);
    (void)object_unref(c->seat);
    free(c);
}

static void cleaning_release(void *ctx)
{
    cleaning_free(ctx);
}

static void on_seat_released(void *ctx, const struct client_answer *a)
{
    struct cleaning *c = ctx;

    if (a->r == 0 && a->object)
        informer_observe(c->owner->seats, a->object);
    operation_end(c->op, a->r, &a->error);
}

static void on_cleaned(void *ctx, int r, const struct error *err)
{
    static const struct annotation_change none[] = { { TOY_GUEST_NAME, NULL }, { TOY_GUEST_UID, NULL } };
    struct cleaning *c = ctx;

    c->host_op = NULL;
    timer_disarm(&c->timer);
    if (r < 0 && (r == -ERR_CANCELLED || !MUTANT("seats-take-failure-for-done")))
        operation_end(c->op, r, err);
    else
        send_patch(c->owner, &c->call, c->seat, none, ARRAY_LEN(none), on_seat_released, c);
}

/* The cleaning takes too long. It may still take effect. */
static void on_cleaning_timeout(void *ctx)
{
    struct cleaning *c = ctx;

    host_cancel(c->host_op);
}

static void cleaning_start(void *ctx, struct pending_operation *op)
{
    struct cleaning *c = ctx;
    struct sim_process *p = c->owner->process;
    char name[2 * NAME_BYTES];

    c->op = op;
    (void)snprintf(name, sizeof name, "%s:%s", c->seat->name, toy_annotation(c->seat, TOY_GUEST_UID));
    timer_init(&c->timer, p->loop, on_cleaning_timeout, c);
    timer_arm_after(&c->timer, CLEAN_NS);
    c->host_op = host_start(&p->sim->host, p, "clean", name, on_cleaned, c);
}

/* The operation of the host may still take effect; its end is ignored. */
static void cleaning_cancel(void *ctx, struct pending_operation *op)
{
    struct error err;

    (void)ctx;
    operation_end(op, error_set(&err, ERR_CANCELLED, "cancelled"), &err);
}

static void start_cleaning(struct toy_controller *s, const struct object *seat)
{
    struct cleaning *c = sim_alloc(sizeof *c);
    struct operation_work work = { .name = "clean",
                                   .start = cleaning_start,
                                   .cancel = cleaning_cancel,
                                   .release = cleaning_release,
                                   .ctx = c };
    struct error err;

    c->owner = s;
    c->seat = object_ref(seat);
    TAILQ_INSERT_TAIL(&s->cleanings, c, link);
    if (operations_run(s->operations, &(struct operation_key){ seat->name, "", "" }, &work, &err) < 0)
        cleaning_free(c); /* it runs already, or waits: its end requeues the seat */
}

/* Starts the cleaning if the guest does not exist on the server: the cache may be stale. */
static void on_guest_read(void *ctx, const struct client_answer *a)
{
    struct toy_request *r = ctx;
    struct toy_controller *s = r->owner;
    const struct object *seat = informer_get(s->seats, OBJECTS_NS, r->seat);
    const char *sits = a->object ? toy_annotation(a->object, TOY_SEAT_NAME) : "";
    bool is_other = a->object && strcmp(a->object->uid, r->uid) != 0;
    bool is_elsewhere = sits[0] != '\0' && strcmp(sits, r->seat) != 0;

    if (a->r < 0 && a->r != -ERR_NOT_FOUND) {
        request_finish(r, SYNC_AGAIN);
        return;
    }
    if (seat && strcmp(toy_annotation(seat, TOY_GUEST_UID), r->uid) == 0 &&
        (a->r == -ERR_NOT_FOUND || is_other || is_elsewhere ||
         (sits[0] == '\0' && MUTANT("seats-trust-the-cache"))))
        start_cleaning(s, seat);
    request_finish(r, SYNC_DONE);
}

static enum sync_result read_guest(struct toy_controller *s, struct str key, const struct object *seat)
{
    struct toy_request *r = request_new(s, key);
    struct client_request q = { .verb = CLIENT_GET,
                                .kind = kind_info(KIND_CONFIG_MAP),
                                .ns = OBJECTS_NS,
                                .name = toy_annotation(seat, TOY_GUEST_NAME) };

    (void)snprintf(r->seat, sizeof r->seat, "%s", seat->name);
    (void)snprintf(r->uid, sizeof r->uid, "%s", toy_annotation(seat, TOY_GUEST_UID));
    client_send(s->process->client, &r->call, &q, on_guest_read, r);
    return SYNC_LATER;
}

static enum sync_result sync_seat(struct toy_controller *s, struct str key, const char *name)
{
    const struct object *seat = informer_get(s->seats, OBJECTS_NS, name), *guest;

    if (!seat || is_seat_free(seat))
        return SYNC_DONE;
    guest = informer_get(s->guests, OBJECTS_NS, toy_annotation(seat, TOY_GUEST_NAME));
    if (guest && strcmp(guest->uid, toy_annotation(seat, TOY_GUEST_UID)) == 0) {
        const char *sits = toy_annotation(guest, TOY_SEAT_NAME);

        if (sits[0] == '\0' || strcmp(sits, seat->name) == 0)
            return SYNC_DONE;
    }
    return read_guest(s, key, seat);
}

static enum sync_result sync_key(void *ctx, struct str key)
{
    char name[NAME_BYTES];

    assert(key.len > 2);
    (void)snprintf(name, sizeof name, "%.*s", (int)key.len - 2, key.s + 2);
    return key.s[0] == 'g' ? sync_guest(ctx, key, name) : sync_seat(ctx, key, name);
}

/* --- Start and kill --- */

static void on_settled(void *ctx, struct str key)
{
    char name[NAME_BYTES];

    (void)snprintf(name, sizeof name, "%.*s", STR_ARG(key));
    add_key(ctx, 's', name);
}

static bool is_ready(void *ctx)
{
    const struct toy_controller *s = ctx;

    return informer_is_synced(s->seats) && informer_is_synced(s->guests);
}

static struct informer *start_informer(struct toy_controller *s, const char *role,
                                       const struct informer_index *index)
{
    struct sim_process *p = s->process;
    struct informer_options o = { .loop = p->loop,
                                  .client = p->client,
                                  .seed = p->seed + (uint64_t)role[0],
                                  .kind = kind_info(KIND_CONFIG_MAP),
                                  .ns = OBJECTS_NS,
                                  .label_selector = role,
                                  .indexes = index,
                                  .indexes_count = 1,
                                  .streams_lists = p->seed % 2 };
    struct informer *i;
    struct error err;

    sim_must(informer_new(&o, &i, &err), &err);
    return i;
}

static void start_machinery(struct toy_controller *s)
{
    struct sim_process *p = s->process;
    struct controller_options c = { .queue = { .loop = p->loop,
                                               .name = "seats",
                                               .seed = p->seed,
                                               .max_ns = WORKQUEUE_CONTROLLER_MAX_NS,
                                               .jitter_percent = 10 },
                                    .sync = sync_key,
                                    .is_ready = is_ready,
                                    .in_flight_max = 4,
                                    .ctx = s };
    struct operations_options o = {
        .loop = p->loop, .clock = &p->clock.clock, .on_settled = on_settled, .ctx = s
    };
    struct recorder_options r = { .loop = p->loop,
                                  .clock = &p->clock.clock,
                                  .client = p->client,
                                  .seed = p->seed,
                                  .dialect = RECORDER_CORE,
                                  .component = "seats",
                                  .host = "" };
    struct error err;

    sim_must(controller_new(&c, &s->controller, &err), &err);
    sim_must(operations_new(&o, &s->operations, &err), &err);
    sim_must(recorder_new(&r, &s->recorder, &err), &err);
}

static void *toy_controller_start(struct sim_process *p, void *ctx)
{
    struct toy_controller *s = sim_alloc(sizeof *s);

    (void)ctx;
    s->process = p;
    TAILQ_INIT(&s->requests);
    TAILQ_INIT(&s->cleanings);
    start_machinery(s);
    s->seats = start_informer(s, TOY_LABEL "=" TOY_SEAT, &seat_index);
    s->guests = start_informer(s, TOY_LABEL "=" TOY_GUEST, &guest_index);
    informer_checker_init(&s->seats_checker, p->sim, s->seats, KIND_CONFIG_MAP, TOY_LABEL, TOY_SEAT);
    informer_checker_init(&s->guests_checker, p->sim, s->guests, KIND_CONFIG_MAP, TOY_LABEL, TOY_GUEST);
    s->seats_handler = (struct informer_handler){ .on_upsert = on_seat, .on_synced = on_synced, .ctx = s };
    s->guests_handler = (struct informer_handler){
        .on_upsert = on_guest, .on_removed = on_guest, .on_synced = on_synced, .ctx = s
    };
    informer_add_handler(s->seats, &s->seats_handler);
    informer_add_handler(s->guests, &s->guests_handler);
    informer_start(s->seats);
    informer_start(s->guests);
    return s;
}

static void toy_controller_kill(void *state)
{
    struct toy_controller *s = state;
    struct toy_request *r, *next;

    s->operations = operations_free(s->operations); /* and the cleanings */
    for (r = TAILQ_FIRST(&s->requests); r; r = next) {
        next = TAILQ_NEXT(r, link);
        request_free(r);
    }
    informer_remove_handler(&s->seats_handler);
    informer_remove_handler(&s->guests_handler);
    informer_checker_done(&s->seats_checker);
    informer_checker_done(&s->guests_checker);
    s->controller = controller_free(s->controller);
    s->recorder = recorder_free(s->recorder);
    s->seats = informer_free(s->seats);
    s->guests = informer_free(s->guests);
    free(s);
}

static const char *toy_controller_check(const void *state, bool is_thorough)
{
    const struct toy_controller *s = state;
    const char *wrong = controller_check(s->controller);

    (void)is_thorough;
    return wrong ? wrong : operations_check(s->operations);
}

const struct sim_program toy_controller_program_one = { "one", toy_controller_start, toy_controller_kill,
                                                        toy_controller_check };
const struct sim_program toy_controller_program_two = { "two", toy_controller_start, toy_controller_kill,
                                                        toy_controller_check };

int toy_controller_settled(const void *state, struct error *err)
{
    const struct toy_controller *s = state;
    int r = informer_checker_compare(&s->seats_checker, err);

    if (r == 0)
        r = informer_checker_compare(&s->guests_checker, err);
    if (r == 0 && operations_pending(s->operations))
        r = error_set(err, ERR_INTERNAL, "operations are in progress");
    if (r == 0 && workqueue_depth(controller_queue(s->controller)))
        r = error_set(err, ERR_INTERNAL, "the queue is not empty");
    if (r == 0 && !recorder_is_idle(s->recorder))
        r = error_set(err, ERR_INTERNAL, "events wait to be written");
    return r;
}

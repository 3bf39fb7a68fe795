/* Scenario seats: one or two toy controllers (toy_controller.h). The workload creates and deletes guests.
 *
 * Invariants: no seat is assigned to two guests, and no seat is cleaned while its guest exists. Finally every
 * guest that can have a seat has one. Most seeds have two controllers, where one completes what the other has
 * left; some seeds have one, so that its own omissions become visible. */
#include "sim/toy_controller.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/objects.h"

#define SEATS 4
#define GUESTS 6
#define CLEANED_MAX 4096

struct seats_scenario {
    struct sim *sim;
    struct sim_process *controllers[2];
    unsigned controllers_count;
    struct store_watcher watcher;
    struct sim_mark checked;
    /* "seat:uid" of each cleaned seat and its guest. */
    char cleaned[CLEANED_MAX][80];
    unsigned cleaned_count;
};

/* --- Invariants of writes and host operations --- */

static const struct object *find_guest(const struct seats_scenario *scenario, const char *uid)
{
    struct store_iter it;
    const struct object *o;
    struct error err;

    if (store_iter_begin(&it, scenario->sim->server.store, KIND_CONFIG_MAP, NULL, STR_LIT(""), STR_LIT(""), 0,
                         &err) < 0)
        abort();
    while ((o = store_iter_next(&it)) && strcmp(o->uid, uid) != 0)
        ;
    store_iter_done(&it);
    return o;
}

static void on_effect(void *ctx, const char *what, const char *name)
{
    struct seats_scenario *scenario = ctx;
    const char *uid = strchr(name, ':') + 1;
    size_t len = (size_t)(uid - 1 - name);
    const struct object *guest = find_guest(scenario, uid);
    const char *sits = guest ? toy_annotation(guest, TOY_SEAT_NAME) : NULL;

    (void)what;
    if (sits && (sits[0] == '\0' || (strlen(sits) == len && memcmp(sits, name, len) == 0)))
        sim_fail(scenario->sim, "seat %.*s is cleaned while guest %s exists", (int)len, name, guest->name);
    if (scenario->cleaned_count < CLEANED_MAX)
        (void)snprintf(scenario->cleaned[scenario->cleaned_count++], sizeof scenario->cleaned[0], "%s", name);
}

static bool was_cleaned(const struct seats_scenario *scenario, const char *seat, const char *uid)
{
    char name[80];

    (void)snprintf(name, sizeof name, "%s:%s", seat, uid);
    for (unsigned i = 0; i < scenario->cleaned_count; i++)
        if (strcmp(scenario->cleaned[i], name) == 0)
            return true;
    return false;
}

static bool is_role(const struct object *o, const char *role)
{
    const char *label = object_label(o, TOY_LABEL);

    return label && strcmp(label, role) == 0;
}

/* Checks every stored version of a seat. */
static void check_seat(struct seats_scenario *scenario, const struct store_event *ev)
{
    const char *was = ev->old ? toy_annotation(ev->old, TOY_GUEST_UID) : "";
    const char *is = toy_annotation(ev->object, TOY_GUEST_UID);

    if (was[0] == '\0' || strcmp(was, is) == 0)
        return;
    if (is[0] != '\0')
        sim_fail(scenario->sim, "seat %s moves from one guest to another", ev->object->name);
    else if (!was_cleaned(scenario, ev->object->name, was))
        sim_fail(scenario->sim, "seat %s is free and was not cleaned", ev->object->name);
}

static void check_guest(struct seats_scenario *scenario, const struct store_event *ev)
{
    const char *was = ev->old ? toy_annotation(ev->old, TOY_SEAT_NAME) : "";
    const char *is = toy_annotation(ev->object, TOY_SEAT_NAME);

    if (!ev->is_delete && ev->old && was[0] != '\0' && strcmp(was, is) != 0)
        sim_fail(scenario->sim, "guest %s is moved from %s to %s", ev->object->name, was, is);
}

static void on_event(void *ctx, const struct store_event *ev)
{
    if (ev->object->kind->kind != KIND_CONFIG_MAP)
        return;
    if (is_role(ev->object, TOY_SEAT))
        check_seat(ctx, ev);
    else if (is_role(ev->object, TOY_GUEST))
        check_guest(ctx, ev);
}

/* --- Invariants after each step --- */

static void check_guest_seat(struct seats_scenario *scenario, const struct object *guest)
{
    const char *name = toy_annotation(guest, TOY_SEAT_NAME);
    const struct object *seat;

    if (name[0] == '\0')
        return;
    seat = store_get(scenario->sim->server.store, KIND_CONFIG_MAP, OBJECTS_NS, name);
    if (!seat || strcmp(toy_annotation(seat, TOY_GUEST_UID), guest->uid) != 0)
        sim_fail(scenario->sim, "guest %s has seat %s, which is reserved for %s", guest->name, name,
                 seat ? toy_annotation(seat, TOY_GUEST_NAME) : "no guest");
}

static void seats_scenario_check(void *ctx)
{
    struct seats_scenario *scenario = ctx;
    char name[16];

    if (!sim_has_changed(scenario->sim, &scenario->checked))
        return;
    for (unsigned i = 0; i < GUESTS; i++) {
        const struct object *guest;

        (void)snprintf(name, sizeof name, "guest%u", i);
        guest = store_get(scenario->sim->server.store, KIND_CONFIG_MAP, OBJECTS_NS, name);
        if (guest)
            check_guest_seat(scenario, guest);
    }
}

/* --- Workload and final state --- */

static void *seats_scenario_begin(struct sim *s)
{
    struct seats_scenario *scenario = sim_alloc(sizeof *scenario);
    char name[16];

    scenario->sim = s;
    s->host.on_effect = on_effect;
    s->host.ctx = scenario;
    store_watch(s->server.store, &scenario->watcher, KIND_COUNT, on_event, NULL, scenario);
    for (unsigned i = 0; i < SEATS; i++) {
        (void)snprintf(name, sizeof name, "seat%u", i);
        objects_create_map(s, name, TOY_LABEL, TOY_SEAT);
    }
    scenario->controllers[scenario->controllers_count++] = sim_spawn(s, &toy_controller_program_one, NULL);
    if (rng_chance(&s->work, 60))
        scenario->controllers[scenario->controllers_count++] =
            sim_spawn(s, &toy_controller_program_two, NULL);
    return scenario;
}

static void seats_scenario_work(void *ctx)
{
    struct seats_scenario *scenario = ctx;
    struct rng *r = &scenario->sim->work;
    char guest[16], seat[16];

    (void)snprintf(guest, sizeof guest, "guest%u", (unsigned)rng_below(r, GUESTS));
    (void)snprintf(seat, sizeof seat, "seat%u", (unsigned)rng_below(r, SEATS));
    switch (rng_below(r, 8)) {
    case 0:
    case 1:
    case 2:
        objects_create_map(scenario->sim, guest, TOY_LABEL, TOY_GUEST);
        break;
    case 3:
        objects_delete_map(scenario->sim, guest);
        break;
    case 4: /* another guest of the same name */
        objects_delete_map(scenario->sim, guest);
        objects_create_map(scenario->sim, guest, TOY_LABEL, TOY_GUEST);
        break;
    case 5:
        objects_touch_map(scenario->sim, guest, rng_below(r, 1000));
        break;
    default:
        objects_touch_map(scenario->sim, seat, rng_below(r, 1000));
        break;
    }
}

struct tally {
    unsigned waiting;
    unsigned taken;
    unsigned stale; /* reserved for a guest that does not exist, or has another seat */
};

static void count_seats(const struct seats_scenario *scenario, struct tally *t)
{
    struct store_iter it;
    const struct object *o;
    struct error err;

    if (store_iter_begin(&it, scenario->sim->server.store, KIND_CONFIG_MAP, NULL, STR_LIT(""), STR_LIT(""), 0,
                         &err) < 0)
        abort();
    while ((o = store_iter_next(&it))) {
        const char *uid = toy_annotation(o, TOY_GUEST_UID);

        t->waiting += is_role(o, TOY_GUEST) && toy_annotation(o, TOY_SEAT_NAME)[0] == '\0';
        if (is_role(o, TOY_SEAT) && uid[0] != '\0') {
            const struct object *guest = find_guest(scenario, uid);

            t->taken++;
            t->stale += !guest || strcmp(toy_annotation(guest, TOY_SEAT_NAME), o->name) != 0;
        }
    }
    store_iter_done(&it);
}

static int seats_scenario_settled(void *ctx, struct error *err)
{
    struct seats_scenario *scenario = ctx;
    struct tally t = { 0 };
    int r = 0;

    for (unsigned i = 0; i < scenario->controllers_count && r == 0; i++)
        r = toy_controller_settled(scenario->controllers[i]->state, err);
    if (r < 0)
        return r;
    count_seats(scenario, &t);
    if (t.stale)
        return error_set(err, ERR_INTERNAL, "%u seats are reserved for guests that do not have them",
                         t.stale);
    if (t.waiting && t.taken < SEATS)
        return error_set(err, ERR_INTERNAL, "%u guests wait and %u seats are free", t.waiting,
                         SEATS - t.taken);
    return 0;
}

static void seats_scenario_end(void *ctx)
{
    struct seats_scenario *scenario = ctx;

    store_unwatch(scenario->sim->server.store, &scenario->watcher);
    free(scenario);
}

const struct sim_scenario sim_scenario_seats = {
    .name = "seats",
    .may_livelock = true,
    .begin = seats_scenario_begin,
    .work = seats_scenario_work,
    .check = seats_scenario_check,
    .settled = seats_scenario_settled,
    .end = seats_scenario_end,
};

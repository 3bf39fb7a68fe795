/* Seats: toy controllers (seats.h) on one world. Guests come and go; whatever goes wrong, no seat serves two,
 * no seat is cleaned under a guest, and in the end everybody who can sits. As a rule there are two
 * controllers, and one does what the other left undone; on some days one is alone, and has nobody to hide
 * behind. */
#include "sim/toy_controller.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/objects.h"

#define SEATS 4
#define GUESTS 6
#define CLEANED_MAX 4096

struct scenario {
    struct sim *sim;
    struct sim_process *controllers[2];
    unsigned controllers_count;
    struct store_watcher watcher;
    struct sim_mark checked;
    /* "seat:uid" of what was cleaned. */
    char cleaned[CLEANED_MAX][80];
    unsigned cleaned_count;
};

/* --- What must never be --- */

static const struct object *find_guest(const struct scenario *x, const char *uid)
{
    struct store_iter it;
    const struct object *o;
    struct error err;

    if (store_iter_begin(&it, x->sim->server.store, KIND_CONFIG_MAP, NULL, STR_LIT(""), STR_LIT(""), 0,
                         &err) < 0)
        abort();
    while ((o = store_iter_next(&it)) && strcmp(o->uid, uid) != 0)
        ;
    store_iter_done(&it);
    return o;
}

static void on_effect(void *ctx, const char *what, const char *name)
{
    struct scenario *x = ctx;
    const char *uid = strchr(name, ':') + 1;
    size_t len = (size_t)(uid - 1 - name);
    const struct object *guest = find_guest(x, uid);
    const char *sits = guest ? seats_text(guest, SEATS_SEAT_NAME) : NULL;

    (void)what;
    if (sits && (sits[0] == '\0' || (strlen(sits) == len && memcmp(sits, name, len) == 0)))
        sim_fail(x->sim, "seat %.*s is cleaned under guest %s", (int)len, name, guest->name);
    if (x->cleaned_count < CLEANED_MAX)
        (void)snprintf(x->cleaned[x->cleaned_count++], sizeof x->cleaned[0], "%s", name);
}

static bool was_cleaned(const struct scenario *x, const char *seat, const char *uid)
{
    char name[80];

    (void)snprintf(name, sizeof name, "%s:%s", seat, uid);
    for (unsigned i = 0; i < x->cleaned_count; i++)
        if (strcmp(x->cleaned[i], name) == 0)
            return true;
    return false;
}

static bool is_role(const struct object *o, const char *role)
{
    const char *label = object_label(o, SEATS_LABEL);

    return label && strcmp(label, role) == 0;
}

/* Every version of a seat that was ever committed. */
static void check_seat(struct scenario *x, const struct store_event *ev)
{
    const char *was = ev->old ? seats_text(ev->old, SEATS_GUEST_UID) : "";
    const char *is = seats_text(ev->object, SEATS_GUEST_UID);

    if (was[0] == '\0' || strcmp(was, is) == 0)
        return;
    if (is[0] != '\0')
        sim_fail(x->sim, "seat %s goes from one guest to another", ev->object->name);
    else if (!was_cleaned(x, ev->object->name, was))
        sim_fail(x->sim, "seat %s is free and was not cleaned", ev->object->name);
}

static void check_guest(struct scenario *x, const struct store_event *ev)
{
    const char *was = ev->old ? seats_text(ev->old, SEATS_SEAT_NAME) : "";
    const char *is = seats_text(ev->object, SEATS_SEAT_NAME);

    if (!ev->is_delete && ev->old && was[0] != '\0' && strcmp(was, is) != 0)
        sim_fail(x->sim, "guest %s is moved from %s to %s", ev->object->name, was, is);
}

static void on_event(void *ctx, const struct store_event *ev)
{
    if (ev->object->kind->kind != KIND_CONFIG_MAP)
        return;
    if (is_role(ev->object, SEATS_SEAT))
        check_seat(ctx, ev);
    else if (is_role(ev->object, SEATS_GUEST))
        check_guest(ctx, ev);
}

/* --- Now --- */

static void check_sits(struct scenario *x, const struct object *guest)
{
    const char *name = seats_text(guest, SEATS_SEAT_NAME);
    const struct object *seat;

    if (name[0] == '\0')
        return;
    seat = store_get(x->sim->server.store, KIND_CONFIG_MAP, OBJECTS_NS, name);
    if (!seat || strcmp(seats_text(seat, SEATS_GUEST_UID), guest->uid) != 0)
        sim_fail(x->sim, "guest %s sits on %s, which is for %s", guest->name, name,
                 seat ? seats_text(seat, SEATS_GUEST_NAME) : "nobody");
}

static void check(void *ctx)
{
    struct scenario *x = ctx;
    char name[16];

    if (!sim_has_changed(x->sim, &x->checked))
        return;
    for (unsigned i = 0; i < GUESTS; i++) {
        const struct object *guest;

        (void)snprintf(name, sizeof name, "guest%u", i);
        guest = store_get(x->sim->server.store, KIND_CONFIG_MAP, OBJECTS_NS, name);
        if (guest)
            check_sits(x, guest);
    }
}

/* --- The day --- */

static void *begin(struct sim *s)
{
    struct scenario *x = sim_alloc(sizeof *x);
    char name[16];

    x->sim = s;
    s->host.on_effect = on_effect;
    s->host.ctx = x;
    store_watch(s->server.store, &x->watcher, KIND_COUNT, on_event, NULL, x);
    for (unsigned i = 0; i < SEATS; i++) {
        (void)snprintf(name, sizeof name, "seat%u", i);
        objects_create(s, name, SEATS_LABEL, SEATS_SEAT);
    }
    x->controllers[x->controllers_count++] = sim_spawn(s, &seats_program_one, NULL);
    if (rng_chance(&s->work, 60))
        x->controllers[x->controllers_count++] = sim_spawn(s, &seats_program_two, NULL);
    return x;
}

static void work(void *ctx)
{
    struct scenario *x = ctx;
    struct rng *r = &x->sim->work;
    char guest[16], seat[16];

    (void)snprintf(guest, sizeof guest, "guest%u", (unsigned)rng_below(r, GUESTS));
    (void)snprintf(seat, sizeof seat, "seat%u", (unsigned)rng_below(r, SEATS));
    switch (rng_below(r, 8)) {
    case 0:
    case 1:
    case 2:
        objects_create(x->sim, guest, SEATS_LABEL, SEATS_GUEST);
        break;
    case 3:
        objects_delete(x->sim, guest);
        break;
    case 4: /* another guest of the same name */
        objects_delete(x->sim, guest);
        objects_create(x->sim, guest, SEATS_LABEL, SEATS_GUEST);
        break;
    case 5:
        objects_touch(x->sim, guest, rng_below(r, 1000));
        break;
    default:
        objects_touch(x->sim, seat, rng_below(r, 1000));
        break;
    }
}

struct tally {
    unsigned waiting;
    unsigned taken;
    unsigned stale; /* taken by nobody who is there */
};

static void count(const struct scenario *x, struct tally *t)
{
    struct store_iter it;
    const struct object *o;
    struct error err;

    if (store_iter_begin(&it, x->sim->server.store, KIND_CONFIG_MAP, NULL, STR_LIT(""), STR_LIT(""), 0,
                         &err) < 0)
        abort();
    while ((o = store_iter_next(&it))) {
        const char *uid = seats_text(o, SEATS_GUEST_UID);

        t->waiting += is_role(o, SEATS_GUEST) && seats_text(o, SEATS_SEAT_NAME)[0] == '\0';
        if (is_role(o, SEATS_SEAT) && uid[0] != '\0') {
            const struct object *guest = find_guest(x, uid);

            t->taken++;
            t->stale += !guest || strcmp(seats_text(guest, SEATS_SEAT_NAME), o->name) != 0;
        }
    }
    store_iter_done(&it);
}

static int settled(void *ctx, struct error *err)
{
    struct scenario *x = ctx;
    struct tally t = { 0 };
    int r = 0;

    for (unsigned i = 0; i < x->controllers_count && r == 0; i++)
        r = seats_settled(x->controllers[i]->state, err);
    if (r < 0)
        return r;
    count(x, &t);
    if (t.stale)
        return error_set(err, ERR_INTERNAL, "%u seats are taken by nobody", t.stale);
    if (t.waiting && t.taken < SEATS)
        return error_set(err, ERR_INTERNAL, "%u guests wait and %u seats are free", t.waiting,
                         SEATS - t.taken);
    return 0;
}

static void end(void *ctx)
{
    struct scenario *x = ctx;

    store_unwatch(x->sim->server.store, &x->watcher);
    free(x);
}

const struct sim_scenario sim_scenario_seats = {
    .name = "seats",
    .summary = "toy controllers give guests seats",
    .may_fight = true,
    .begin = begin,
    .work = work,
    .check = check,
    .settled = settled,
    .end = end,
};

/* A toy controller with the troubles of a real one: it gives guests seats.
 *
 * Guests and seats are ConfigMaps. A guest gets one seat for good: first the seat is reserved for the guest
 * (by uid), then the guest is told which. When the guest is gone its seat is cleaned on the host, which takes
 * time and must not happen under a guest who lives, and is free again. Several of these controllers run at
 * once and know nothing of each other: what keeps them apart is that every write says what it was built on.
 *
 * It is to the machinery what the binder will be, small enough to see through. */
#ifndef BERTH_SIM_TOY_CONTROLLER_H
#define BERTH_SIM_TOY_CONTROLLER_H

#include "api/object.h"
#include "sim/sim_world.h"

#define SEATS_LABEL "role"
#define SEATS_SEAT "seat"
#define SEATS_GUEST "guest"
/* On a seat: whom it is for. */
#define SEATS_GUEST_NAME "toy.berth.io/guest"
#define SEATS_GUEST_UID "toy.berth.io/guest-uid"
/* On a guest: which seat. */
#define SEATS_SEAT_NAME "toy.berth.io/seat"

extern const struct sim_program seats_program_one;
extern const struct sim_program seats_program_two;

/* 0 when its caches are the server's and it has nothing to do. */
int seats_settled(const void *state, struct error *err);

/* The annotation, "" when there is none. */
const char *seats_text(const struct object *o, const char *annotation);

#endif

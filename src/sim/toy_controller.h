/* A toy controller, small but with the problems of a real one: it assigns seats to guests.
 *
 * Guests and seats are ConfigMaps. A guest gets one seat permanently: first the seat is reserved for the
 * guest, by uid, then the name of the seat is written to the guest. After a guest was deleted, its seat is
 * cleaned on the host, which takes time and must not happen while the guest exists; then the seat is free
 * again. Several of these controllers run at once without coordination: every write has the version of the
 * object that it is based on as precondition.
 *
 * It uses the machinery (informers, work queue, pending operations, event recorder) in the same way as the
 * binder. */
#ifndef BERTH_SIM_TOY_CONTROLLER_H
#define BERTH_SIM_TOY_CONTROLLER_H

#include "api/object.h"
#include "sim/sim_world.h"

#define TOY_LABEL "role"
#define TOY_SEAT "seat"
#define TOY_GUEST "guest"
/* Annotations of a seat: the guest that it is reserved for. */
#define TOY_GUEST_NAME "toy.berth.io/guest"
#define TOY_GUEST_UID "toy.berth.io/guest-uid"
/* Annotation of a guest: its seat. */
#define TOY_SEAT_NAME "toy.berth.io/seat"

extern const struct sim_program toy_controller_program_one;
extern const struct sim_program toy_controller_program_two;

/* 0 if its caches agree with the server and it is idle. */
int toy_controller_settled(const void *state, struct error *err);

/* The value of the annotation; "" if it is missing. */
const char *toy_annotation(const struct object *o, const char *annotation);

#endif

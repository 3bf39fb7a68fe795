/* The three guards, each with its own queue. */
#ifndef BERTH_CONTROLLERS_PROTECT_PROTECT_INT_H
#define BERTH_CONTROLLERS_PROTECT_PROTECT_INT_H

#include "controllers/protect/protect.h"
#include "machinery/controller.h"

struct volume_guard;
int volume_guard_new(const struct component_deps *o, struct volume_guard **ret, struct error *err);
void volume_guard_start(struct volume_guard *g);
struct volume_guard *volume_guard_free(struct volume_guard *g);
DEFINE_CLEANUP(struct volume_guard, volume_guard_free)
const char *volume_guard_check(const struct volume_guard *g);

struct claim_guard;
int claim_guard_new(const struct component_deps *o, struct claim_guard **ret, struct error *err);
void claim_guard_start(struct claim_guard *g);
struct claim_guard *claim_guard_free(struct claim_guard *g);
DEFINE_CLEANUP(struct claim_guard, claim_guard_free)
const char *claim_guard_check(const struct claim_guard *g);

struct attributes_class_guard;
int attributes_class_guard_new(const struct component_deps *o, struct attributes_class_guard **ret,
                               struct error *err);
void attributes_class_guard_start(struct attributes_class_guard *g);
struct attributes_class_guard *attributes_class_guard_free(struct attributes_class_guard *g);
DEFINE_CLEANUP(struct attributes_class_guard, attributes_class_guard_free)
const char *attributes_class_guard_check(const struct attributes_class_guard *g);

/* A controller with the name of the stock queue; in_flight_max 0: the default. */
int guard_controller(const struct component_deps *o, const char *queue, const char *manager,
                     unsigned in_flight_max, enum sync_result (*sync)(void *ctx, struct str key), void *ctx,
                     struct controller **ret, struct error *err);

#endif

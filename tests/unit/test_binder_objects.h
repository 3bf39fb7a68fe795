/* For the tests of the binder: the other objects of its world, and ways to get into states that take a few
 * steps. */
#ifndef BERTH_TESTS_TEST_BINDER_OBJECTS_H
#define BERTH_TESTS_TEST_BINDER_OBJECTS_H

#include "tests/unit/test_binder.h"

#define HOST_PATH_PLUGIN "kubernetes.io/host-path"

/* --- Orders --- */

/* Once with everything there when the binder starts, once with the binder there before everything. */
void in_both_orders(void (*make)(struct world *w), void (*check)(struct world *w));

/* What was asked so far does not count. */
void world_recount(struct world *w);

void fail_next(struct world *w, enum tap_fault fault, const char *begins, unsigned count);

/* --- Objects --- */

/* meta: further members of the metadata; rest: of the spec; both with a comma in front. */
void make_volume(struct world *w, const char *name, const char *meta, const char *source, const char *rest);

void make_claim(struct world *w, const char *name, const char *meta, const char *rest);

/* rest: further members of the class, with a comma in front. */
void make_class(struct world *w, const char *name, const char *provisioner, const char *rest);

void make_default_class(struct world *w, const char *name, const char *provisioner);

/* A pod that uses the claim; node "": not scheduled. */
void make_pod(struct world *w, const char *name, const char *claim, const char *node);

void set_pod_phase(struct world *w, const char *name, const char *phase);

/* ",'claimRef':{…}" to the claim of that name. Lives until the call after next. */
const char *ref_to(const char *claim, const char *uid);

/* The same to the claim that is there. */
const char *ref_to_claim(struct world *w, const char *claim);

/* ",'annotations':{…}" with one of them. */
const char *annotated(const char *key, const char *value);

/* Gone at once, whatever held it. */
void drop_claim(struct world *w, const char *name);

/* The volume is being deleted and nothing but the protection of volumes holds it, which is not the binder's;
 * it is taken away and the volume is gone. */
void assert_goes(struct world *w, const char *name);

/* Its claim is gone. When something failed on the way the volume says so until it is gone too. */
void assert_let_go(struct world *w, const char *volume);

bool is_deleting(struct world *w, const char *volume);

/* What was told: how often, all in all. */
unsigned count_told(struct world *w, const char *object, const char *reason);

/* One event, told once, of that type. */
void assert_told(struct world *w, const char *object, const char *type, const char *reason,
                 const char *message);

/* How many requests of the log begin like this. */
unsigned count_writes(const struct world *w, const char *begins);

/* A number of the binder's: "retroactive_storageclass_total"; -1 when there is none. */
double number_of(const struct world *w, const char *line);

/* --- What no server would let in --- */

struct plant {
    struct store_write write;
    bool is_done;
};

/* An object of an older server, or of a kinder one: straight into the store. Its text needs everything but
 * the version. */
void plant(struct world *w, enum kind kind, const char *text);

#endif

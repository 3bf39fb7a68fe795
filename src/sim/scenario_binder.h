/* The binder's scenario: what its files share. */
#ifndef BERTH_SIM_SCENARIO_BINDER_H
#define BERTH_SIM_SCENARIO_BINDER_H

#include "api/claim.h"
#include "api/class.h"
#include "api/volume.h"
#include "sim/objects.h"
#include "sim/sim_binder.h"

#define STORAGES_MAX 512
#define MADE_MAX 256
#define ARRIVALS_MAX 16
/* A class that claims and volumes name, and that nobody ever makes. */
#define CLASS_NEVER "never"

/* What is behind a volume, by the volume's uid. */
struct storage {
    char uid[64];
    char data[64];     /* the uid of the claim that used it; "" when it is empty */
    bool is_freed;     /* somebody decided that its data does not matter */
    bool is_unwanted;  /* somebody deleted the volume */
    bool is_begun;     /* its removal, or its emptying */
    bool is_kept_late; /* somebody wanted it kept after all when that was under way */
};

/* When a claim of CLASS_NEVER was made. */
struct arrival {
    char uid[64];
    uint64_t at_ns;
};

struct binder_world {
    struct sim *sim;
    struct sim_process *binders[2];
    unsigned binders_count;
    struct store_watcher watcher;
    struct storage storages[STORAGES_MAX];
    unsigned storages_count;
    char made[MADE_MAX][64]; /* volumes whose storage was provisioned, by name */
    unsigned made_count;
    struct arrival arrivals[ARRIVALS_MAX]; /* the last ones, in turn */
    unsigned arrivals_count;
    bool is_moving_day;    /* claims come and go in haste, and storage is in trouble */
    char released[64];     /* the uid of a volume that somebody wants to keep after all; "" */
    uint64_t protected_ns; /* when protection last let something go */
};

/* Of a volume, made when it is not there. */
struct storage *storage_of(struct binder_world *x, const char *uid);

/* NULL when there is none. */
const struct claim *world_claim_by_uid(const struct binder_world *x, const char *uid);
const struct volume *world_volume_by_uid(const struct binder_world *x, const char *uid);

/* Calls fn for each object of a kind, in the order of names, until it says no: false then. */
typedef bool world_fn(struct binder_world *x, const struct object *o, void *ctx);
bool world_each(struct binder_world *x, enum kind k, world_fn *fn, void *ctx);

/* The claim is there and the volume is its own, or may become so. */
bool world_is_in_use(const struct binder_world *x, const struct volume *v);

/* binder_people.c: somebody changes something. */
void binder_workload_begin(struct binder_world *x);
void binder_workload_work(struct binder_world *x);
/* Somebody thinks better of the volume that has just been released. */
void binder_workload_keep(struct binder_world *x);
/* What is going and not in use is let go, one at a time. */
void binder_workload_protect(struct binder_world *x);

#endif

/* Scenario binder: what its files share. */
#ifndef BERTH_SIM_SCENARIO_BINDER_H
#define BERTH_SIM_SCENARIO_BINDER_H

#include "api/claim.h"
#include "api/class.h"
#include "api/volume.h"
#include "sim/objects.h"
#include "sim/sim_binder.h"

#define STORAGES_MAX 512
#define PROVISIONED_MAX 256
#define ARRIVALS_MAX 16
/* A class that claims and volumes name, and that is never created. */
#define CLASS_NEVER "never"

/* The storage of a volume, by the uid of the volume. */
struct binder_storage {
    char uid[64];
    char data[64];           /* the uid of the claim that wrote it; "": empty */
    bool is_data_discarded;  /* the administrator has made the volume available with its data */
    bool is_deleted_by_user; /* the workload has deleted the volume */
    bool is_reclaim_begun;   /* its removal or recycling has started */
    bool is_retained_late;   /* its policy became Retain when that had started */
};

/* When a claim of CLASS_NEVER was created. */
struct claim_arrival {
    char uid[64];
    uint64_t at_ns;
};

struct binder_scenario {
    struct sim *sim;
    struct sim_process *binders[2];
    unsigned binders_count;
    struct store_watcher watcher;
    struct binder_storage storages[STORAGES_MAX];
    unsigned storages_count;
    char provisioned[PROVISIONED_MAX][64]; /* volumes whose storage was provisioned, by name */
    unsigned provisioned_count;
    struct claim_arrival arrivals[ARRIVALS_MAX]; /* a ring of the last ones */
    unsigned arrivals_count;
    bool has_quick_changes; /* claims are created and deleted quickly, and the host is unreliable */
    char retain_uid[64];    /* a volume that was just released and gets the policy Retain; "": none */
    uint64_t protected_ns;  /* when a finalizer was last removed */
};

/* The storage of a volume, created on first use. */
struct binder_storage *binder_scenario_storage(struct binder_scenario *scenario, const char *uid);

/* NULL: there is none. */
const struct claim *binder_scenario_find_claim(const struct binder_scenario *scenario, const char *uid);
const struct volume *binder_scenario_find_volume(const struct binder_scenario *scenario, const char *uid);

/* Calls fn for each stored object of a kind, ordered by name, until it returns false; false in this case. */
typedef bool binder_scenario_fn(struct binder_scenario *scenario, const struct object *o, void *ctx);
bool binder_scenario_each(struct binder_scenario *scenario, enum kind k, binder_scenario_fn *fn, void *ctx);

/* True if the claim of the volume exists, and has this volume or none yet. */
bool binder_scenario_is_in_use(const struct binder_scenario *scenario, const struct volume *v);

/* --- binder_workload.c --- */

void binder_workload_begin(struct binder_scenario *scenario);
void binder_workload_work(struct binder_scenario *scenario);
/* Sets the policy Retain for the volume that was just released, if one was chosen. */
void binder_workload_retain(struct binder_scenario *scenario);
/* Acts as the protection controllers: removes the finalizer of a deleted object that is not in use, one at a
 * time. */
void binder_workload_protect(struct binder_scenario *scenario);

#endif

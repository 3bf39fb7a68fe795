/* What every component of a process gets, and what several components share.
 *
 * The lifecycle of a component X is always the same:
 *
 *   X_new()    before informers_start(): requests the caches and indexes that it reads
 *   X_start()  when the caches are synced and, with leader election, the lease is held: starts work
 *   X_free()   at any time, except from inside its own callbacks: sends nothing more and calls no callback;
 *              requests that were sent may still take effect. The informers are freed after it.
 *
 * A component that comes and goes while the process runs (a controller of a CSI driver) is created with
 * synced informers; another one has requested its caches and indexes before.
 *
 * The client's gate (client_set_gate()) blocks writes without the lease, so components do not check
 * leadership. */
#ifndef BERTH_MACHINERY_COMPONENT_DEPS_H
#define BERTH_MACHINERY_COMPONENT_DEPS_H

#include <stdint.h>

#include "api/claim.h"
#include "api/object.h"
#include "base/clock.h"
#include "base/error.h"
#include "client/client.h"
#include "io/loop.h"
#include "machinery/controller.h"
#include "machinery/informer.h"
#include "machinery/metrics.h"
#include "machinery/recorder.h"
#include "machinery/server_version.h"

struct component_deps {
    struct loop *loop;
    const struct clock *clock;
    struct client *client;
    struct informers *informers; /* not started yet */
    struct metrics *metrics;     /* NULL: not counted */
    uint64_t seed;               /* for delays and hash tables; secret, because names come from outside */
    bool is_local;               /* the server is in this process */
    struct server_version server;
};

/* A seed for this name, independent of which other components run. */
uint64_t component_seed(const struct component_deps *o, const char *name);

/* A recorder for events of a component, such as "persistentvolume-controller". Borrowed. */
int component_recorder(const struct component_deps *o, const char *component, struct recorder **ret,
                       struct error *err);

/* The writer of a component, for a field manager (a literal). Its retries are counted. */
int component_api(const struct component_deps *o, const char *manager, struct api *ret, struct error *err);

/* --- Caches with indexes --- */

/* The informer of a kind with this index, which this or another component adds: an index name means the same
 * index everywhere. NULL without memory. */
struct informer *component_indexed(struct informers *all, enum kind k, const struct informer_index *index,
                                   struct error *err);

/* Pods by the keys, "namespace/name", of the claims that they use. The claims need not exist. */
#define PODS_BY_CLAIM "claim"
struct informer *component_pods(struct informers *all, struct error *err);

/* Adds the object's key to the queue. A key longer than the server allows is ignored. */
void component_add(struct controller *c, const struct object *o);

/* --- Parts of request bodies --- */

/* Members of a PersistentVolume's JSON (api/json_out.h). */

/* spec.claimRef of a volume that is reserved for this claim. */
void claim_ref_write(struct buf *out, const struct claim *c);
/* The start of a new volume up to its name; the caller closes metadata and the object. */
void volume_write_begin(struct buf *out, const char *name);
/* Removes the selected node of a claim that cannot be provisioned there, so that the scheduler selects
 * another. */
api_decide_fn component_decide_no_node;
/* spec.persistentVolumeReclaimPolicy and spec.storageClassName. */
void volume_write_class(struct buf *out, const char *class, enum reclaim_policy policy);

/* --- Shared metrics --- */

/* Registers storage_operation_duration_seconds with the labels volume_plugin, operation_name, status and
 * migrated. */
int component_operation_seconds(struct metrics *m, struct metric_family **ret, struct error *err);
#define PART_SUCCESS "success"
#define PART_FAILURE "fail-unknown"

#endif

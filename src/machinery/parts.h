/* What every controller of a process is handed, and what several of them share.
 *
 * The life of a part X is the same for all of them:
 *
 *   X_new()    before informers_start(): asks for the caches and indexes that it reads
 *   X_start()  once the caches are synced, and where there is an election, won: work begins
 *   X_free()   at any moment but from inside its own callbacks: sends nothing, tells nobody anything; what
 *              was sent may still take effect. The informers go after it.
 *
 * Writes are held back by the client's gate (client_set_gate()): a part does not ask whether it leads. */
#ifndef BERTH_MACHINERY_PARTS_H
#define BERTH_MACHINERY_PARTS_H

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

struct part_options {
    struct loop *loop;
    const struct clock *clock;
    struct client *client;
    struct informers *informers; /* not started yet */
    struct metrics *metrics;     /* NULL: nothing is counted */
    uint64_t seed;               /* of delays and tables: secret, names come from outside */
    bool is_local;               /* the server is in this process */
    struct server_version server;
};

/* A seed of its own for whatever has that name: which other parts run changes nothing for it. */
uint64_t part_seed(const struct part_options *o, const char *name);

/* Events in the name of a component: "persistentvolume-controller". Borrowed. */
int part_recorder(const struct part_options *o, const char *component, struct recorder **ret,
                  struct error *err);

/* How the part writes, in the name of a field manager, a literal. Its conflicts are counted. */
int part_api(const struct part_options *o, const char *manager, struct api *ret, struct error *err);

/* --- Caches with indexes --- */

/* The kind's informer with this index, asked for here or by another part before: an index of that name is
 * the same one everywhere. NULL without memory. */
struct informer *part_indexed(struct informers *all, enum kind k, const struct informer_index *index,
                              struct error *err);

/* Pods by the claims that they use: keys, "namespace/name", of claims that are there or not. */
#define PODS_BY_CLAIM "claim"
struct informer *part_pods(struct informers *all, struct error *err);

/* The object's key is to be looked at. One longer than any server's names allow is passed over. */
void part_add(struct controller *c, const struct object *o);

/* --- What several parts write --- */

/* Members of a PersistentVolume's JSON (api/json_out.h). */

/* spec.claimRef of a volume that is to be this claim's. */
void claim_ref_write(struct buf *out, const struct claim *c);
/* The beginning of a new volume, up to its name: the caller ends metadata and the object. */
void volume_write_begin(struct buf *out, const char *name);
/* spec.capacity; a claim's status has the same member. */
void volume_write_capacity(struct buf *out, const struct quantity *size);
/* spec.persistentVolumeReclaimPolicy and spec.storageClassName. */
void volume_write_class(struct buf *out, const char *class, enum reclaim_policy policy);

/* --- Numbers of several parts --- */

/* storage_operation_duration_seconds: volume_plugin, operation_name, status, migrated. */
int part_operation_seconds(struct metrics *m, struct metric_family **ret, struct error *err);
#define PART_SUCCESS "success"
#define PART_FAILURE "fail-unknown"

#endif

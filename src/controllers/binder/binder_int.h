/* Internals of the binder. */
#ifndef BERTH_CONTROLLERS_BINDER_BINDER_INT_H
#define BERTH_CONTROLLERS_BINDER_BINDER_INT_H

#include <sys/queue.h>

#include "base/map.h"
#include "base/vec.h"
#include "controllers/binder/binder.h"
#include "controllers/binder/decide.h"
#include "controllers/binder/waiting.h"
#include "controllers/binder/work_key.h"
#include "machinery/controller.h"
#include "machinery/merge_patch.h"
#include "machinery/pending_operations.h"
#include "volumes/index.h"
#include "volumes/match.h"

#define BINDER_FIELD_MANAGER "berth-binder"
#define BINDER_BODY_BYTES_MAX ((size_t)1 << 20)

struct binder_metrics;

TAILQ_HEAD(binder_op_list, binder_op);

struct binder {
    struct binder_options o;
    struct informer *volumes;
    struct informer *claims;
    struct informer *classes;
    struct informer *pods;
    struct informer *nodes;
    struct informer_handler handlers[5];
    struct recorder *recorder;
    struct api api;
    struct controller *queues[BINDER_QUEUE_COUNT];
    struct operations *operations;
    struct volume_index *index;
    uint64_t checked_changes; /* of the index, at the last successful binder_check() */
    struct waiting_claims *waiting;
    struct binder_metrics *metrics;
    struct map states; /* "c/ns/name", "v/name" -> struct key_state */
    struct binder_op_list ops;
    struct json doc; /* scratch, for one function at a time */
    struct timer sweep;
    uint64_t new_until_ns; /* for claims of the first list */
    bool is_started;
};

/* --- Keys (binder.c) --- */

static inline struct binder_key claim_key(struct str key)
{
    return (struct binder_key){ BINDER_CLAIMS, key };
}

static inline struct binder_key volume_key(const char *name)
{
    return (struct binder_key){ BINDER_VOLUMES, str_of(name) };
}

void binder_add(struct binder *b, enum binder_queue q, struct str key);
void binder_add_claim(struct binder *b, const char *ns, const char *name);
void binder_add_volume(struct binder *b, const char *name);
const struct claim *binder_claim(const struct binder *b, const char *ns, const char *name);
const struct volume *binder_volume(const struct binder *b, const char *name);
/* NULL if it does not exist. */
const struct storage_class *binder_class(const struct binder *b, const char *name);

/* Requeues one waiting claim that the volume fits, if the volume is free and not held. */
void binder_offer(struct binder *b, const char *volume);
/* True if a claim with a completed binding names the volume. */
bool binder_has_bound_claim(const struct binder *b, const char *volume);
/* Updates in the index whether the volume counts as free before it is Available: its phase is still the first
 * one, and no bound claim names it. So no volume is provisioned for a claim, and no claim reports that
 * nothing matches, only because the write of phase Available has not happened yet. */
void binder_expect(struct binder *b, const char *volume);
/* Records that the volume was offered to the claim, or selected for it without success: if the claim takes
 * another volume, this one is offered to the next claim. */
void binder_remember(struct binder *b, struct binder_key claim, const char *volume);
/* The same for a volume with a write in flight: holds it for the claim, which waits for that write, until the
 * next sync of the claim. False if it is held for another claim, or without memory. */
bool binder_assume(struct binder *b, struct binder_key claim, const char *volume, const char *claim_uid);
/* Ends that hold. */
void binder_unassume(struct binder *b, struct binder_key claim);

/* Until when a missing class is awaited for the claim: see DECIDE_CLASS_WAIT_NS. */
uint64_t binder_new_until_ns(const struct binder *b, const struct claim *c);

/* State of a key that is not in its object. */
struct key_state {
    uint64_t event_at_ns; /* of the last recorded event … */
    uint64_t event_hash;  /* … and a hash of its text */
    char *offered;        /* volume that was offered to the claim; NULL: none. Owned. */
    char *
        assumed_for; /* uid that the offered volume is held for until the next sync; NULL: not held. Owned. */
    char *failure;   /* why the last sync failed; NULL: it did not. Owned. */
    char *reclaimed; /* uid of a volume whose storage and object were deleted; NULL. Owned. */
    bool waits_for_operation; /* requeued when the operation may be started */
    uint64_t new_until_ns;    /* of a claim whose class did not exist when it was created; 0: other claims */
    char key[];
};
struct key_state *binder_state(struct binder *b, struct binder_key k);
/* NULL if there is no state. */
struct key_state *binder_find_state(const struct binder *b, struct binder_key k);
void binder_forget(struct binder *b, struct binder_key k);
/* Stores why the sync of the key failed, for explanations; NULL: it succeeded. */
void binder_note_failure(struct binder *b, struct binder_key k, const char *words);

/* Records an event about a waiting object, unless the same was recorded in the last five minutes. True if it
 * was recorded. */
bool binder_record_event(struct binder *b, struct binder_key k, const struct object *o, enum event_type type,
                         const char *reason, const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* --- Writing (binder.c). A sync is one turn of a key: machinery/controller.h --- */

/* Patches a claim or volume as read; decide() gets `what`. False if a write of the object is in flight: then
 * nothing is sent, and the key is requeued when that write ends. */
bool binder_patch(struct sync *s, const struct object *o, const char *subresource, api_decide_fn *decide,
                  const void *what, enum api_step step, sync_then_fn *then, const void *arg);
/* The cache of claims or of volumes. */
struct informer *binder_informer(const struct binder *b, const struct object *o);
/* Logs that the object was deleted and there is nothing to do. */
void binder_log_deleted(struct binder_key k);

/* --- Deciding --- */

enum sync_result sync_claim(struct binder *b, struct str key);
enum sync_result sync_volume(struct binder *b, struct str key);

/* migrate.c: correct annotations and finalizers before anything else; true if a write was started. */
bool migrate_claim(struct sync *s, const struct claim *c);
bool migrate_volume(struct sync *s, const struct volume *v);

/* bind_pair.c */
/* Starts the next of the writes that bind them. */
void bind_steps(struct sync *s, const struct volume *v, const struct claim *c);
/* The same, and ends the sync. */
enum sync_result bind_pair(struct sync *s, const struct volume *v, const struct claim *c);
void unbind_volume(struct sync *s, const struct volume *v);
/* Writes the patch of unbind_volume(), except for its end. */
api_decide_fn decide_unbind;

/* status.c: write what differs; true if a write was started. */
bool set_volume_phase(struct sync *s, const struct volume *v, enum volume_phase phase, const char *message,
                      sync_then_fn *then, const void *arg);
/* v NULL: a claim without a volume. */
void set_claim_status(struct sync *s, const struct claim *c, enum claim_phase phase, const struct volume *v,
                      sync_then_fn *then, const void *arg);

/* binder_provision.c, reclaim.c */
/* d is one of the steps about provisioning, or the reason why there is no provisioner. */
void provision_claim(struct sync *s, const struct claim *c, const struct claim_decision *d);
void reclaim_volume(struct sync *s, const struct volume *v);
/* The storage is being deleted, or is deleted. */
bool reclaim_has_begun(const struct binder *b, const struct volume *v);
void provision_forget(struct binder *b, struct str key);

#endif

/* What the binder's files share. */
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
    uint64_t checked_changes; /* of the index, when binder_check() last found it in order */
    struct waiting_claims *waiting;
    struct binder_metrics *metrics;
    struct map states; /* "c/ns/name", "v/name" -> struct key_state */
    struct binder_op_list ops;
    struct json doc; /* scratch, for one function at a time */
    struct timer sweep;
    uint64_t new_until_ns; /* of claims that were there at the start */
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
/* NULL when there is none. */
const struct storage_class *binder_class(const struct binder *b, const char *name);

/* If the volume is free and not held, one claim that waits and that it fits is requeued. */
void binder_offer(struct binder *b, const char *volume);
/* A claim that was bound names the volume. */
bool binder_has_bound_claim(const struct binder *b, const char *volume);
/* Tells the index whether the volume counts as free before it is Available: its phase is the first one, and
 * no claim that was bound names it. So no claim is provisioned for, or told that nothing fits, because the
 * write of Available has yet to be made. */
void binder_expect(struct binder *b, const char *volume);
/* The volume was offered to the claim, or chosen for it in vain: when the claim takes another, the volume is
 * offered to the next. */
void binder_remember(struct binder *b, struct binder_key claim, const char *volume);
/* The same for a volume with a write in flight: it is held for the claim, which waits for that write, until
 * the claim is synced again. False when it is held for another or there is no memory. */
bool binder_assume(struct binder *b, struct binder_key claim, const char *volume, const char *claim_uid);
/* Ends that hold. */
void binder_unassume(struct binder *b, struct binder_key claim);

/* Until when the claim counts as new: see DECIDE_CLASS_WAIT_NS. */
uint64_t binder_new_until_ns(const struct binder *b, const struct claim *c);

/* What is remembered of a key beyond its objects. */
struct key_state {
    uint64_t event_at_ns;     /* when an event was last told … */
    uint64_t event_hash;      /* … and a hash of its words */
    char *offered;            /* the volume that a claim was to have; NULL: none. Owned. */
    char *assumed_for;        /* the uid that it is held for until the next sync; NULL: not held. Owned. */
    char *failure;            /* why the last sync failed; NULL: it did not. Owned. */
    char *reclaimed;          /* the uid of a volume whose storage and object were deleted; NULL. Owned. */
    bool waits_for_operation; /* comes again when that is over */
    uint64_t new_until_ns;    /* of a claim whose class was not there when it came; 0 for others */
    char key[];
};
struct key_state *binder_state(struct binder *b, struct binder_key k);
/* NULL when nothing is remembered. */
struct key_state *binder_find_state(const struct binder *b, struct binder_key k);
void binder_forget(struct binder *b, struct binder_key k);
/* What the key's sync failed with, for explanations; NULL: it went well. */
void binder_note_failure(struct binder *b, struct binder_key k, const char *words);

/* An event about an object that waits: again only when its words change, or after five minutes. True when it
 * was told. */
bool binder_record_event(struct binder *b, struct binder_key k, const struct object *o, enum event_type type,
                         const char *reason, const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* --- Writing (binder.c). A sync is one turn of a key: machinery/controller.h --- */

/* A patch of a claim or volume as it was read, written by decide(what). Where the object is being written
 * already nothing is sent, and the key comes again when that write has ended: false. */
bool binder_patch(struct sync *s, const struct object *o, const char *subresource, api_decide_fn *decide,
                  const void *what, enum api_step step, sync_then_fn *then, const void *arg);
/* The cache of claims or volumes. */
struct informer *binder_informer(const struct binder *b, const struct object *o);
/* Why nothing is done for an object that is gone, for the log. */
void binder_log_deleted(struct binder_key k);

/* --- Deciding --- */

enum sync_result sync_claim(struct binder *b, struct str key);
enum sync_result sync_volume(struct binder *b, struct str key);

/* migrate.c: annotations and finalizers that must be right before anything else; true when a write was begun.
 */
bool migrate_claim(struct sync *s, const struct claim *c);
bool migrate_volume(struct sync *s, const struct volume *v);

/* bind.c */
/* The next of the writes that bind them. */
void bind_steps(struct sync *s, const struct volume *v, const struct claim *c);
/* The same, and the sync's end. */
enum sync_result bind_pair(struct sync *s, const struct volume *v, const struct claim *c);
void unbind_volume(struct sync *s, const struct volume *v);
/* The patch that unbind_volume() sends, but for its end. */
api_decide_fn decide_unbind;

/* status.c: each writes what differs, and nothing when nothing does; true when a write was begun. */
bool set_volume_phase(struct sync *s, const struct volume *v, enum volume_phase phase, const char *message,
                      sync_then_fn *then, const void *arg);
/* v NULL: a claim without a volume. */
void set_claim_status(struct sync *s, const struct claim *c, enum claim_phase phase, const struct volume *v,
                      sync_then_fn *then, const void *arg);

/* provision.c, reclaim.c */
/* d is one of those that provision, or say why nobody does. */
void provision_claim(struct sync *s, const struct claim *c, const struct claim_decision *d);
void reclaim_volume(struct sync *s, const struct volume *v);
/* Its storage is being deleted, or is gone. */
bool reclaim_has_begun(const struct binder *b, const struct volume *v);
void provision_forget(struct binder *b, struct str key);

#endif

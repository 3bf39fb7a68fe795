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
struct round;

TAILQ_HEAD(round_list, round);
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
    struct controller *queues[BINDER_QUEUE_COUNT];
    struct operations *operations;
    struct volume_index *index;
    struct waiting *waiting;
    struct binder_metrics *metrics;
    struct map states;  /* "c/ns/name", "v/name" -> struct key_state */
    struct map writing; /* the same -> struct step: writes under way */
    struct round_list rounds;
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
bool binder_is_missed(const struct binder *b, const char *volume);
/* Tells the index whether the volume counts as free before it is Available: its phase is the first one, and
 * no claim that was bound names it. So no claim is provisioned for, or told that nothing fits, because the
 * write of Available has yet to be made. */
void binder_expect(struct binder *b, const char *volume);
/* The volume was offered to the claim, or chosen for it in vain: when the claim takes another, the volume is
 * offered to the next. */
void binder_remember(struct binder *b, struct binder_key claim, const char *volume);
/* The same for a volume with a write in flight: it is held for the claim, which waits for that write, until
 * the claim is synced again. False when it is held for another or there is no memory. */
bool binder_promise(struct binder *b, struct binder_key claim, const char *volume, const char *claim_uid);
/* Ends that hold. */
void binder_end_promise(struct binder *b, struct binder_key claim);

/* Until when the claim counts as new: see DECIDE_CLASS_WAIT_NS. */
uint64_t binder_new_until_ns(const struct binder *b, const struct claim *c);

/* What is remembered of a key beyond its objects. */
struct key_state {
    unsigned conflicts;       /* in a row */
    uint64_t told_ns;         /* when an event was last told … */
    uint64_t told;            /* … and a hash of its words */
    const char *offered;      /* the volume that a claim was to have; NULL: none. Owned. */
    const char *promised_to;  /* the uid that it is held for until the next sync; NULL: not held. Owned. */
    const char *failure;      /* why the last round failed; NULL: it did not. Owned. */
    const char *reclaimed;    /* the uid of a volume whose storage and object were deleted; NULL. Owned. */
    bool waits_for_operation; /* comes again when that is over */
    uint64_t new_until_ns;    /* of a claim whose class was not there when it came; 0 for others */
    char key[];
};
struct key_state *binder_state(struct binder *b, struct binder_key k);
/* NULL when nothing is remembered. */
struct key_state *binder_find_state(const struct binder *b, struct binder_key k);
void binder_forget(struct binder *b, struct binder_key k);
/* What the key's round failed with, for explanations; NULL: it went well. */
void binder_note_failure(struct binder *b, struct binder_key k, const char *words);

/* An event about an object that waits: again only when its words change, or after five minutes. True when it
 * was told. */
bool binder_tell(struct binder *b, struct binder_key k, const struct object *o, enum event_type type,
                 const char *reason, const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* --- Rounds (round.c): the requests of one sync --- */

struct step;
/* Before the round goes on; a->r < 0 has been seen to unless this takes it: true. */
typedef void step_then_fn(struct binder *b, const struct step *s, const struct client_answer *a);

/* A key that comes again when the step has ended. */
struct step_waiter;

struct step {
    TAILQ_ENTRY(step) link;
    struct round *round;
    struct client_call call;
    struct object *target; /* what it was built on; NULL for a get */
    step_then_fn *then;    /* NULL: nothing */
    void *ctx;
    const char *label;                 /* for metrics and logs: "claim-ref" */
    struct str lock;                   /* its key in binder->writing */
    TAILQ_HEAD(, step_waiter) waiters; /* in the order in which they came … */
    struct map waiting;                /* … and by key: each is there once */
    bool is_get;
};

/* A sync begins requests in a round and returns round_end(): SYNC_LATER while any is under way. When the last
 * has ended the key is done, and comes again at once when something was written, after its delay when
 * something failed. A conflict reads the object anew and comes again at once, a few times. */
struct round *round_begin(struct binder *b, struct binder_key k);
enum sync_result round_end(struct round *r);
/* A patch of o with its preconditions; the body is p's, complete. Where the object is being written already
 * nothing is sent: the key comes again when that write has ended. */
void round_patch(struct round *r, const struct object *o, const char *subresource, const struct buf *body,
                 const char *label, step_then_fn *then, void *ctx);
/* An object as the server has it; then is told whatever comes, and decides. */
void round_get(struct round *r, enum kind k, const char *ns, const char *name, step_then_fn *then, void *ctx);
/* If the object is being written, the key comes again when that has ended: true. */
bool round_await_writer(struct round *r, const struct object *o);
void rounds_free(struct binder *b);
/* An object of ours is being written. */
bool binder_is_writing(const struct binder *b, struct binder_key k);
/* Why nothing is written for the object, should that be so: for the log. A literal; the last one counts. */
void round_rest(struct round *r, const char *reason);
/* The same for an object that is gone: there is no round. */
void binder_log_gone(struct binder_key k);
/* Something is wrong that no request showed: the key comes again after its delay. */
void round_fail(struct round *r);
struct binder *round_binder(const struct round *r);
/* The key, NUL-terminated. */
const char *round_name(const struct round *r);
/* A copy that lives as long as the round. */
void *round_keep(struct round *r, const char *text);

/* --- Deciding --- */

enum sync_result sync_claim(struct binder *b, struct str key);
enum sync_result sync_volume(struct binder *b, struct str key);

/* migrate.c: annotations and finalizers that must be right before anything else; true when a write was begun.
 */
bool migrate_claim(struct round *r, const struct claim *c);
bool migrate_volume(struct round *r, const struct volume *v);

/* bind.c */
/* The next of the writes that bind them. */
void bind_steps(struct round *r, const struct volume *v, const struct claim *c);
/* The same, and the round's end. */
enum sync_result bind_pair(struct round *r, const struct volume *v, const struct claim *c);
void unbind_volume(struct round *r, const struct volume *v);
/* The patch that unbind_volume() sends. */
int unbind_write(const struct volume *v, struct buf *out, struct error *err);

/* status.c: each writes what differs, and nothing when nothing does; true when a write was begun. */
bool set_volume_phase(struct round *r, const struct volume *v, enum volume_phase phase, const char *message,
                      step_then_fn *then, void *ctx);
/* v NULL: a claim without a volume. */
bool set_claim_status(struct round *r, const struct claim *c, enum claim_phase phase, const struct volume *v,
                      step_then_fn *then, void *ctx);

/* provision.c, reclaim.c */
/* d is one of those that provision, or say why nobody does. */
void provision_claim(struct round *r, const struct claim *c, const struct claim_decision *d);
void reclaim_volume(struct round *r, const struct volume *v);
/* Its storage is being deleted, or is gone. */
bool reclaim_has_begun(const struct binder *b, const struct volume *v);
void binder_ops_free(struct binder *b);
void provision_forget(struct binder *b, struct str key);

#endif

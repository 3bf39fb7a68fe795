/* API writes: the only way to write to the API server, with a result that tells the owner how to continue.
 *
 *     decide  →  api_write_start()  →  done(outcome, answer)
 *
 * The owner embeds struct api_write. There is one write at a time; done() is called once, from the loop,
 * never from inside api_write_start(), and not after a cancel. The write is based on the object as its owner
 * read it, or on a name; a write by name reads the object from the server first, because caches may be stale.
 *
 *   patch      decide() writes it from the given object: as read, or as the server has it now. The body
 *              carries the uid and, except for fields that only its owner writes, the version of that
 *              object (merge_patch.h).
 *   create     sends first, under a name that the owner can compute again: no generateName.
 *   delete     of the object with that uid; with `is_exact` only of that version.
 *   get, list  before an irreversible step: a missing cache entry proves nothing.
 *
 * After a CONFLICT (the object has changed) or an UNCERTAIN outcome (the write may have taken effect) the
 * object is read again, and the informer gets it, before done() is called. With a patience other than
 * API_ONCE, decide() is called again, a limited number of times. Writes of one object through one client are
 * serialized. A patch of an object as read that had to wait ends as a CONFLICT without a request (http_status
 * 0), because its base has changed; except for a body with `is_any_version`. */
#ifndef BERTH_MACHINERY_API_WRITE_H
#define BERTH_MACHINERY_API_WRITE_H

#include "api/object.h"
#include "base/buf.h"
#include "base/rng.h"
#include "client/client.h"
#include "io/loop.h"

struct informer;
struct metric_family;
struct metrics;

#define WRITE_BODY_BYTES_MAX ((size_t)3 << 20)
/* The error of a CONFLICT without a request. */
#define API_LATE_MESSAGE "superseded by another write of the object"

enum api_outcome {
    API_DONE, /* written, or read */
    /* nothing had to be changed; of a delete: the object is gone, being deleted, or replaced */
    API_ALREADY,
    API_CONFLICT,  /* the object has changed; the answer has its current state, if it could be read */
    API_UNCERTAIN, /* may have taken effect; the answer has the object's current state, if it could be read */
    API_REFUSED,   /* not written; the answer has the reason: ERR_NOT_FOUND, ERR_EXISTS, ERR_DENIED, … */
    API_OUTCOME_COUNT,
};

/* The object is in the state that its owner wants. */
static inline bool api_write_succeeded(enum api_outcome outcome)
{
    return outcome == API_DONE || outcome == API_ALREADY;
}

/* The purpose of a write: a label of the metrics of conflicts and retries. */
enum api_step {
    API_STEP_OTHER,
    API_STEP_ATTACHMENT,
    API_STEP_CAPACITY,
    API_STEP_CLAIM_CLASS,
    API_STEP_CLAIM_REF,
    API_STEP_CLAIM_STATUS,
    API_STEP_CLAIM_VOLUME,
    API_STEP_CONDITION,
    API_STEP_CSI_NODE,
    API_STEP_DISK,
    API_STEP_FINALIZER,
    API_STEP_LEASE,
    API_STEP_MIGRATE,
    API_STEP_NODE,
    API_STEP_NODE_STATUS,
    API_STEP_PROVISIONER,
    API_STEP_RESIZE,
    API_STEP_SELECTED_NODE,
    API_STEP_SNAPSHOT,
    API_STEP_TAINT,
    API_STEP_UNBIND,
    API_STEP_VOLUME_STATUS,
    API_STEP_COUNT,
};
extern const char *const api_step_names[];

/* How often a write is retried, and with which delays. */
enum api_patience {
    API_ONCE,     /* the owner decides again */
    API_FEW_FAST, /* 5 tries, 10 ms apart ±10 %: for short races with one other writer */
    API_BACKOFF,  /* 4 tries after 10, 50 and 250 ms: for races with many writers */
    API_PATIENCE_COUNT,
};

enum api_decision {
    API_SEND,     /* send the body */
    API_AS_IT_IS, /* nothing to change: API_ALREADY */
    API_REFUSE,   /* err has the reason: API_REFUSED */
};

/* Writes the body from the current object, NULL if it does not exist. For a patch `now` is never NULL (a
 * missing object is ERR_NOT_FOUND), and the body starts with its preconditions: merge_patch_begin(). Must not
 * touch the write. For a patch of an object as read it is called from inside api_write_start(), and with
 * API_ONCE only there, so that decide_ctx may be on the caller's stack. */
typedef enum api_decision api_decide_fn(void *ctx, const struct object *now, struct buf *body,
                                        struct error *err);
/* The decision for the result of merge_patch_end(). */
static inline enum api_decision api_decision_of(int r)
{
    return r < 0 ? API_REFUSE : API_SEND;
}

/* The answer is valid during the callback, which may start the write again or free its owner. For DONE and
 * ALREADY r is 0. */
typedef void api_done_fn(void *ctx, enum api_outcome outcome, const struct client_answer *a);

/* Why a write has to be decided again, here or by its owner. */
enum api_cause {
    API_CAUSE_CONFLICT,  /* another process changed or created the object */
    API_CAUSE_UNCERTAIN, /* no answer says whether the write took effect */
    API_CAUSE_LATE,      /* another write of this process was in flight */
    API_CAUSE_COUNT,
};

/* How a component writes. */
struct api {
    struct client *client;
    struct loop *loop;
    const char *manager;             /* field manager, a literal; NULL for none */
    struct rng *rng;                 /* for delays; NULL if all writes are API_ONCE */
    struct metric_family *conflicts; /* NULL: not counted */
    struct metric_family *retries;
};
/* Registers berth_write_conflicts_total and berth_write_retries_total, which all components of a process
 * share (machinery/component_deps.h). */
int api_count(struct api *a, struct metrics *m, struct error *err);

struct api_write_options {
    struct api api;
    /* Verb, kind, ns and name, subresource, patch type, deadline … With `object`, kind, ns and name are taken
     * from it. Texts are copied; with `object` they must be literals. */
    struct client_request request;
    const struct object *object; /* as read, for a patch or a delete; NULL: by name */
    struct str body;             /* of a create that depends on nothing; empty: decide() writes it */
    enum err failed;             /* building the body failed: reported like a refusal of the server */
    api_decide_fn *decide;       /* of every patch; NULL: with a body, a delete or a read */
    const void *decide_ctx;      /* the ctx of decide(), const or not; NULL: ctx */
    enum api_patience patience;
    enum api_step step;
    bool is_exact; /* of a delete of an object: only this version */
    /* the body is valid for any version of the object: it waits for other writes */
    bool is_any_version;
    struct informer *informer; /* gets every object in an answer; NULL: none */
    api_done_fn *done;
    void *ctx;
};

struct api_flight;

/* Zeroed before its first use; must not move while a write is active. Memory for a request is allocated at
 * its start and released before done() is called. */
struct api_write {
    struct api_flight *flight; /* NULL: idle, or no memory */
    api_done_fn *done;         /* NULL: idle */
    void *ctx;
    struct timer timer; /* for the next try */
};

/* The write is idle. */
void api_write_start(struct api_write *w, const struct api_write_options *o);
/* A request that was sent may still take effect. Accepts an idle write. */
void api_write_cancel(struct api_write *w);

static inline bool api_write_is_active(const struct api_write *w)
{
    return w->done != NULL;
}

/* Reads an object from the server. */
void api_read(struct api_write *w, const struct api *api, enum kind k, const char *ns, const char *name,
              api_done_fn *done, void *ctx);

/* True if a write of the object through this client is in flight. */
bool api_is_writing(const struct api *api, const struct object *o);

/* --- Before irreversible steps --- */

/* What a get from the server proves about an object. */
enum api_live {
    LIVE_THERE,
    LIVE_GONE,    /* the server says so, or another object has the name */
    LIVE_UNKNOWN, /* proves nothing: do not act */
};

/* Evaluates the answer to a get of the object with this uid. A missing cache entry proves nothing: storage is
 * deleted and volumes are released only after LIVE_GONE. */
enum api_live api_live_of(const struct client_answer *a, const char *uid);

#endif

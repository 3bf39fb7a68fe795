/* The one way to write to the API: a request, what became of it, and what its owner has to know to go on.
 *
 *     decide  →  api_write_start()  →  done(outcome, answer)
 *
 * A write is embedded by its owner: one at a time, its end told once on the loop, never from inside
 * api_write_start(); cancelled, it is not heard of again. What it is based on is the object as its owner read
 * it, or a name: then the object is read from the server first, since caches may be behind.
 *
 *   patch    of an object as read, its body written by the owner, or by decide() on what is there. The body
 *            always has the uid and, but for what its owner alone writes, the version of that object in it
 *            (merge_patch.h).
 *   create   writes first, under a name that the owner can tell again: no generateName.
 *   delete   of the object with that uid, and of no later version where `is_exact`.
 *   get, list  before something that cannot be undone: "not in the cache" proves nothing.
 *
 * When somebody else was first (CONFLICT), or nobody knows whether it took effect (UNCERTAIN), the object is
 * read again, and the informer hears of it, before the owner does; with a patience other than API_ONCE,
 * decide() is asked again, so many times. Writes of one object through one client wait for one another: one
 * of an object as read that had to wait ends as a CONFLICT that nobody sent (http_status 0), since what it
 * was decided on has changed meanwhile; but for a body that `is_any_version`. */
#ifndef BERTH_MACHINERY_WRITE_H
#define BERTH_MACHINERY_WRITE_H

#include <sys/queue.h>

#include "api/object.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/rng.h"
#include "client/client.h"
#include "io/loop.h"

struct informer;
struct metric_family;
struct metrics;

#define WRITE_BODY_BYTES_MAX ((size_t)3 << 20)
/* Of a CONFLICT that nobody sent. */
#define API_LATE_MESSAGE "another write of the object went before"

enum api_outcome {
    API_DONE,      /* written, or read */
    API_ALREADY,   /* nothing had to be changed; of a delete: it is gone, going, or another has its name */
    API_CONFLICT,  /* somebody else was first; the answer has the object as it is now, if it could be read */
    API_UNCERTAIN, /* may have taken effect; the answer has the object as it is now, if it could be read */
    API_REFUSED, /* not written, and the answer says why, whole: ERR_NOT_FOUND, ERR_EXISTS, ERR_DENIED, … */
    API_OUTCOME_COUNT,
};

/* All is as its owner wants it. */
static inline bool api_went_well(enum api_outcome outcome)
{
    return outcome == API_DONE || outcome == API_ALREADY;
}

/* What a write is for: the label of its conflicts. */
enum api_step {
    API_STEP_OTHER,
    API_STEP_ATTACHMENT,
    API_STEP_CLAIM_CLASS,
    API_STEP_CLAIM_REF,
    API_STEP_CLAIM_STATUS,
    API_STEP_CLAIM_VOLUME,
    API_STEP_CONDITION,
    API_STEP_DISK,
    API_STEP_FINALIZER,
    API_STEP_MIGRATE,
    API_STEP_NODE_STATUS,
    API_STEP_PROVISIONER,
    API_STEP_RESIZE,
    API_STEP_SELECTED_NODE,
    API_STEP_UNBIND,
    API_STEP_VOLUME_STATUS,
    API_STEP_COUNT,
};
extern const char *const api_step_names[];

/* How often, and with what delays between. */
enum api_patience {
    API_ONCE,     /* the owner decides again */
    API_FEW_FAST, /* 5 tries, 10 ms apart give or take a tenth: who races with us is quick */
    API_BACKOFF,  /* 4 tries after 10, 50 and 250 ms: many race */
    API_PATIENCE_COUNT,
};

enum api_verdict {
    API_SEND,     /* the body is written */
    API_AS_IT_IS, /* all is as it should be: API_ALREADY */
    API_REFUSE,   /* the error says why not: API_REFUSED */
};

/* What to write, given what is there now: NULL for nothing. For a patch now is never NULL (its absence is
 * ERR_NOT_FOUND). Must not touch the write. */
typedef enum api_verdict api_decide_fn(void *ctx, const struct object *now, struct buf *body,
                                       struct error *err);

/* The answer lives as long as the callback, which may start the write again or free its owner. Of DONE and
 * ALREADY r is 0. */
typedef void api_done_fn(void *ctx, enum api_outcome outcome, const struct client_answer *a);

/* How a part of the process writes. */
struct api {
    struct client *client;
    struct loop *loop;
    const char *manager;             /* field manager: a literal; NULL for none */
    struct rng *rng;                 /* of delays; NULL where nobody is patient */
    struct metric_family *conflicts; /* NULL: nothing is counted */
};
/* berth_write_conflicts_total, shared by all parts of a process (machinery/parts.h). */
int api_count_conflicts(struct api *a, struct metrics *m, struct error *err);

struct api_write_options {
    struct api api;
    /* Verb, kind, ns and name, subresource, kind of patch, deadline … Of a write with an object, kind, ns and
     * name are the object's. Texts are copied, but those beside an object must be literals. */
    struct client_request request;
    const struct object *object; /* as read: of a patch or a delete; NULL: by name */
    struct str body;             /* of a create, or of a patch of that object; none: decide() writes it */
    enum err failed;             /* writing the body failed: told as any refusal */
    api_decide_fn *decide;       /* NULL: with a body, a delete or a read */
    enum api_patience patience;
    enum api_step step;
    bool is_exact;             /* of a delete of an object: this version alone */
    bool is_any_version;       /* the body holds whatever others have written: it waits for its turn */
    struct informer *informer; /* hears of every object in an answer; NULL: nobody does */
    api_done_fn *done;
    void *ctx; /* of both */
};

/* Zeroed before its first use; must stay where it is until its end. */
struct api_write {
    struct api_write_options o; /* o.api.client NULL: idle */
    struct object *object;      /* what the write under way is based on; NULL: nothing yet */
    struct arena arena;         /* texts of a request by name */
    struct buf body;            /* decide()'s */
    struct client_call call;
    struct timer timer;            /* of the next try */
    struct client_answer *failure; /* of a write that is being looked after; NULL */
    TAILQ_HEAD(, api_write) waiters;
    TAILQ_ENTRY(api_write) link; /* among the waiters of: */
    struct api_write *waits_for;
    unsigned tries; /* writes sent */
    enum err failed;
    bool is_locked;    /* this is the write of the object */
    bool was_late;     /* another write of the object went before */
    bool wants_read;   /* before the next write */
    bool is_uncertain; /* the last one may have taken effect */
    bool had_doubt;    /* one before had left it open: a server that keeps failing is left in peace */
};

/* The write is idle. */
void api_write_start(struct api_write *w, const struct api_write_options *o);
/* What was sent may still take effect. Takes an idle write too. */
void api_write_cancel(struct api_write *w);

static inline bool api_write_is_active(const struct api_write *w)
{
    return w->o.api.client != NULL;
}

/* An object as the server has it. */
void api_read(struct api_write *w, const struct api *api, enum kind k, const char *ns, const char *name,
              api_done_fn *done, void *ctx);

/* Somebody writes the object through this client. */
bool api_is_writing(const struct api *api, const struct object *o);

/* --- Before what cannot be undone --- */

/* What a get from the server proves. */
enum live {
    LIVE_THERE,
    LIVE_GONE,    /* the server says so, or another object has the name now */
    LIVE_UNKNOWN, /* no proof of anything: leave it alone */
};

/* Of the answer to a get of the object with this uid. That a cache does not have it proves nothing: backing
 * storage is deleted and volumes are released on LIVE_GONE alone. */
enum live api_live_of(const struct client_answer *a, const char *uid);

#endif

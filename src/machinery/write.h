/* Writes that end well although others write too and networks lose answers.
 *
 * Read, decide, write; and when somebody else was first, or nobody knows whether the write took effect, the
 * same again from what the server says then, a few times. Caches take no part in it: they may be behind. A
 * write is embedded by its owner, as a client_call is: one at a time, its end told once on the loop, never
 * from inside write_start(); cancelled, it is not heard of again.
 *
 *   patch    reads first. A conflict or a lost answer: reads again and decides again.
 *   create   writes first. The name is taken, or a lost answer: reads, and whether what is there is ours is
 *            the owner's to decide. Needs a name that the owner can tell again: no generateName.
 *   delete   writes first. A lost answer or a conflict: reads; done when the object is gone, going, or
 *            another one under its name. */
#ifndef BERTH_MACHINERY_WRITE_H
#define BERTH_MACHINERY_WRITE_H

#include "api/object.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/rng.h"
#include "client/client.h"
#include "io/loop.h"

#define WRITE_BODY_BYTES_MAX ((size_t)3 << 20)

/* How often, and with what delays between. */
enum write_patience {
    WRITE_FEW_FAST, /* 5 tries, 10 ms apart give or take a tenth: who races with us is quick */
    WRITE_BACKOFF,  /* 4 tries after 10, 50 and 250 ms: many race */
    WRITE_PATIENCE_COUNT,
};

enum write_verdict {
    WRITE_SEND,    /* the body is written */
    WRITE_ALREADY, /* all is as it should be: the end, and a good one */
    WRITE_REFUSE,  /* the error says why not */
};

/* What to write, given what is there now: NULL for nothing. For a patch now is never NULL (its absence is
 * ERR_NOT_FOUND), and the body has now's uid and version in it (merge_patch.h). Must not touch the write. */
typedef enum write_verdict write_decide_fn(void *ctx, const struct object *now, struct buf *body,
                                           struct error *err);

struct write_options {
    struct client *client;
    struct loop *loop;
    struct rng *rng; /* of delays; borrowed until the end */
    enum write_patience patience;
    /* CLIENT_PATCH, CLIENT_CREATE or CLIENT_DELETE, with a name; a delete with if_uid, lest it meet another
     * object of that name. The body is decide()'s. Texts are copied. */
    struct client_request request;
    write_decide_fn *decide; /* not asked for a delete */
    /* The answer as the client would tell it; of a WRITE_ALREADY, ok and with the object that is there. A
     * delete of what is not there is ok. */
    client_done_fn *done;
    void *ctx;
};

/* Zeroed before its first use. */
struct write {
    struct write_options o; /* the request's texts in the arena; o.client NULL: idle */
    struct arena arena;
    struct buf body;
    struct client_call call;
    struct timer timer; /* of the next try; the first one is a timer too, so that nothing ends at once */
    unsigned tries;     /* writes sent */
    bool wants_read;    /* before the next write */
    bool is_uncertain;  /* the last one may have taken effect */
    bool had_doubt;     /* one before had left it open: a server that keeps failing is left in peace */
    enum err failed;    /* at the start; told in the first round */
};

/* The write is idle. */
void write_start(struct write *w, const struct write_options *o);
/* What was sent may still take effect. Takes an idle write too. */
void write_cancel(struct write *w);

static inline bool write_is_active(const struct write *w)
{
    return w->o.client != NULL;
}

/* --- Before what cannot be undone --- */

/* What a get from the server proves. */
enum live {
    LIVE_THERE,
    LIVE_GONE,    /* the server says so, or another object has the name now */
    LIVE_UNKNOWN, /* no proof of anything: leave it alone */
};

/* Of the answer to a get of the object with this uid. That a cache does not have it proves nothing: backing
 * storage is deleted and volumes are released on LIVE_GONE alone. */
enum live write_live_of(const struct client_answer *a, const char *uid);

#endif

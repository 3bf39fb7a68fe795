/* A controller's loop: keys from a queue into its sync function, so many a turn, so many at once.
 *
 * A sync reads caches, takes the next step and returns; when the step is a request it says SYNC_LATER and
 * ends with controller_finish() when the answer is there. Meanwhile the key is worked on and no second sync
 * of it begins. What went wrong comes back after the key's delay.
 *
 * The requests of a sync are begun with sync_send(); the key's turn ends with the last of them. What more
 * there is to do follows from the cache, which hears of each answer first. */
#ifndef BERTH_MACHINERY_CONTROLLER_H
#define BERTH_MACHINERY_CONTROLLER_H

#include "machinery/workqueue.h"
#include "machinery/write.h"

struct controller;
struct sync;

enum sync_result {
    SYNC_DONE,      /* nothing left to do for now: failures forgotten */
    SYNC_AGAIN,     /* failed: again after the key's delay */
    SYNC_OVERTAKEN, /* somebody else was first: again at once, up to three times in a row, then as AGAIN */
    SYNC_LATER,     /* under way: controller_finish() follows */
};

struct controller_options {
    struct workqueue_options queue; /* on_ready and ctx are the controller's */
    /* Reads caches only. The key is borrowed for the call. */
    enum sync_result (*sync)(void *ctx, struct str key);
    void *ctx;
    unsigned in_flight_max; /* keys being worked on; 0: 256 */
    unsigned turn_max;      /* syncs in one turn of the loop; 0: 64 */
    /* Nothing is synced before this says yes; asked again at controller_wake(). NULL: at once. */
    bool (*is_ready)(void *ctx);

    /* Of the requests of syncs. */
    struct api api;
    bool comes_again; /* a key that wrote is half done: it comes again, before those that have not begun */
    /* A request failed, in a way that brings the key back after its delay. May be NULL. */
    void (*on_failed)(const struct sync *s, const struct error *err);
    /* All requests of a sync have ended. May be NULL. */
    void (*on_settled)(const struct sync *s);
};

int controller_new(const struct controller_options *o, struct controller **ret, struct error *err);
struct controller *controller_free(struct controller *c);
DEFINE_CLEANUP(struct controller, controller_free)

struct workqueue *controller_queue(struct controller *c);
struct api *controller_api(struct controller *c);
static inline void controller_add(struct controller *c, struct str key)
{
    workqueue_add(controller_queue(c), key);
}
/* The end of a sync that says SYNC_LATER: SYNC_DONE or SYNC_AGAIN. May come from inside the sync. */
void controller_finish(struct controller *c, struct str key, enum sync_result result);
/* The same as SYNC_DONE, and again after a while. */
void controller_finish_after(struct controller *c, struct str key, uint64_t delay_ns);
/* What is_ready() waits for may have come: a cache is synced. */
void controller_wake(struct controller *c);

/* --- The requests of one sync --- */

/* One turn of a key. */
struct sync {
    TAILQ_ENTRY(sync) link;
    struct controller *controller;
    void *ctx; /* the controller's */
    TAILQ_HEAD(, sync_request) requests;
    const char *rest;  /* why nothing is written, should that be so: a literal, for the log */
    bool is_syncing;   /* the sync is on the stack: it finishes the key itself */
    bool has_written;  /* something that the next sync goes on from */
    bool has_failed;   /* after the key's delay */
    bool has_conflict; /* at once, while that makes sense */
    bool is_late;      /* another's write went before: at once */
    char key[];        /* with a NUL behind it */
};

struct sync_request;
/* What became of it, after the sync has taken note of that. May begin further requests of the sync. */
typedef void sync_then_fn(const struct sync_request *x, enum api_outcome outcome,
                          const struct client_answer *a);

struct sync_request {
    TAILQ_ENTRY(sync_request) link;
    struct sync *sync;
    struct api_write write;
    struct object *about; /* what it was decided on; NULL: nothing */
    sync_then_fn *then;   /* NULL: nothing follows */
    const void *arg;      /* then's */
};

/* Between these, requests. The result is the sync's: SYNC_LATER while any is under way. */
struct sync *sync_begin(struct controller *c, struct str key);
enum sync_result sync_end(struct sync *s);
/* api, done and ctx are the sync's. `about` NULL: the object of the write. False when it could not even be
 * begun: the key comes again. */
bool sync_send(struct sync *s, const struct api_write_options *o, const struct object *about,
               sync_then_fn *then, const void *arg);
/* An object as the server has it; `then` decides, also on its absence. */
void sync_read(struct sync *s, enum kind k, const char *ns, const char *name, const struct object *about,
               sync_then_fn *then);
/* If somebody writes the object, the key comes again when that has ended: true. */
bool sync_await_writer(struct sync *s, const struct object *o);
/* Something is wrong that no request showed: the key comes again after its delay. */
void sync_fail(struct sync *s);

/* A sync of one request. */
enum sync_result sync_once(struct controller *c, struct str key, const struct api_write_options *o,
                           sync_then_fn *then, const void *arg);
/* One finalizer more, or one less. */
enum sync_result sync_add_finalizer(struct controller *c, struct str key, const struct object *o,
                                    const char *finalizer, struct informer *informer);
enum sync_result sync_remove_finalizer(struct controller *c, struct str key, const struct object *o,
                                       const char *finalizer, struct informer *informer);

#endif

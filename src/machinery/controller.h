/* The loop of a controller: passes keys from a work queue to its sync function, with limits per turn and in
 * flight.
 *
 * A sync reads caches, takes the next step and returns. If the step is a request it returns SYNC_LATER and
 * calls controller_finish() with the answer. Until then the key is in process and no second sync of it
 * starts. A failed key is retried after its delay.
 *
 * The requests of a sync are started with sync_send(); the key is finished with the last of them. The next
 * sync continues from the cache, which gets each answer first. */
#ifndef BERTH_MACHINERY_CONTROLLER_H
#define BERTH_MACHINERY_CONTROLLER_H

#include "machinery/api_write.h"
#include "machinery/workqueue.h"

struct controller;
struct sync;

enum sync_result {
    SYNC_DONE,      /* nothing left to do: failures are forgotten */
    SYNC_AGAIN,     /* failed: retried after the key's delay */
    SYNC_OVERTAKEN, /* conflict: retried immediately, up to three times in a row, then like AGAIN */
    SYNC_LATER,     /* in progress: controller_finish() follows */
};

struct controller_options {
    struct workqueue_options queue; /* on_ready and ctx are set by the controller */
    /* Reads only caches. The key is borrowed during the call. */
    enum sync_result (*sync)(void *ctx, struct str key);
    void *ctx;
    unsigned in_flight_max; /* keys in process; 0: 256 */
    unsigned turn_max;      /* syncs per turn of the loop; 0: 64 */
    /* No key is synced until this returns true; checked again by controller_wake(). NULL: no condition. */
    bool (*is_ready)(void *ctx);

    /* For the requests of syncs. */
    struct api api;
    bool comes_again; /* a key that wrote something is requeued, before keys that have not started */
    /* A request failed and the key is retried after its delay. May be NULL. */
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
/* Ends a sync that returned SYNC_LATER: SYNC_DONE or SYNC_AGAIN. May be called from inside the sync. */
void controller_finish(struct controller *c, struct str key, enum sync_result result);
/* Like SYNC_DONE, and adds the key again after a delay. */
void controller_finish_after(struct controller *c, struct str key, uint64_t delay_ns);
/* Checks is_ready() again, for example when a cache is synced. */
void controller_wake(struct controller *c);

/* A request about this object is in flight. */
bool controller_is_asking(const struct controller *c, const struct object *about);
/* NULL if its keys and the syncs in progress are consistent, else what is wrong. For the simulator. */
const char *controller_check(const struct controller *c);

/* --- The requests of one sync --- */

/* One sync of one key. */
struct sync {
    TAILQ_ENTRY(sync) link;
    struct controller *controller;
    void *ctx; /* of the controller */
    TAILQ_HEAD(, sync_request) requests;
    const char *rest;  /* why nothing was written: a literal, for the log */
    bool is_syncing;   /* the sync function is running: it finishes the key itself */
    bool has_written;  /* the next sync continues from that */
    bool has_failed;   /* retry after the key's delay */
    bool has_conflict; /* retry immediately, a limited number of times */
    bool is_late;      /* another write was in flight: retry immediately */
    char key[];        /* with a NUL at the end */
};

struct sync_request;
/* Called with the result, after the sync has recorded it. May start further requests of the sync. */
typedef void sync_then_fn(const struct sync_request *request, enum api_outcome outcome,
                          const struct client_answer *a);

struct sync_request {
    TAILQ_ENTRY(sync_request) link;
    struct sync *sync;
    struct api_write write;
    enum api_step step;
    bool is_read;
    struct object *about; /* what the request was decided on; NULL: nothing */
    sync_then_fn *then;   /* NULL: no continuation */
    const void *arg;      /* for then() */
};

/* Requests are sent between these two. sync_end() returns the result: SYNC_LATER while a request is in
 * flight. */
struct sync *sync_begin(struct controller *c, struct str key);
enum sync_result sync_end(struct sync *s);
/* api, done and ctx are set by the sync. `about` NULL: the object of the write. False if it could not be
 * started: the key is retried. */
bool sync_send(struct sync *s, const struct api_write_options *o, const struct object *about,
               sync_then_fn *then, const void *arg);
/* Reads an object from the server; `then` is also called if it does not exist. */
void sync_read(struct sync *s, enum kind k, const char *ns, const char *name, const struct object *about,
               sync_then_fn *then);
/* True if the object is being written; the key is retried when that write ends. */
bool sync_await_writer(struct sync *s, const struct object *o);
/* Marks the sync as failed without a request: the key is retried after its delay. */
void sync_fail(struct sync *s);

/* A sync with one request. */
enum sync_result sync_once(struct controller *c, struct str key, const struct api_write_options *o,
                           sync_then_fn *then, const void *arg);
/* Adds or removes one finalizer. */
enum sync_result sync_add_finalizer(struct controller *c, struct str key, const struct object *o,
                                    const char *finalizer, struct informer *informer);
enum sync_result sync_remove_finalizer(struct controller *c, struct str key, const struct object *o,
                                       const char *finalizer, struct informer *informer);

#endif

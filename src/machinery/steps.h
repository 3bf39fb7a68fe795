/* The requests of a controller that are on their way, each the next step of a key that is being worked on.
 *
 * A sync hands the request over and says SYNC_LATER, as steps_send() does for it; the answer is taken into
 * the cache and ends the key's turn. What more there is to do follows from the cache, which hears of the
 * answer first: a step never leads to the next by itself. */
#ifndef BERTH_MACHINERY_STEPS_H
#define BERTH_MACHINERY_STEPS_H

#include <sys/queue.h>

#include "client/client.h"
#include "machinery/controller.h"
#include "machinery/informer.h"

struct step;

struct steps {
    struct client *client;
    struct controller *controller;
    const char *manager; /* field manager: a literal */
    TAILQ_HEAD(, step) all;
};

void steps_init(struct steps *s, struct client *client, struct controller *controller, const char *manager);
/* Cancels all of them: nobody is told. Takes a zeroed one too. */
void steps_done(struct steps *s);

/* What the answer means for the key. */
typedef enum sync_result step_fn(void *ctx, struct str key, const struct client_answer *a);

/* Always SYNC_LATER, but SYNC_AGAIN without memory. `seen_by` hears of the object in the answer; NULL: nobody
 * does. fn NULL: steps_result(). */
enum sync_result steps_send(struct steps *s, struct str key, const struct client_request *q,
                            struct informer *seen_by, step_fn *fn, void *ctx);

/* The patch of an object as it was read: its main resource, or the subresource that is named. */
struct step_patch {
    const struct object *object;
    const char *subresource; /* NULL for none */
    enum client_patch kind;
    struct str body;
};
enum sync_result steps_patch(struct steps *s, struct str key, const struct step_patch *p,
                             struct informer *seen_by, step_fn *fn, void *ctx);

/* One finalizer more, or one less. */
enum sync_result steps_add_finalizer(struct steps *s, struct str key, const struct object *o,
                                     const char *finalizer, struct informer *seen_by);
enum sync_result steps_remove_finalizer(struct steps *s, struct str key, const struct object *o,
                                        const char *finalizer, struct informer *seen_by);

/* Done when it went well, or when the object is gone, which the watch will tell; else once more, after the
 * key's delay. Logs what is no race. */
enum sync_result steps_result(struct str key, const struct client_answer *a);

#endif

/* Tasks of the server itself: it empties namespaces that are being deleted, deletes objects whose owners are
 * gone, expires events, removes pods of lost nodes, and creates the predefined namespaces, accounts,
 * certificates and the Service `kubernetes`.
 *
 * Each duty observes commits, records what may need work, and does it in a deferred callback through calls of
 * the server to itself (own_call.h). Records are only in memory: at the start every object is observed once,
 * so that no duty depends on events from before a restart. */
#ifndef BERTH_APISERVER_DUTIES_H
#define BERTH_APISERVER_DUTIES_H

#include "apiserver/server.h"
#include "store/store.h"

/* Observes all stored objects, and every commit from now on. */
int duties_new(struct apiserver *s, struct duties **ret, struct error *err);
struct duties *duties_free(struct duties *d);
/* Observes every object of a kind again, as at the start. No effect after duties_stop(). */
int duties_rescan(struct duties *d, enum kind k, struct error *err);
/* No new calls after this. */
void duties_stop(struct duties *d);

/* --- The duties, each in its own file. `observe` is called for every commit. --- */

struct duty_calls;

/* Common to all duties; the struct of a duty, if it has one, begins with it. */
struct duty_base {
    struct apiserver *server;
    struct deferred reconcile; /* both call the duty's reconcile() */
    struct timer timer;
    struct duty_calls *calls;
};

struct duty {
    size_t bytes;      /* size of its struct, which is zeroed at first */
    loop_fn reconcile; /* does the recorded work */
    loop_fn answered;  /* called when the last of its calls was answered: see duty_calls_new() */
    void (*observe)(void *duty, const struct store_event *ev);
    void (*init)(void *duty); /* NULL: only the base is initialized */
    void (*done)(void *duty); /* calls in flight may still be answered */
};

extern const struct duty duty_accounts;     /* accounts.c: predefined namespaces, default service accounts */
extern const struct duty duty_expiry;       /* expiry.c: expired events */
extern const struct duty duty_garbage;      /* garbage.c: dependents of deleted objects */
extern const struct duty duty_namespaces;   /* namespaces.c: contents of namespaces that are being deleted */
extern const struct duty duty_pods;         /* pods.c: deleted pods whose node does not exist */
extern const struct duty duty_root_ca;      /* root_ca.c: kube-root-ca.crt in every namespace */
extern const struct duty duty_self_service; /* self_service.c: Service default/kubernetes, its endpoints */

/* "/api/v1/namespaces/NS/pods/NAME": the path of an object. Failures stick in the buffer. */
void object_path(const struct object *o, struct buf *out);
/* Calls of a duty in flight: limited, so that a large job leaves room for others. The result of a call is
 * observed as an event; if the server itself failed, the duty must try again later. */
#define DUTY_CALLS_MAX 128

/* `then` is called each time the last call in flight was answered; one second later if one of them failed for
 * reasons of the server (a full disk), so that no duty retries without a pause. */
int duty_calls_new(struct apiserver *s, loop_fn then, void *ctx, struct duty_calls **ret, struct error *err);
/* Calls in flight continue; `then` is not called any more. */
struct duty_calls *duty_calls_free(struct duty_calls *q);
bool duty_calls_are_full(const struct duty_calls *q);
/* Calls are in flight, or the pause after a failure lasts. */
bool duty_calls_are_busy(const struct duty_calls *q);
/* For `then`: one of the calls failed for reasons of the server. */
bool duty_calls_have_failed(const struct duty_calls *q);
void duty_calls_send(struct duty_calls *q, enum http_method method, const char *content_type,
                     struct str target, struct str body);

#endif

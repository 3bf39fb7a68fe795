/* What the server does without being asked: it empties namespaces that are being deleted, deletes what has
 * lost its owners, lets events expire, ends pods whose node is gone, and makes the namespaces, accounts,
 * certificates and the Service that everybody expects.
 *
 * Each duty looks at what commits, notes what may need doing, and does it in a deferred callback through
 * calls of the server to itself (own_call.h). Notes are kept in memory alone: at the start every object is
 * looked at once, so nothing depends on having seen an event. */
#ifndef BERTH_APISERVER_DUTIES_H
#define BERTH_APISERVER_DUTIES_H

#include "apiserver/server.h"
#include "store/store.h"

/* Looks at everything that is there, and from now on at what commits. */
int duties_new(struct apiserver *s, struct duties **ret, struct error *err);
struct duties *duties_free(struct duties *d);
/* Has every object of a kind looked at once more, as at the start. Nothing after duties_stop(). */
int duties_look_again(struct duties *d, enum kind k, struct error *err);
/* Starts nothing more. */
void duties_stop(struct duties *d);

/* --- The duties, each in a file of its own. `see` is told of every commit. --- */

struct duty {
    int (*start)(struct apiserver *s, void **ret, struct error *err);
    void (*see)(void *duty, const struct store_event *ev);
    void (*stop)(void *duty); /* frees it; calls under way may still be answered */
};

extern const struct duty duty_accounts;     /* accounts.c: predefined namespaces, default service accounts */
extern const struct duty duty_expiry;       /* expiry.c: events past their time */
extern const struct duty duty_garbage;      /* garbage.c: dependents of what is gone */
extern const struct duty duty_namespaces;   /* namespaces.c: contents of namespaces that are being deleted */
extern const struct duty duty_pods;         /* pods.c: deleted pods whose node is not there to end them */
extern const struct duty duty_root_ca;      /* root_ca.c: kube-root-ca.crt in every namespace */
extern const struct duty duty_self_service; /* self_service.c: Service default/kubernetes, its endpoints */

/* "/api/v1/namespaces/NS/pods/NAME": the path of an object. Failures stick in the buffer. */
void object_path(const struct object *o, struct buf *out);
/* Calls that a duty has under way: so many at a time, so that a large job leaves room for others. What comes
 * of a call shows as an event; when the server itself failed, the duty is to look again a while later. */
#define DUTY_CALLS_MAX 128

struct duty_calls;

/* `then` is called each time the last call under way has been answered; a second later when one of them met a
 * server that could not (a full disk), so that nobody tries without a pause. */
int duty_calls_new(struct apiserver *s, loop_fn then, void *ctx, struct duty_calls **ret, struct error *err);
/* Calls under way go on; `then` is not called any more. */
struct duty_calls *duty_calls_free(struct duty_calls *q);
bool duty_calls_are_full(const struct duty_calls *q);
/* Calls are under way, or the pause after a failure is. */
bool duty_calls_are_busy(const struct duty_calls *q);
/* For `then`: one of the calls failed for the server's own reasons. */
bool duty_calls_have_failed(const struct duty_calls *q);
void duty_calls_send(struct duty_calls *q, enum http_method method, const char *content_type,
                     struct str target, struct str body);

#endif

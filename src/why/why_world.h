/* What explanations are made from: caches and, where they run in this process, the components that decide.
 *
 * A running control plane passes its own caches and components; a command against another server fills its
 * own caches and has no components. The causes are the same: they come from the functions that decide, which
 * read only caches. What only a component knows (operations in progress, delays) is then missing. */
#ifndef BERTH_WHY_WHY_WORLD_H
#define BERTH_WHY_WHY_WORLD_H

#include "api/event.h"
#include "api/kind.h"
#include "base/clock.h"
#include "machinery/informer.h"
#include "why/report.h"

struct agent;
struct csi_controllers;
struct attach;
struct binder;
struct scheduler;
struct store;
struct why_work;

/* The newest events of an object, at most this many. */
#define WHY_EVENTS_MAX 5

typedef void why_event_fn(void *ctx, const struct event *e);

/* A slice of a walk over events: where it starts, and how many looks it may use. */
#define WHY_EVENT_NAME_BYTES_MAX 512
struct why_event_slice {
    char from[WHY_EVENT_NAME_BYTES_MAX]; /* name of the first event; "" to begin */
    size_t looks_left;
    bool has_more; /* ended for lack of looks; continues at `from` */
};

struct why_world {
    const struct clock *clock;
    const struct informer *caches[KIND_COUNT]; /* NULL: not known; pods have the index PODS_BY_CLAIM */
    const struct binder *binder;               /* NULL: not in this process; likewise below */
    struct scheduler *scheduler;       /* running, or one that follows the caches (scheduler_follow()) */
    const struct agent *agent;         /* of one node */
    const struct csi_controllers *csi; /* of this process; NULL: none */
    const char *flex_dir;              /* where the agent looks for FlexVolume drivers */
    const struct attach *attach;
    const char *const *provisioners; /* external provisioners in this process, NULL at the end */
    /* Calls fn for the events about an object, in any order; may end early (struct why_event_slice). NULL:
     * events are not known. */
    void (*each_event)(void *ctx, const struct object *about, struct why_event_slice *slice, why_event_fn *fn,
                       void *fn_ctx);
    void *ctx;
    const struct store *store; /* of the server in this process, for leases, which are not cached; or NULL */
    struct why_work *work;     /* of the current explanation; NULL otherwise */
};

/* Adds caches for a command against a server: every kind that explanations read. Call before the informers
 * start. */
int why_world_caches(struct why_world *w, struct informers *all, struct error *err);
/* The first required kind whose cache is not filled; NULL: none. why_world_drop_missing() removes optional
 * kinds that the server does not have, or does not allow to list. */
const struct kind_info *why_world_missing(const struct why_world *w);
void why_world_drop_missing(struct why_world *w);

/* NULL when it does not exist, or the kind is not cached. ns is "" at cluster scope. */
const struct object *why_get(const struct why_world *w, enum kind k, const char *ns, const char *name);

/* Calls fn for the events about an object, in any order. */
void why_each_event(const struct why_world *w, const struct object *about, why_event_fn *fn, void *fn_ctx);

/* The time of the last occurrence; zero if not set. */
struct timestamp why_event_at(const struct event *e);

/* The newest events about the object, oldest first. over: reasons that the object's state has made obsolete,
 * NULL-terminated; NULL for none. */
void why_add_events(const struct why_world *w, struct why_report *r, const struct object *about,
                    const char *const *over);

/* Operations of the binder for a claim or volume, running or to be retried. */
void why_add_operations(const struct why_world *w, struct why_report *r, const struct object *about);

/* Duration since then: "5m3s"; "<unknown>" if not set. */
#define WHY_AGE_BYTES_MAX 32
const char *why_age(const struct why_world *w, struct timestamp since, char to[static WHY_AGE_BYTES_MAX]);

/* --- Explanations --- */

/* Fill in a report that was begun for the object, without ending it. */
void why_claim(const struct why_world *w, struct why_report *r, const struct object *claim);
void why_volume(const struct why_world *w, struct why_report *r, const struct object *volume);
void why_pod(const struct why_world *w, struct why_report *r, const struct object *pod);
void why_attachment(const struct why_world *w, struct why_report *r, const struct object *attachment);
void why_driver(const struct why_world *w, struct why_report *r, const struct object *driver);

struct why_question {
    enum kind kind;
    const char *ns; /* "" at cluster scope */
    const char *name;
    bool shows_all; /* every candidate, not only examples */
};
/* The whole report on an object as JSON, at once: for a process that does nothing else. Others run an
 * explanation in slices (explanation.h, which describes the errors, too). */
int why_explain(const struct why_world *w, const struct why_question *q, struct buf *out, struct error *err);

/* A question as a path: "pvc/NAMESPACE/NAME", "pv/NAME", "pod/NAMESPACE/NAME", "va/NAME", "csidriver/NAME".
 * The names point into `to`. ERR_NOT_FOUND for any other path. */
#define WHY_PATH_BYTES_MAX 1024
int why_read_path(const char *path, char to[static WHY_PATH_BYTES_MAX], struct why_question *ret,
                  struct error *err);
/* "pvc" for KIND_CLAIM; NULL for a kind that is not explained. */
const char *why_type(enum kind k);

#endif

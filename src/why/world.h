/* What an explanation is made from: caches, and where they run in this process, the parts that decide.
 *
 * A running control plane hands over its own caches and parts; a command in front of a foreign server fills
 * caches of its own and has no parts. The reasons are the same: they come from the functions that decide, and
 * those read caches alone. What only a part knows (operations under way, delays) is then missing. */
#ifndef BERTH_WHY_WORLD_H
#define BERTH_WHY_WORLD_H

#include "api/event.h"
#include "api/kind.h"
#include "base/clock.h"
#include "machinery/informer.h"
#include "why/report.h"

struct agent;
struct attach;
struct binder;
struct scheduler;
struct why_work;

/* At most so many events of an object are shown: the newest. */
#define WHY_EVENTS_MAX 5

typedef void why_event_fn(void *ctx, const struct event *e);

/* A part of a walk over events: from where, and how far. */
#define WHY_EVENT_NAME_BYTES_MAX 512
struct why_event_slice {
    char from[WHY_EVENT_NAME_BYTES_MAX]; /* the name of the first; "" for the very first */
    size_t looks_left;
    bool has_more; /* it ended for lack of looks, and goes on at `from` */
};

struct why_world {
    const struct clock *clock;
    const struct informer *caches[KIND_COUNT]; /* NULL: not known; pods have the index PODS_BY_CLAIM */
    const struct binder *binder;               /* NULL: in no process that we know, as the rest */
    struct scheduler *scheduler; /* at work, or one that follows the caches (scheduler_follow()) */
    const struct agent *agent;   /* of one node */
    const char *flex_dir;        /* where the agent looks for FlexVolume drivers */
    const struct attach *attach;
    const char *const *provisioners; /* that run in this process, but for the binder's; NULL at the end */
    /* Calls fn for the events about an object, in any order; may end early (struct why_event_slice). NULL:
     * events are not known. */
    void (*each_event)(void *ctx, const struct object *about, struct why_event_slice *slice, why_event_fn *fn,
                       void *fn_ctx);
    void *ctx;
    struct why_work *work; /* of the explanation under way; NULL outside of one */
};

/* Caches of their own for somebody in front of a server: every kind that explanations read. Before the
 * informers start. */
int why_world_caches(struct why_world *w, struct informers *all, struct error *err);
/* The first kind that cannot be done without and is not filled yet; NULL: what is there is enough. Those that
 * the server does not have, or does not show, are left out of the world. */
const struct kind_info *why_world_missing(const struct why_world *w);
void why_world_drop_missing(struct why_world *w);

/* NULL when it is not there, or the kind is not known. ns is "" at cluster scope. */
const struct object *why_get(const struct why_world *w, enum kind k, const char *ns, const char *name);

/* Calls fn for the events about an object, in any order. */
void why_each_event(const struct why_world *w, const struct object *about, why_event_fn *fn, void *fn_ctx);

/* When it last happened; zero when it does not say. */
struct timestamp why_event_at(const struct event *e);

/* The newest events about the object, oldest first. over: the reasons of those that its state has outdated;
 * they end with NULL. NULL for none. */
void why_add_events(const struct why_world *w, struct report *r, const struct object *about,
                    const char *const *over);

/* What the binder does for a claim or volume, or will try again. */
void why_add_operations(const struct why_world *w, struct report *r, const struct object *about);

/* How long ago, or for how long: "5m3s"; "<unknown>" for no time. */
#define WHY_AGE_BYTES_MAX 32
const char *why_age(const struct why_world *w, struct timestamp since, char to[static WHY_AGE_BYTES_MAX]);

/* --- The explanations --- */

/* Fill in a report that was begun for the object, but do not end it. */
void why_claim(const struct why_world *w, struct report *r, const struct object *claim);
void why_volume(const struct why_world *w, struct report *r, const struct object *volume);
void why_pod(const struct why_world *w, struct report *r, const struct object *pod);

struct why_question {
    enum kind kind;
    const char *ns; /* "" at cluster scope */
    const char *name;
    bool shows_all; /* every candidate, not only examples */
};
/* The whole report on an object, as JSON, at once: for a process that has nothing else to do. Others make an
 * explanation in slices (explanation.h, also for the errors). */
int why_explain(const struct why_world *w, const struct why_question *q, struct buf *out, struct error *err);

/* A question as a path has it: "pvc/NAMESPACE/NAME", "pv/NAME", "pod/NAMESPACE/NAME". The names are kept in
 * `to`. ERR_NOT_FOUND for a path that is none of them. */
#define WHY_PATH_BYTES_MAX 1024
int why_read_path(const char *path, char to[static WHY_PATH_BYTES_MAX], struct why_question *ret,
                  struct error *err);
/* "pvc" of KIND_CLAIM; NULL for a kind that nothing explains. */
const char *why_type(enum kind k);

#endif

/* What a watch is, for watch.c (one stream: where it starts, its clock, its end) and watches.c (all of them:
 * what the store says, fanned out). */
#ifndef BERTH_APISERVER_WATCH_INT_H
#define BERTH_APISERVER_WATCH_INT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "apiserver/call.h"
#include "apiserver/render.h"
#include "apiserver/selection.h"
#include "apiserver/watch.h"
#include "apiserver/watch_queue.h"
#include "base/rng.h"
#include "base/vec.h"
#include "io/loop.h"
#include "store/store.h"

/* A watch that has to catch up reads the store bit by bit, as fast as its client reads, and keeps nothing in
 * between; only one that is live is sent to as things happen, and queues what its client has yet to read. */
enum watch_state {
    WATCH_INITIAL, /* sends what there is */
    WATCH_REPLAY,  /* sends what the history has since then */
    WATCH_LIVE,
    WATCH_ENDED, /* sends what it holds and no more */
    WATCH_STATE_COUNT,
};

/* What happened to one object, as one watch sees it. */
struct watch_change {
    enum watch_event_type type;
    bool has_left; /* DELETED although it exists: it is no longer selected */
};

struct watch {
    struct stream stream;
    struct watches *all; /* NULL when the server is gone */
    TAILQ_ENTRY(watch) link;
    TAILQ_ENTRY(watch) awake; /* when it is to be woken */
    enum watch_state state;
    bool is_awake;
    bool wants_columns; /* no event of the Table has been sent yet */
    bool has_bookmarks;
    bool marks_initial_end;
    bool wants_objects; /* its lines about objects are the objects */
    const struct resource *resource;
    struct view view;
    struct arena arena; /* of the selection */
    struct selection selection;
    int64_t position;    /* nothing up to here is to be sent any more */
    struct object *last; /* sent last, while it sends what there is: that goes on behind it */
    struct watch_queue queue;
    struct timer timer;
    uint64_t ends_at_ns;
    uint64_t bookmark_at_ns;
};

TAILQ_HEAD(watch_list, watch);

/* A line for one kind of view, or the object itself, as long as the event it is of is being told. */
struct encoding {
    const struct resource *resource;
    enum shape shape;
    const char *shape_version;
    enum include_object include;
    enum watch_event_type type;
    bool has_columns;
    bool wants_objects;
    struct watch_line *line;
};

struct watches {
    struct apiserver *server;
    struct store_watcher watcher;
    struct watch_list live[KIND_COUNT];
    struct watch_list lagging; /* WATCH_INITIAL, WATCH_REPLAY */
    struct watch_list ended;
    struct watch_list awake; /* to be woken when all of a batch is told */
    size_t count;
    int64_t settled; /* everything up to here was told */
    VEC(struct encoding) encodings;
    struct object *left; /* the state before, with the revision of the event at hand; NULL until needed */
    struct rng rng;
    uint64_t cut_count;
    uint64_t events_count[KIND_COUNT];
};

/* Puts a new watch among the others, in its state. */
void watch_add(struct watches *all, struct watch *w);
/* Takes it out of every list; w->all is NULL then. */
void watch_remove(struct watch *w);
void watch_set_state(struct watch *w, enum watch_state next);

/* How the event looks to the watch; false when it is none of its business. */
bool watch_sees(const struct watch *w, const struct store_event *ev, struct watch_change *ret);
/* Queues a line for an event that the watch sees. */
int watch_send_change(struct watch *w, const struct store_event *ev, struct watch_change change);
/* The same for an object that is there. */
int watch_send_initial(struct watch *w, const struct object *o);
int watch_send_bookmark(struct watch *w, int64_t revision, bool ends_initial_events);
void watch_send_error(struct watch *w, const struct error *e);
/* What was kept for the event told last is worth nothing for the next. */
void watches_forget_event(struct watches *all);

void watch_wake(struct watch *w);
/* Its client does not read, or it cannot be told what happened: the connection is closed. */
void watch_cut(struct watch *w);
/* It sends what it holds, then ends cleanly. */
void watch_end(struct watch *w);

#endif

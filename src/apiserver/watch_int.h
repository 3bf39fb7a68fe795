/* Shared by watch.c (one stream: start, timers, end) and watches.c (all of them: commits of the store, fanned
 * out). */
#ifndef BERTH_APISERVER_WATCH_INT_H
#define BERTH_APISERVER_WATCH_INT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "apiserver/api_call.h"
#include "apiserver/render.h"
#include "apiserver/selection.h"
#include "apiserver/watch.h"
#include "apiserver/watch_queue.h"
#include "base/rng.h"
#include "base/vec.h"
#include "io/loop.h"
#include "store/store.h"

/* A watch that catches up reads the store in small steps, as fast as its client reads, and keeps nothing in
 * between; only a live one gets events as they happen, and queues what its client has not read yet. */
enum watch_state {
    WATCH_INITIAL, /* sends existing objects */
    WATCH_REPLAY,  /* sends events from the history */
    WATCH_LIVE,
    WATCH_ENDED, /* sends its queue and no more */
    WATCH_STATE_COUNT,
};

/* A change of one object from the perspective of one watch. */
struct watch_change {
    enum watch_event_type type;
    bool has_left; /* DELETED although it exists: no longer selected */
};

struct watch {
    struct stream stream;
    struct watches *all; /* NULL when the server was freed */
    TAILQ_ENTRY(watch) link;
    TAILQ_ENTRY(watch) awake; /* in the list of watches to wake */
    enum watch_state state;
    bool is_awake;
    bool wants_columns; /* no Table event has been sent yet */
    bool has_bookmarks;
    bool marks_initial_end;
    bool wants_objects; /* gets objects instead of text */
    const struct resource *resource;
    struct view view;
    struct arena arena; /* memory of the selection */
    struct selection selection;
    int64_t position;    /* everything up to here was sent or need not be */
    struct object *last; /* last initial object sent: the watch continues after it */
    struct watch_queue queue;
    struct timer timer;
    uint64_t ends_at_ns;
    uint64_t bookmark_at_ns;
};

TAILQ_HEAD(watch_list, watch);

/* A line in one view, or the object itself, cached while its event is delivered. */
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
    struct watch_list awake; /* to be woken at the end of a batch */
    size_t count;
    int64_t settled; /* everything up to here was delivered */
    VEC(struct encoding) encodings;
    struct object *left; /* the previous version, with the revision of the current event; NULL until needed */
    struct rng rng;
    uint64_t cut_count;
    uint64_t events_count[KIND_COUNT];
};

/* Adds a new watch, in its state. */
void watch_add(struct watches *all, struct watch *w);
/* Removes it from every list; w->all is NULL then. */
void watch_remove(struct watch *w);
void watch_set_state(struct watch *w, enum watch_state next);

/* The change that the watch must send; false when it is not affected. */
bool watch_match_event(const struct watch *w, const struct store_event *ev, struct watch_change *ret);
/* Queues a line for an event that affects the watch. */
int watch_send_change(struct watch *w, const struct store_event *ev, struct watch_change change);
/* The same for an existing object. */
int watch_send_initial(struct watch *w, const struct object *o);
int watch_send_bookmark(struct watch *w, int64_t revision, bool ends_initial_events);
void watch_send_error(struct watch *w, const struct error *e);
/* Drops the cached lines of the last event. */
void watches_drop_encodings(struct watches *all);

void watch_wake(struct watch *w);
/* Its client does not read, or an event could not be queued: closes the connection. */
void watch_cut(struct watch *w);
/* Sends its queue, then ends cleanly. */
void watch_end(struct watch *w);

#endif

/* Watches: streams of what happens to the objects of a resource.
 *
 * All watches of a server hang off one struct watches, which the store tells of every commit. */
#ifndef BERTH_APISERVER_WATCH_H
#define BERTH_APISERVER_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include "api/kind.h"
#include "apiserver/call.h"
#include "base/cleanup.h"
#include "base/error.h"

/* How many watches may be open at once. */
#define WATCHES_COUNT_MAX 4096

struct apiserver;
struct watch_line;
struct watches;

void watch_serve(struct call *c);

/* In place of pull(), for a call that wants objects; s is the stream of a watch. 1 and the next line
 * (watch_queue.h), a reference; 0: nothing for now, wake() will follow; -1: the end. */
int watch_next(struct stream *s, struct watch_line **ret);

int watches_new(struct apiserver *s, struct watches **ret, struct error *err);
/* Streams that are still with their carriers end there, whenever they are asked next. Takes NULL. */
struct watches *watches_free(struct watches *all);
DEFINE_CLEANUP(struct watches, watches_free)

/* Every stream ends cleanly once it has sent what it holds. */
void watches_stop(struct watches *all);

/* For the metrics. */
size_t watches_count(const struct watches *all);
/* Watches cut off because their clients did not read. */
uint64_t watches_cut_count(const struct watches *all);
/* Events handed to watches of that kind's resource; both groups' events have one each. */
uint64_t watches_events_count(const struct watches *all, enum kind k);

#endif

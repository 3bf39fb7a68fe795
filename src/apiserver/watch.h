/* Watches: streams of changes to the objects of a resource.
 *
 * All watches of a server belong to one struct watches, which the store notifies of every commit. */
#ifndef BERTH_APISERVER_WATCH_H
#define BERTH_APISERVER_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include "api/kind.h"
#include "apiserver/api_call.h"
#include "base/cleanup.h"
#include "base/error.h"

/* Limit of open watches. */
#define WATCHES_COUNT_MAX 4096

struct apiserver;
struct watch_line;
struct watches;

void watch_serve(struct call *c);

/* Instead of pull(), for a call that wants objects; s is the stream of a watch. 1 and the next line
 * (watch_queue.h), a reference; 0: nothing for now, wake() will follow; -1: the end. */
int watch_next(struct stream *s, struct watch_line **ret);

int watches_new(struct apiserver *s, struct watches **ret, struct error *err);
/* Streams that their carriers still have end at the next pull. Accepts NULL. */
struct watches *watches_free(struct watches *all);
DEFINE_CLEANUP(struct watches, watches_free)

/* Every stream ends cleanly after it has sent its queue. */
void watches_stop(struct watches *all);

/* For the metrics. */
size_t watches_count(const struct watches *all);
/* Watches closed because their clients read too slowly. */
uint64_t watches_cut_count(const struct watches *all);
/* Events delivered to watches of that kind's resource; the events of both groups are counted separately. */
uint64_t watches_events_count(const struct watches *all, enum kind k);

#endif

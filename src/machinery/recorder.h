/* The recorder: events about objects, for people, counted together so that no storm of them hits the server.
 *
 * Best effort: recording never fails, never blocks and never delays whoever records. Similar events are
 * combined (correlate.h, series.h) as the stock recorder does; what is to be written waits in a bounded queue
 * (event_sender.h). What is lost on the way is counted in berth_events_total and logged here: nobody else
 * hears of it.
 *
 * Two dialects of one stored object: core/v1 for controllers, events.k8s.io/v1 for the scheduler. */
#ifndef BERTH_MACHINERY_RECORDER_H
#define BERTH_MACHINERY_RECORDER_H

#include <stdbool.h>
#include <stddef.h>

#include "api/object.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "client/client.h"
#include "io/loop.h"

struct metrics;
struct recorder;

#define RECORDER_QUEUE_MAX 1000
#define RECORDER_MESSAGE_BYTES_MAX 1024
/* Before its middle is left out: an error and the words around it. */
#define RECORDER_TEXT_BYTES_MAX (ERROR_MSG_BYTES_MAX + RECORDER_MESSAGE_BYTES_MAX)
#define RECORDER_TRIES_MAX 12
/* Requests under way. A server that others use too gets few. One in this process commits what is asked of it
 * together: it gets as many as a controller has keys in flight, each of which has an event to tell for each
 * of its own requests at most, so that the queue does not grow however many keys there are. */
#define RECORDER_REMOTE_MAX 8
#define RECORDER_LOCAL_MAX 256

enum recorder_dialect { RECORDER_CORE, RECORDER_SERIES };
enum event_type { EVENT_NORMAL, EVENT_WARNING };

struct recorder_options {
    struct loop *loop;
    const struct clock *clock;
    struct client *client;
    struct metrics *metrics; /* NULL: nothing is counted */
    uint64_t seed;
    bool is_local; /* the server is in this process */
    enum recorder_dialect dialect;
    const char *component; /* "persistentvolume-controller": borrowed */
    const char *host;      /* source.host; of the new dialect, part of the instance; borrowed; "" for none */
};

int recorder_new(const struct recorder_options *o, struct recorder **ret, struct error *err);
/* What has not been sent is lost. Takes NULL. */
struct recorder *recorder_free(struct recorder *r);
DEFINE_CLEANUP(struct recorder, recorder_free)

/* Something happened to o: reason is CamelCase. `action` is of the new dialect. */
void recorder_event(struct recorder *r, const struct object *o, enum event_type type, const char *reason,
                    const char *fmt, ...) __attribute__((format(printf, 5, 6)));
struct recorded {
    const struct object *about;
    const struct object *related; /* NULL for none; of the new dialect */
    enum event_type type;
    const char *reason;
    const char *action; /* "" for none */
    struct str message; /* of one beyond RECORDER_MESSAGE_BYTES_MAX the two ends are kept */
};
void recorder_record(struct recorder *r, const struct recorded *e);

/* Nothing waits to be written: for a stop that lets the last events out. */
bool recorder_is_idle(const struct recorder *r);

#endif

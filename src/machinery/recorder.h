/* The recorder: creates events about objects for users, aggregated so that bursts do not reach the server.
 *
 * Best effort: recording never fails, blocks or delays its caller. Similar events are combined (correlate.h,
 * series.h) like in the stock recorder; requests wait in a bounded queue (event_sender.h). Lost events are
 * counted in berth_events_total and logged here.
 *
 * Two API versions of one stored object: core/v1 for controllers, events.k8s.io/v1 for the scheduler. */
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
/* Above this the middle is left out: an error and the text around it fit. */
#define RECORDER_TEXT_BYTES_MAX (ERROR_MSG_BYTES_MAX + RECORDER_MESSAGE_BYTES_MAX)
#define RECORDER_TRIES_MAX 12
/* Requests in flight. A shared server gets few. A server in this process commits concurrent requests
 * together: it gets as many as a controller has keys in flight, each with at most one event per request, so
 * that the queue stays short for any number of keys. */
#define RECORDER_REMOTE_MAX 8
#define RECORDER_LOCAL_MAX 256

enum recorder_dialect { RECORDER_CORE, RECORDER_SERIES };
enum event_type { EVENT_NORMAL, EVENT_WARNING };

struct recorder_options {
    struct loop *loop;
    const struct clock *clock;
    struct client *client;
    struct metrics *metrics; /* NULL: not counted */
    uint64_t seed;
    bool is_local; /* the server is in this process */
    enum recorder_dialect dialect;
    const char *component; /* "persistentvolume-controller": borrowed */
    /* source.host, or a part of the instance in events.k8s.io/v1; borrowed; "": none */
    const char *host;
};

int recorder_new(const struct recorder_options *o, struct recorder **ret, struct error *err);
/* Unsent events are lost. Accepts NULL. */
struct recorder *recorder_free(struct recorder *r);
DEFINE_CLEANUP(struct recorder, recorder_free)

/* Records an event about o. reason is CamelCase. */
void recorder_event(struct recorder *r, const struct object *o, enum event_type type, const char *reason,
                    const char *fmt, ...) __attribute__((format(printf, 5, 6)));
struct recorded {
    const struct object *about;
    const struct object *related; /* NULL: none; only in events.k8s.io/v1 */
    enum event_type type;
    const char *reason;
    const char *action; /* "" for none */
    struct str message; /* longer than RECORDER_MESSAGE_BYTES_MAX: the two ends are kept */
};
void recorder_record(struct recorder *r, const struct recorded *e);

/* Nothing is left to send: for a shutdown that delivers the last events. */
bool recorder_is_idle(const struct recorder *r);

#endif

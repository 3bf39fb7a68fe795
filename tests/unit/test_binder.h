/* For the tests of the binder: the whole API server, a client to it, the caches and the binder, in time that
 * is moved by hand. Between client and server sits a tap that counts the requests, lets one of them fail in a
 * chosen way, or kills the binder behind one.
 *
 * A test's body may be run again under a plan, in which the n-th request of every world fails: see
 * test_binder_replay.h. What a fault may change is asserted through the helpers below, which know of it. */
#ifndef BERTH_TESTS_TEST_BINDER_H
#define BERTH_TESTS_TEST_BINDER_H

#include "tests/unit/test_served.h"

#include "apiserver/local_client.h"
#include "client/client_request.h"
#include "client/client_target.h"
#include "controllers/binder/binder.h"
#include "plugins/registry.h"
#include "scheduler/scheduler.h"

/* For the linker: test_parts.h and sim/ have functions of these names. */
#define count_events binder_count_events
#define world_done binder_world_done
#define world_init binder_world_init

enum tap_fault {
    TAP_NONE,
    TAP_REFUSE,   /* nobody listens */
    TAP_ERROR,    /* 500, nothing done */
    TAP_CONFLICT, /* 409, nothing done */
    TAP_LOSE,     /* done, and the answer lost */
    TAP_CRASH,    /* done, and nobody left to hear of it */
    TAP_GONE,     /* 404, nothing done */
    TAP_LATE,     /* done, and the answer comes with world_deliver_late() */
    TAP_FAULT_COUNT,
};

struct world;

/* What happens to every world of a body while it is played again. */
struct plan {
    enum tap_fault fault;
    unsigned at; /* the how many-th request, counted from 1 */
    bool is_reached;
    /* Everything is at rest and the body has nothing more to say. NULL: no replay. */
    void (*on_end)(struct world *w);
};
extern struct plan plan;

/* What a failure may cost in a replay: the request again, another look, a start. */
#define REPLAY_EXTRA_MAX 12

#define TAP_REFUSED_MAX 64
#define TAP_WATCHES_MAX 16

struct tap {
    struct client_carrier base;
    struct client_carrier *next;
    struct world *world;
    struct deferred failing;
    struct tap_refusal {
        struct client_attempt *attempt;
        enum tap_fault fault;
    } refused[TAP_REFUSED_MAX]; /* to be told, the first one first */
    unsigned refused_count;
    enum tap_fault lost_by; /* … whose answer was kept: */
    void (*on_end)(struct client_attempt *a, const struct client_answer *answer);
    struct client_attempt *late; /* its answer: */
    struct client_answer late_answer;
    struct client_attempt *watches[TAP_WATCHES_MAX]; /* open ones */
    void (*on_watch_end)(struct client_attempt *a, const struct client_answer *answer);
};

/* What the scripted plugin was asked to do. */
struct scripted {
    struct plugin_host host;
    unsigned checked;
    unsigned provisioned;
    unsigned removed;
    unsigned recycled;
    unsigned fails; /* so many calls to come */
    enum err fails_with;
    const char *says;
    bool is_slow;    /* works until scripted_finish() */
    bool is_guarded; /* serves nfs, and asks the guard for a directory /x of server s */
    struct scripted_work *slow;
};

struct world {
    struct served served;
    struct tap *tap;
    struct client *client;
    struct metrics *metrics; /* the binder's own */
    struct informers *informers;
    struct informer *volumes;
    struct binder *binder;
    struct binder_options options;
    struct server_version server;         /* what the binder takes it for */
    struct scheduler_options *scheduling; /* NULL: there is no scheduler */
    struct scheduler *scheduler;
    bool is_alone; /* the binder is not started: nobody finishes what the scheduler begins */
    uint64_t seed;
    /* Requests that were no watches; writes among them. */
    unsigned requests;
    unsigned writes;
    unsigned sent;     /* the same as requests, whatever is recounted */
    struct buf log;    /* "PATCH /path\n" of the writes, without events */
    unsigned fault_at; /* the how many-th request, counted from 1; 0: none */
    unsigned fault_to; /* and all up to this one; 0: it alone */
    enum tap_fault fault;
    const char *failing;    /* or whichever begins like this, "GET /api/v1/…" … */
    unsigned failing_count; /* … so many of them to come */
    bool is_blind;          /* of one kind the caches see the first list and nothing more */
    enum kind blind_to;
    bool is_crashing;
    bool is_deaf; /* lists and watches are held back until world_hear() */
    bool is_open; /* more than one end is right */
};

extern struct world *tapped; /* one at a time: a plugin knows no world */
extern struct scripted scripted;

/* --- The scripted plugin: serves hostPath volumes --- */

struct scripted_work {
    struct deferred later;
    struct plugin_op *op;
};

void scripted_finish(void);

/* --- Life --- */

void world_init(struct world *w);

void world_kill(struct world *w);

void world_done(struct world *w);

/* From here on it works. */
void world_start(struct world *w);

/* Nothing moves any more without time passing; killed binders are started again. */
void world_rest(struct world *w);

/* The same, and delays that end within so many seconds have passed. */
void world_settle_for(struct world *w, uint64_t seconds);

void world_settle(struct world *w);

/* What needs no time has happened. A request that fails needs some. */
void world_still(struct world *w);

/* The answer that was kept back. */
void world_deliver_late(struct world *w);

/* The watches break, and nothing is heard of what happens meanwhile. */
void world_deafen(struct world *w);

/* It is too late for the watches to go on where they were: what was missed shows in the next list. */
void world_hear(struct world *w);

/* --- Objects --- */

#define HOST_PATH "'hostPath':{'path':'/x'}"

/* meta and spec: further members of them, with a comma in front. */
void post_volume(struct world *w, const char *name, const char *meta, const char *size, const char *modes,
                 const char *source, const char *spec);

void post_claim(struct world *w, const char *name, const char *meta, const char *size, const char *modes,
                const char *spec);

/* A volume; extra: further members of the spec, with a comma in front ("" for none). */
void add_volume(struct world *w, const char *name, const char *size, const char *modes, const char *extra);

void add_claim(struct world *w, const char *name, const char *size, const char *modes, const char *extra);

#define RWO "'ReadWriteOnce'"
#define NO_VOLUMES "no persistent volumes available for this claim and no storage class is set"

void patch_volume(struct world *w, const char *name, const char *sub, const char *body);

void patch_claim(struct world *w, const char *name, const char *sub, const char *body);

void set_phase(struct world *w, const char *volume, const char *phase);

/* What the server has of it, for ASSERT_GOT(). */
void look_at_volume(struct world *w, const char *name);

void look_at_claim(struct world *w, const char *name);

/* The uid of the object that was looked at last. */
void uid_of_last(struct world *w, char to[static 64]);

#define ASSERT_VOLUME(w, name, expected, path)    \
    do {                                          \
        look_at_volume(w, name);                  \
        ASSERT_GOT(&(w)->served, expected, path); \
    } while (0)
#define ASSERT_CLAIM(w, name, expected, path)     \
    do {                                          \
        look_at_claim(w, name);                   \
        ASSERT_GOT(&(w)->served, expected, path); \
    } while (0)

/* An annotation of the object that was looked at last; "-" when it has none of that name. */
const char *annotation(const struct world *w, const char *key);

/* A pair that is bound in every respect. */
void assert_bound(struct world *w, const char *claim, const char *volume);

/* --- What a fault may change --- */

/* Nobody wrote, or so many times. A fault adds requests, but none where there was nothing to do; that they
 * do not become too many is seen at the end of the replay. */
void assert_writes(const struct world *w, unsigned expected);

void assert_requests(const struct world *w, unsigned expected);

/* A bound where the number does not matter; a failure costs a few more. */
void assert_requests_below(const struct world *w, unsigned limit);

/* An operation was done so many times. One that failed, or whose process was killed, is done again; one that
 * must not be done is not done on account of a fault either. */
void assert_done(unsigned expected, unsigned times);

/* Something was told so many times. Who does not hear of the change that it made cannot tell of it, and
 * another process may tell again. */
void assert_times(unsigned expected, unsigned times);

/* Metrics count tries, and begin anew with each process. */
void assert_number(double expected, double number);

/* An event that tells of the fault itself is true and told nowhere else. */
bool is_told_of_fault(const char *message);

/* How many events the object has; reason, message NULL: any. */
unsigned count_events(struct world *w, const char *object, const char *reason, const char *message);

/* Of the events that were read last: a member of one; whether it is about the object (reason NULL: any), and
 * no fault's. */
const char *event_text(const struct world *w, size_t i, const char *member);
bool event_is(const struct world *w, size_t i, const char *object, const char *reason);

#endif

/* For the tests of controllers: the whole API server and a process with one part in it, in time that is moved
 * by hand. Between the two is a wire on which the n-th request of the part can go wrong, or the process end.
 *
 * A scenario is told once on a good day; then again and again, with something wrong at each of its requests:
 * what stands on the server in the end must be the same. */
#ifndef BERTH_TESTS_TEST_PARTS_H
#define BERTH_TESTS_TEST_PARTS_H

#include "tests/unit/test_served.h"

#include "apiserver/local_client.h"
#include "client/client.h"
#include "client/client_target.h"
#include "io/pool.h"
#include "machinery/component_deps.h"

#define WIRE_HELD_MAX 256
/* Turns in which nothing happens: a turn may hand work to the pool and have nothing else to do. */
#define REST_TURNS 4
#define SETTLE_S 300 /* longer than any delay between two tries */
#define ATTRIBUTES_CLASSES "/apis/storage.k8s.io/v1/volumeattributesclasses"

enum trouble {
    TROUBLE_NONE,
    TROUBLE_REFUSED,        /* nobody answers, nothing happens */
    TROUBLE_CONFLICT,       /* 409, or 500 to who only reads */
    TROUBLE_LOST,           /* it happens, the answer does not come */
    TROUBLE_UNREADABLE,     /* no item of a list can be read */
    TROUBLE_CRASH_SENT,     /* the process ends with the request on its way */
    TROUBLE_CRASH_ANSWERED, /* and when it has done what the answer called for */
    TROUBLE_COUNT,
};

struct part_type {
    int (*make)(const struct component_deps *o, void **ret, struct error *err);
    void (*start)(void *part);
    void (*free)(void *part);
};

struct wire {
    struct client_carrier base;
    struct client_carrier *next;
    struct deferred failing;
    struct client_attempt *held[WIRE_HELD_MAX];
    size_t held_count;
};

struct parts {
    struct served served;
    const struct part_type *type;
    const struct user *user;      /* whose process it is; NULL: one that may do everything */
    struct server_version server; /* what the process takes it for */
    /* The process. */
    struct wire *wire;
    struct client *client;
    struct metrics *metrics;
    struct informers *informers;
    void *part;
    struct pool *pool; /* NULL: none; else what runs on it is waited for before time passes */
    bool is_started;
    /* What goes wrong. */
    enum trouble trouble;
    unsigned at;                  /* the request, from 1 */
    const char *refused;          /* or those that begin like this, "PATCH /path": nobody answers */
    unsigned count;               /* requests of the part so far, of all its lives */
    bool is_missing;              /* TROUBLE_REFUSED is a 404 */
    bool is_dead;                 /* to be started anew */
    struct buf log;               /* "PATCH /path\n" of each request */
    bool is_down;                 /* nobody answers what is sent from here on */
    bool is_blind_to[KIND_COUNT]; /* what happens to them is not heard of */
    void (*on_end)(struct client_attempt *a, const struct client_answer *answer);
    void (*on_event)(struct client_attempt *a, const struct client_event *ev); /* of every watch */
    /* What a process needs beside the server, and outlives it: its state, and its end. NULL: nothing. */
    void (*beside_dump)(struct buf *out);
    void (*beside_done)(void);
};

extern struct parts *the_parts; /* an attempt does not know its carrier */

/* --- The wire --- */

void wire_fail(void *ctx);

void wire_start(struct client_carrier *c, struct client_attempt *a);

void wire_cancel(struct client_carrier *c, struct client_attempt *a);

void wire_free(struct client_carrier *c);

extern const struct client_carrier_type wire_type;

/* --- The process --- */

void process_start(struct parts *w);

void process_kill(struct parts *w);

void process_care(struct parts *w);

/* Turns until all is at rest at this moment. */
void parts_rest(struct parts *w);

void parts_pass_ns(struct parts *w, uint64_t ns);

/* Whatever is to be tried again has been. */
void parts_settle(struct parts *w);

/* As a user, on a server that asks who it is: the tests' own requests are an administrator's then. */
void parts_init_as(struct parts *w, const struct part_type *type, const struct user *user);

void parts_init(struct parts *w, const struct part_type *type);

void parts_done(struct parts *w);

/* --- What is asked and what stands there --- */

/* A request of a person, and what follows from it in 5 minutes. */
#define ASSERT_DONE(w, expected, method, target, body)             \
    do {                                                           \
        ASSERT_SENT(&(w)->served, expected, method, target, body); \
        parts_settle(w);                                           \
    } while (0)

#define ASSERT_THERE(w, expected, target, path)              \
    do {                                                     \
        ASSERT_SENT(&(w)->served, 200, "GET", target, NULL); \
        ASSERT_GOT(&(w)->served, expected, path);            \
    } while (0)

#define ASSERT_GONE(w, target) ASSERT_SENT(&(w)->served, 404, "GET", target, NULL)

/* The part has asked for exactly this since the last time: "PATCH /path\n", without parameters. */
void assert_asked(struct parts *w, const char *expected);

/* The events with that reason: the last answer is left with all of them. */
unsigned count_events(struct parts *w, const char *type, const char *reason, const char *message);

#define ASSERT_EVENT(w, type, reason, message)                                                         \
    do {                                                                                               \
        if (count_events(w, type, reason, message) != 1)                                               \
            fail_msg("not one %s %s '%s' in\n%s", type, reason, message, buf_cstr(&(w)->served.text)); \
    } while (0)

/* Of the metrics' text, a whole line. */
void assert_metric(const struct parts *w, const char *line);

/* --- Whatever goes wrong, the end is the same --- */

void parts_dump(struct parts *w, struct buf *out);

/* One run on its own parts; how many requests the part needed. What stands there in the end is in out. */
unsigned parts_run(const struct part_type *type, void (*scenario)(struct parts *w), enum trouble trouble,
                   unsigned at, struct buf *out);

void assert_ends_the_same(const struct part_type *type, void (*scenario)(struct parts *w));

#endif

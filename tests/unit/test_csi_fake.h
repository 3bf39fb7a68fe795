/* For the tests of the CSI controllers: drivers in the test's process. Calls of rpc/rpc.h reach them without
 * a socket, in time that is moved by hand.
 *
 * A driver keeps volumes in memory and notes what a careful caller never does. A call takes effect when it
 * arrives, and is answered in a later turn, or after a delay. The n-th call can go wrong, or end the process
 * that made it (test_parts.h). Calls that only ask (Identity, capabilities, lists) are neither counted nor
 * logged.
 */
#ifndef BERTH_TESTS_TEST_CSI_FAKE_H
#define BERTH_TESTS_TEST_CSI_FAKE_H

#include "tests/unit/test_parts.h"

#include <inttypes.h>
#include <rpc/proto/csi.pb-c.h>

#include "io/sys.h"
#include "rpc/message.h"
#include "rpc/rpc.h"

#define FAKE_SOCKET "/run/fake/csi.sock"
#define FAKE_DRIVER "fake.csi"
#define FAKE_VOLUMES_MAX 64
#define FAKE_NODES_MAX 4
#define FAKE_TEXT_BYTES 256

/* A capability by its number in the protocol. */
#define FAKE_BIT(n) (1U << (n))
#define FAKE_ALL_OF(count) (FAKE_BIT(count) - 2) /* but the unknown one */

enum fake_trouble {
    FAKE_FINE,
    FAKE_FINAL,          /* Internal, and nothing happens */
    FAKE_IN_PROGRESS,    /* DeadlineExceeded of the driver, and nothing happens yet */
    FAKE_LOST,           /* it happens, and the connection breaks */
    FAKE_CRASH_SENT,     /* it happens, and the caller's process ends before the answer */
    FAKE_CRASH_ANSWERED, /* the caller's process ends when it has done what the answer called for */
    FAKE_TROUBLE_COUNT,
};

struct fake_volume {
    char id[FAKE_TEXT_BYTES]; /* "": free */
    char name[FAKE_TEXT_BYTES];
    struct buf request; /* of its creation, without secrets */
    int64_t bytes;
    char nodes[FAKE_NODES_MAX][FAKE_TEXT_BYTES]; /* published there; "": free */
    char parameters[FAKE_TEXT_BYTES];            /* mutable, "k=v " each */
    bool is_abnormal;
};

struct fake_snapshot {
    char id[FAKE_TEXT_BYTES]; /* "": free */
    char source[FAKE_TEXT_BYTES];
    char group[FAKE_TEXT_BYTES]; /* "": none */
    struct buf request;          /* of its creation, without secrets */
    int64_t bytes;
    unsigned polls; /* CreateSnapshot and ListSnapshots that still find it unready */
};

/* One call to a driver; for `serve` of a test. */
struct fake_request {
    const char *method; /* "CreateVolume" */
    struct str message;
    struct buf answer; /* a message */
    enum rpc_code code;
    char words[FAKE_TEXT_BYTES];
};

struct fake_call;

struct fake_csi {
    struct loop *loop;
    const char *socket;
    struct parts *parts; /* whose process a call may end; NULL: nobody's */
    /* As the driver is; may be changed at any time. */
    const char *name;
    bool is_not_ready;
    unsigned plugin;     /* FAKE_BIT of PluginCapability.Service.Type */
    unsigned controller; /* FAKE_BIT of ControllerServiceCapability.RPC.Type */
    unsigned node;       /* FAKE_BIT of NodeServiceCapability.RPC.Type; 0: there is no Node service */
    uint64_t delay_ns;   /* of every answer */
    const char *held;    /* calls of this method arrive at fake_csi_release() */
    size_t page;         /* entries of ListVolumes; 0: all */
    int64_t capacity;    /* of GetCapacity, before the volumes that there are */
    int64_t volume_max;  /* of GetCapacity; 0: none is named */
    int64_t size;        /* of created volumes; 0: as requested */
    bool is_node_expansion_required;
    unsigned snapshot_polls; /* of new snapshots: answers before they are ready */
    bool ignores_sources;    /* CreateVolume answers without the content source */
    const char *topology;    /* "key=value" of created volumes; NULL: none */
    /* The next calls of a method fail with this code; 0 times: none. */
    struct {
        const char *method;
        enum rpc_code code;
        const char *words;
        unsigned times;
    } fails;
    /* True: it has set the answer or the code. NULL: none. */
    bool (*serve)(struct fake_csi *f, struct fake_request *q);
    void *ctx;
    /* What goes wrong with the at-th call, from 1. */
    enum fake_trouble trouble;
    unsigned at;
    unsigned count; /* calls so far */
    /* What has happened. */
    bool is_up;
    unsigned sessions; /* watched so far */
    unsigned in_flight, most_in_flight;
    struct buf log;                 /* "CreateVolume pvc-1 OK\n"; the subject is a name or an id */
    struct buf wrong;               /* what a careful caller never does */
    char last[FAKE_TEXT_BYTES * 4]; /* the last request, in words: see csi_fake.c */
    struct fake_volume volumes[FAKE_VOLUMES_MAX];
    struct fake_snapshot snapshots[FAKE_VOLUMES_MAX];
    /* Private. */
    TAILQ_ENTRY(fake_csi) link;
    TAILQ_HEAD(, fake_call) calls;
    TAILQ_HEAD(, rpc_watch) watches;
    struct timer timer;
    struct deferred deliver;
};

/* Listens, with every capability. From here on all calls of this thread go to fakes. */
void fake_csi_init(struct fake_csi *f, struct loop *l, const char *socket);
void fake_csi_done(struct fake_csi *f);

/* The driver ends: calls in flight end as Unavailable, its volumes stay. It begins again with no session. */
void fake_csi_end(struct fake_csi *f);
void fake_csi_begin(struct fake_csi *f);
/* Held calls arrive, in order; so do later ones. */
void fake_csi_release(struct fake_csi *f);

/* A volume that was made by other means; its id is its name. */
struct fake_volume *fake_csi_add(struct fake_csi *f, const char *name, int64_t bytes);
/* NULL: none of that id. */
struct fake_volume *fake_csi_volume(struct fake_csi *f, const char *id);
bool fake_csi_is_published(struct fake_csi *f, const char *id, const char *node);
unsigned fake_csi_count_volumes(const struct fake_csi *f);
/* A snapshot that was made by other means. */
struct fake_snapshot *fake_csi_add_snapshot(struct fake_csi *f, const char *id, const char *source);
/* NULL: none of that id. */
struct fake_snapshot *fake_csi_snapshot(struct fake_csi *f, const char *id);
unsigned fake_csi_count_snapshots(const struct fake_csi *f);

/* The calls since the last time are exactly these: lines of the log. */
void assert_called(struct fake_csi *f, const char *expected);
/* Nothing was done that a careful caller never does. */
void assert_careful(const struct fake_csi *f);

/* --- The driver beside a part (test_parts.h) --- */

/* For the part's make(): there from the first process of the parts to their end, at FAKE_SOCKET. */
struct fake_csi *fake_for(const struct component_deps *o);
struct fake_csi *fake_of_parts(void);
/* Called when the driver of parts is made, before anybody asks it. NULL: nothing. */
extern void (*fake_on_made)(struct fake_csi *f);

/* As assert_ends_the_same(), with something wrong at each request and, after that, at each call of the
 * driver: API objects and the driver's volumes end as on a good day, and nothing careless was done. */
void assert_all_ends_the_same(const struct part_type *type, void (*scenario)(struct parts *w));

#endif

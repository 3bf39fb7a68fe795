/* One CSI driver as the controllers see it: its socket, its state and its capabilities, and the calls to its
 * Identity and Controller services.
 *
 *   absent ──socket──► connecting ──► probing ──► ready ──lost connection──► lost ──► probing …
 *
 * A driver is probed every second until it is ready; then its name and its capabilities are read, and again
 * whenever the connection was lost: a restarted driver may be another version. Nothing is sent to a driver
 * that is not ready: such a call ends as CSI_NOT_SENT.
 *
 * Calls share one HTTP/2 session per driver (rpc/rpc.h), which is watched: the end of a driver is noticed at
 * once, and a driver at rest costs no wake-up. Each method has a limit of calls in flight; further ones wait
 * in order. The code of an answer larger than CSI_ANSWER_BYTES_MAX is ResourceExhausted, and its outcome
 * CSI_IN_PROGRESS, since the driver did something. The loop never blocks, and no call has a thread. */
#ifndef BERTH_CONTROLLERS_CSI_CSI_PEER_H
#define BERTH_CONTROLLERS_CSI_CSI_PEER_H

#include <protobuf-c/protobuf-c.h>

#include "api/object.h"
#include "base/clock.h"
#include "machinery/metrics.h"
#include "plugins/csi/drivers.h"
#include "rpc/rpc.h"

#define CSI_ANSWER_BYTES_MAX ((size_t)4 << 20)
#define CSI_CREATES_MAX 100
#define CSI_OTHERS_MAX 10
#define CSI_REFUSAL_BYTES 256
#define CSI_UID_BYTES 64
/* Objects whose last failed call is remembered, per driver; the oldest is forgotten first. */
#define CSI_FAILURES_MAX 256

struct csi_peer;

enum csi_peer_state {
    CSI_PEER_ABSENT, /* no socket is known */
    CSI_PEER_CONNECTING,
    CSI_PEER_PROBING, /* connected, and does not report ready yet */
    CSI_PEER_READY,
    CSI_PEER_LOST, /* was ready; the connection broke */
    CSI_PEER_STATE_COUNT,
};
extern const char *const csi_peer_state_names[];

/* What a driver can do: capabilities of its Identity, Controller and Node services. */
enum csi_ability {
    CSI_ABILITY_CONTROLLER, /* plugin capability CONTROLLER_SERVICE */
    CSI_ABILITY_TOPOLOGY,   /* plugin capability VOLUME_ACCESSIBILITY_CONSTRAINTS */
    CSI_ABILITY_CREATE_DELETE_VOLUME,
    CSI_ABILITY_PUBLISH,
    CSI_ABILITY_LIST_VOLUMES,
    CSI_ABILITY_GET_CAPACITY,
    CSI_ABILITY_CREATE_DELETE_SNAPSHOT,
    CSI_ABILITY_LIST_SNAPSHOTS,
    CSI_ABILITY_CLONE_VOLUME,
    CSI_ABILITY_PUBLISH_READONLY,
    CSI_ABILITY_EXPAND_VOLUME,
    CSI_ABILITY_LIST_PUBLISHED_NODES,
    CSI_ABILITY_VOLUME_CONDITION,
    CSI_ABILITY_GET_VOLUME,
    CSI_ABILITY_SINGLE_NODE_MULTI_WRITER,
    CSI_ABILITY_MODIFY_VOLUME,
    CSI_ABILITY_NODE_EXPAND, /* node capability EXPAND_VOLUME; false when there is no Node service */
    CSI_ABILITY_COUNT,
};
/* As the protocol spells them: "CREATE_DELETE_VOLUME". */
extern const char *const csi_ability_names[];

/* How a call ended, for the decisions of its owner; csi_error_class() has the table of codes. */
enum csi_outcome {
    CSI_DONE,
    CSI_NOT_SENT,    /* the driver is not ready or cannot be reached: nothing has changed */
    CSI_IN_PROGRESS, /* Canceled, DeadlineExceeded, Unavailable, Aborted, no status: may take effect later */
    CSI_EXHAUSTED,   /* ResourceExhausted: final or not depends on the operation */
    CSI_INFEASIBLE,  /* final, and the same request will fail again */
    CSI_FINAL,       /* failed, and nothing of it is left */
    CSI_OUTCOME_COUNT,
};
/* "infeasible": for explanations. */
extern const char *const csi_outcome_names[];

enum csi_controller_method {
    CSI_PROBE,
    CSI_GET_PLUGIN_INFO,
    CSI_GET_PLUGIN_CAPABILITIES,
    CSI_CONTROLLER_GET_CAPABILITIES,
    CSI_PEER_NODE_GET_CAPABILITIES,
    CSI_CREATE_VOLUME,
    CSI_DELETE_VOLUME,
    CSI_CONTROLLER_PUBLISH,
    CSI_CONTROLLER_UNPUBLISH,
    CSI_LIST_VOLUMES,
    CSI_GET_CAPACITY,
    CSI_CONTROLLER_EXPAND,
    CSI_CONTROLLER_GET_VOLUME,
    CSI_CONTROLLER_MODIFY,
    CSI_CREATE_SNAPSHOT,
    CSI_DELETE_SNAPSHOT,
    CSI_LIST_SNAPSHOTS,
    CSI_CONTROLLER_METHOD_COUNT,
};

/* The class of a status code that a driver answered to a method. Pure. rpc_code_name() has the names of
 * codes, for conditions and metrics. */
enum csi_outcome csi_error_class(enum csi_controller_method m, enum rpc_code code);
/* "CreateVolume". */
const char *csi_method_name(enum csi_controller_method m);

struct csi_peer_options {
    struct loop *loop;
    struct rpc_client *rpc;  /* outlives the peer */
    struct metrics *metrics; /* NULL: not counted */
    const char *name;        /* of the driver, which must report it; NULL: as the driver reports */
    const char *socket;      /* NULL: absent */
    unsigned creates_max;    /* calls in flight; 0: CSI_CREATES_MAX */
    unsigned others_max;     /* of each other method; 0: CSI_OTHERS_MAX */
    /* State, capabilities or the last error have changed. On the loop, never from within a function of the
     * peer. */
    void (*on_change)(void *ctx, struct csi_peer *p);
    void *ctx;
};

int csi_peer_new(const struct csi_peer_options *o, struct csi_peer **ret, struct error *err);
/* Its calls must have been cancelled. Accepts NULL. */
struct csi_peer *csi_peer_free(struct csi_peer *p);
DEFINE_CLEANUP(struct csi_peer, csi_peer_free)

/* Another socket; NULL: none. The driver is not ready until it was probed. Calls in flight continue where
 * they were sent. For the same socket: a driver that is not ready is probed at once. */
int csi_peer_set_socket(struct csi_peer *p, const char *socket, struct error *err);

enum csi_peer_state csi_peer_state(const struct csi_peer *p);
/* "" until it is known. */
const char *csi_peer_name(const struct csi_peer *p);
const char *csi_peer_socket(const struct csi_peer *p);
/* As last read; false until the driver was ready once. A lost driver keeps its capabilities, because
 * functions end a little later: to them it must not be a driver that can do nothing. */
bool csi_peer_can(const struct csi_peer *p, enum csi_ability a);
/* Why the driver is not ready, or the last failed call with its method; "": nothing failed. */
const char *csi_peer_last_error(const struct csi_peer *p);
/* Loop time of the last change of state. */
uint64_t csi_peer_since_ns(const struct csi_peer *p);
unsigned csi_peer_calls_in_flight(const struct csi_peer *p);

/* What is known of the work on an object, for explanations. Texts are borrowed. */
struct csi_work_state {
    const char *call;  /* "ControllerPublishVolume": in flight, or the one that failed last; "": none */
    bool is_in_flight; /* since since_ns, loop time */
    uint64_t since_ns;
    const char *last_error;   /* the driver's own words; "": it did not fail */
    enum csi_outcome outcome; /* of the failure */
    enum rpc_code code;
    uint64_t failed_ns;   /* loop time; 0: not known */
    uint64_t next_try_ns; /* loop time; 0: none is planned */
};
/* The calls about an object, by its uid: false if none is in flight and the last one did not fail. */
bool csi_peer_explain(const struct csi_peer *p, const char *uid, struct csi_work_state *ret);
/* NULL if its calls are consistent, else what is wrong. For the simulator. */
const char *csi_peer_check(const struct csi_peer *p);

struct csi_answer {
    enum csi_outcome outcome;
    enum rpc_code code;
    const ProtobufCMessage *message; /* of the method's type; NULL unless CSI_DONE */
    const struct error *err;         /* unless CSI_DONE: `rpc error: code = NAME desc = …` */
    const char *words;               /* the driver's own message, complete; "" if it sent none */
};

/* Embedded by its owner, zeroed before its first use; must not move while it is active. */
struct csi_controller_call {
    /* Once, on the loop, never from within csi_controller_call_start(). The answer is valid until it
     * returns; it may start the call again or free its owner. */
    void (*done)(struct csi_controller_call *c, const struct csi_answer *a);
    char about[CSI_UID_BYTES]; /* uid of the object that the call is for; "": none */

    /* Private to csi_peer.c. */
    struct csi_peer *peer; /* NULL: idle */
    enum csi_controller_method method;
    enum csi_call_place { CSI_CALL_REFUSED, CSI_CALL_WAITING, CSI_CALL_IN_FLIGHT } place;
    TAILQ_ENTRY(csi_controller_call) link; /* in the list of its place */
    struct buf message;                    /* until it is sent */
    uint64_t limit_ns;
    uint64_t began_ns;
    struct rpc_call rpc;
    char refusal[CSI_REFUSAL_BYTES]; /* why nothing was sent */
};

/* The request is packed at once. limit_ns counts from when it is sent. */
void csi_controller_call_start(struct csi_peer *p, struct csi_controller_call *c,
                               enum csi_controller_method m, const ProtobufCMessage *request,
                               uint64_t limit_ns);
/* Sets what it is about, before it is started: explanations of the object then show the call. */
void csi_controller_call_about(struct csi_controller_call *c, const struct object *o);
/* Without a callback. A request that was sent may still take effect. Accepts an idle one. */
void csi_controller_call_cancel(struct csi_controller_call *c);
static inline bool csi_controller_call_is_active(const struct csi_controller_call *c)
{
    return c->peer != NULL;
}

#endif

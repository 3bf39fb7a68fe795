/* The client of the Kubernetes API: requests are sent, objects and events are reported, on the loop.
 *
 * One interface for every way to reach an API server (client/carrier.h): over HTTP, to the server in this
 * process, through the simulator's faulty network. client.c has what they share: refusal of names that cannot
 * be part of a path, rate limit, deadlines, retries that a server asks for, gate, metrics.
 *
 * A call is embedded by its owner, who may have hundreds in flight. Its end is reported once, on the loop,
 * never from inside client_send(); a cancelled call is not reported. Nothing here blocks and nothing fails at
 * the start: every failure, out of memory included, is an answer.
 *
 * Every object in an answer or event is borrowed for the duration of the callback: take a reference to keep
 * it. The callback may cancel the call, send it again or free its owner. */
#ifndef BERTH_CLIENT_CLIENT_H
#define BERTH_CLIENT_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "api/kind.h"
#include "api/object.h"
#include "api/status.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "client/carrier.h"
#include "io/loop.h"

struct client;
struct map;

#define CLIENT_DEADLINE_NS (30 * NS_PER_S)
#define CLIENT_RETRIES_MAX 10
/* The longest Retry-After that is obeyed. */
#define CLIENT_RETRY_AFTER_NS_MAX (30 * NS_PER_S)
/* All texts of a request, its body included. */
#define CLIENT_REQUEST_BYTES_MAX ((size_t)16 << 20)

enum client_verb {
    CLIENT_GET,
    CLIENT_LIST, /* one page */
    CLIENT_WATCH,
    CLIENT_CREATE,
    CLIENT_PATCH,
    CLIENT_DELETE,
    CLIENT_RAW, /* GET of a path that is not a resource: "/version" */
    CLIENT_VERB_COUNT,
};

enum client_patch { CLIENT_PATCH_MERGE, CLIENT_PATCH_JSON, CLIENT_PATCH_STRATEGIC, CLIENT_PATCH_APPLY };

/* Texts may be NULL for absent, and are copied. */
struct client_request {
    enum client_verb verb;
    const struct kind_info *kind; /* NULL for CLIENT_RAW only */
    const char *ns;               /* absent: cluster scope, and all namespaces for lists and watches */
    const char *name;
    const char *subresource; /* "status", "binding", "eviction" */
    const char *path;        /* of CLIENT_RAW */
    /* The Accept header, for callers that show the answer and do not decode it: a Table, or an object with
     * all fields of the server. Answers and events then have text instead of objects. Carriers without HTTP
     * always answer in plain JSON. Absent: objects. */
    const char *accept;

    /* get, list, watch */
    const char *label_selector;
    const char *field_selector;
    const char *resource_version; /* "": the parameter is sent, and empty */
    const char *version_match;    /* resourceVersionMatch */
    const char *continue_token;
    uint64_t limit;
    uint32_t timeout_seconds; /* of a watch */
    bool wants_bookmarks;
    bool wants_initial_events;  /* sendInitialEvents */
    const char *include_object; /* of a Table's rows: "Object", "None" */

    /* create, patch */
    struct str body;
    enum client_patch patch;
    const char *field_manager;
    const char *field_validation; /* "Strict" … */
    bool is_forced;               /* of an apply */
    bool is_dry_run;              /* of a delete, too */
    /* The answer is of another kind than the one written to (a service account's "token"): it is returned as
     * text. */
    bool wants_text;

    /* delete */
    const char *if_uid;
    const char *if_version;
    const char *propagation; /* "Foreground" … */
    bool has_grace;
    uint64_t grace_seconds;

    /* From sending to the end, retries included; 0: CLIENT_DEADLINE_NS. A watch has only the carrier's: it
     * ends when nothing was received for its timeout_seconds plus half a minute. */
    uint64_t deadline_ns;
    /* Bypasses rate limit and gate: for renewing a lease. */
    bool is_urgent;
};

struct client_list {
    struct object *const *items;
    size_t count;
    const char *resource_version;
    const char *continue_token; /* "" on the last page */
    int64_t remaining;          /* -1 when unknown */
    /* Items that could not be decoded and are missing above. */
    size_t undecodable;
};

/* The end of a call. */
struct client_answer {
    int r;              /* 0, or -error.code */
    struct error error; /* ERR_UNSUPPORTED for a 404 without a Status: the path is not served */
    int http_status;    /* 0 when there was no answer */
    /* The server's Status of a refusal, or one derived from the HTTP status; else NULL. */
    const struct status_info *status;
    /* A write that may have taken effect although it was not confirmed: read before you retry. */
    bool may_have_happened;
    bool was_connected;          /* no answer was received, but the connection had been established */
    int64_t retry_after_seconds; /* of the header; -1 when absent */

    struct object *object;   /* get, create, patch; delete where the server answers with the object */
    struct client_list list; /* list */
    struct str text;         /* raw, and with `accept` or wants_text */
};

/* The answer is valid until the callback returns. For a watch: its end, r == 0 when the server ended it
 * cleanly. */
typedef void client_done_fn(void *ctx, const struct client_answer *a);

enum client_event_type {
    CLIENT_ADDED,
    CLIENT_MODIFIED,
    CLIENT_DELETED,
    CLIENT_BOOKMARK,
    CLIENT_ERROR,
    CLIENT_UNREADABLE, /* a line that is not an event or contains no object: the stream continues */
    CLIENT_EVENT_TYPE_COUNT,
};

struct client_event {
    enum client_event_type type;
    struct object *object;    /* of ADDED, MODIFIED, DELETED */
    const char *version;      /* its resourceVersion; the only content of a bookmark */
    bool ends_initial_events; /* a bookmark with that annotation */
    struct str text;          /* instead of the object: the whole line, when `accept` was set */
    /* For CLIENT_ERROR: the server's error, as in an answer. For CLIENT_UNREADABLE: only error is set. */
    const struct error *error;
    const struct status_info *status;
};

typedef void client_event_fn(void *ctx, const struct client_event *ev);

/* One request in flight. Zeroed before its first use; must not be moved until its end. */
struct client_call {
    struct client_attempt attempt;
    struct client *client; /* NULL: idle */
    TAILQ_ENTRY(client_call) link;
    struct client_request request; /* texts in the arena */
    struct arena arena;
    client_done_fn *done;
    client_event_fn *on_event;
    void *ctx;
    unsigned state;    /* private to client.c */
    unsigned retries;  /* made so far */
    bool is_uncertain; /* an earlier attempt may have taken effect */
    uint64_t started_ns;
    uint64_t queued_ns; /* when it was queued for the limit */
    uint64_t sent_ns;
    struct timer timer; /* of the deadline, or the next attempt */
    struct deferred deferred;
    struct error *failure; /* in the arena: failure to be reported, or of the last attempt */
};

/* The duration of a watch is not measured. */
#define CLIENT_TOOK_NONE UINT64_MAX

/* Receives metrics (machinery/client_metrics.h). `method` is HTTP's; `code` 0 when there was no answer. */
struct client_observer {
    /* An attempt ended, other than by client_cancel(). took_ns is CLIENT_TOOK_NONE for a watch. */
    void (*on_attempt)(void *ctx, const char *method, int code, uint64_t took_ns);
    /* The request is retried. */
    void (*on_retry)(void *ctx, const char *method, int code);
    /* A request that is subject to the limit was sent after waiting so long; 0 when it did not wait. */
    void (*on_waited)(void *ctx, const char *method, uint64_t waited_ns);
    void *ctx;
};

struct client_options {
    struct loop *loop;
    struct client_carrier *carrier; /* owned by the client from here on, also on failure */
    /* Requests per second and the size of a burst; qps 0: no limit. */
    double qps;
    unsigned burst;
    const struct client_observer *observer; /* borrowed; NULL: none */
    /* Receives the server's warnings, each text once; NULL: they are logged. */
    void (*on_warning)(struct str text);
};

int client_new(const struct client_options *o, struct client **ret, struct error *err);
/* Every call must have ended or been cancelled. Takes NULL. Sends nothing. */
struct client *client_free(struct client *c);
DEFINE_CLEANUP(struct client, client_free)

/* The call must be idle. */
void client_send(struct client *c, struct client_call *call, const struct client_request *q,
                 client_done_fn *done, void *ctx);
/* A stream of events; done is called after the last. */
void client_watch(struct client *c, struct client_call *call, const struct client_request *q,
                  client_event_fn *on_event, client_done_fn *done, void *ctx);
/* Neither done nor on_event is called any more. A request that was sent may still take effect. Also for an
 * idle call. */
void client_cancel(struct client_call *call);

static inline bool client_call_is_active(const struct client_call *call)
{
    return call->client != NULL;
}

/* Called before each write is sent, retries included: false fails it with ERR_CANCELLED and the message. For
 * components that may write only while they hold a lease. NULL: no gate. */
typedef bool client_gate_fn(void *ctx, struct error *err);
void client_set_gate(struct client *c, client_gate_fn *gate, void *ctx);

/* The writer of each object, by uid: for machinery/api_write.c, here because there is one map per client. */
struct map *client_writers(struct client *c);

/* --- Interpretation of answers --- */

/* The object was changed, or replaced by another of the same name, since it was read: 409 Conflict, or 422
 * for metadata.uid. */
bool client_is_conflict(const struct client_answer *a);
/* The namespace is terminating: nothing can be created in it. */
bool client_is_terminating(const struct client_answer *a);
/* The server has not reached the requested version. Of an answer and of an ERROR event. */
bool client_is_too_large_version(const struct status_info *s);

#endif

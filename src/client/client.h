/* The API, as whoever uses it sees it: requests go out, objects and events come back, on the loop.
 *
 * One interface for every way to reach an API server (client/carrier.h): over HTTP, to the server in this
 * process, through the simulator's bad network. client.c is what they have in common: names that no path may
 * have, the limit on requests, deadlines, retries that a server asks for, the gate, counts.
 *
 * A call is embedded by its owner, who may have hundreds on their way at once. Its end is told once, on the
 * loop, never from inside client_send(); a call that is cancelled is not heard of again. Nothing here blocks
 * and nothing here fails at the start: what goes wrong, down to lack of memory, is an answer.
 *
 * Every object in an answer or event is borrowed for the length of the callback: take a reference to keep
 * it. The callback may cancel the call, send it anew or free its owner. */
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
/* What a server may ask us to wait. */
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
    CLIENT_RAW, /* GET of a path that is no resource: "/version" */
    CLIENT_VERB_COUNT,
};

enum client_patch { CLIENT_PATCH_MERGE, CLIENT_PATCH_JSON, CLIENT_PATCH_STRATEGIC, CLIENT_PATCH_APPLY };

/* What is asked. Texts may be NULL for absent, and are copied. */
struct client_request {
    enum client_verb verb;
    const struct kind_info *kind; /* NULL for CLIENT_RAW alone */
    const char *ns;               /* none: cluster scope, and all namespaces for lists and watches */
    const char *name;
    const char *subresource; /* "status", "binding", "eviction" */
    const char *path;        /* of CLIENT_RAW */
    /* The form to be answered in, as the Accept header has it, for who shows the answer and does not decode
     * it: a Table, or an object with all that the server says. It comes as text then, in answers and events.
     * Carriers that do not go over HTTP answer in plain JSON whatever is asked for. None: objects. */
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
    /* The answer is another kind than the one written to (a service account's "token"): it comes as text. */
    bool wants_text;

    /* delete */
    const char *if_uid;
    const char *if_version;
    const char *propagation; /* "Foreground" … */
    bool has_grace;
    uint64_t grace_seconds;

    /* From sending to the end, retries included; 0: CLIENT_DEADLINE_NS. A watch has none but the carrier's:
     * it is dead when nothing came for its timeout_seconds and half a minute. */
    uint64_t deadline_ns;
    /* Passes by the limit and the gate: renewing a lease. */
    bool is_urgent;
};

struct client_list {
    struct object *const *items;
    size_t count;
    const char *resource_version;
    const char *continue_token; /* "" on the last page */
    int64_t remaining;          /* -1 when it is not said */
    /* Items that could not be read and are missing above. */
    size_t undecodable;
};

/* How a call ended. */
struct client_answer {
    int r;              /* 0, or -error.code */
    struct error error; /* ERR_UNSUPPORTED for a 404 that is no Status: the path is not served */
    int http_status;    /* 0 when no answer came */
    /* What the server said, when it refused with a Status or one was made up for it; else NULL. */
    const struct status_info *status;
    /* A write that may have taken effect although no answer says so: look before it is sent again. */
    bool may_have_happened;
    bool was_connected;          /* no answer came, but the connection had been made */
    int64_t retry_after_seconds; /* of the header; -1 when there was none */

    struct object *object;   /* get, create, patch; delete where the server answers with the object */
    struct client_list list; /* list */
    struct str text;         /* raw, and whatever was asked for with `accept` or wants_text */
};

/* The answer lives as long as the callback. For a watch: its end, r == 0 when the server ended it cleanly. */
typedef void client_done_fn(void *ctx, const struct client_answer *a);

enum client_event_type {
    CLIENT_ADDED,
    CLIENT_MODIFIED,
    CLIENT_DELETED,
    CLIENT_BOOKMARK,
    CLIENT_ERROR,
    CLIENT_UNREADABLE, /* a line that is no event or holds no object: the stream goes on */
    CLIENT_EVENT_TYPE_COUNT,
};

struct client_event {
    enum client_event_type type;
    struct object *object;    /* of ADDED, MODIFIED, DELETED */
    const char *version;      /* its resourceVersion; of a bookmark, all there is */
    bool ends_initial_events; /* a bookmark with that annotation */
    struct str text;          /* in place of the object: the whole line, when `accept` was said */
    /* Of CLIENT_ERROR: what the server said, as in an answer. Of CLIENT_UNREADABLE: error alone. */
    const struct error *error;
    const struct status_info *status;
};

typedef void client_event_fn(void *ctx, const struct client_event *ev);

/* One request on its way. Zeroed before its first use; must stay where it is until its end. */
struct client_call {
    struct client_attempt attempt;
    struct client *client; /* NULL: idle */
    TAILQ_ENTRY(client_call) link;
    struct client_request request; /* texts in the arena */
    struct arena arena;
    client_done_fn *done;
    client_event_fn *on_event;
    void *ctx;
    unsigned state;    /* client.c's */
    unsigned retries;  /* made so far */
    bool is_uncertain; /* a try before this one may have taken effect */
    uint64_t started_ns;
    uint64_t queued_ns; /* for the limit */
    uint64_t sent_ns;
    struct timer timer; /* of the deadline, or the next try */
    struct deferred deferred;
    struct error *failure; /* in the arena: what is still to be told, or why the last try failed */
};

/* How long a watch took is of no interest: as long as it may. */
#define CLIENT_TOOK_NONE UINT64_MAX

/* Whoever counts (machinery/client_metrics.h). `method` is HTTP's; `code` 0 when no answer came. */
struct client_observer {
    /* An attempt ended, other than by client_cancel(). took_ns is CLIENT_TOOK_NONE for a watch. */
    void (*on_attempt)(void *ctx, const char *method, int code, uint64_t took_ns);
    /* It will be tried again. */
    void (*on_retry)(void *ctx, const char *method, int code);
    /* A request that the limit holds for left, after so long: 0 when it did not have to wait. */
    void (*on_waited)(void *ctx, const char *method, uint64_t waited_ns);
    void *ctx;
};

struct client_options {
    struct loop *loop;
    struct client_carrier *carrier; /* the client's from here on, also when this fails */
    /* Requests a second and how many may go at once; qps 0: no limit. */
    double qps;
    unsigned burst;
    const struct client_observer *observer; /* borrowed; NULL: nobody */
    /* Hears the server's warnings, each text once; NULL: the log does. */
    void (*on_warning)(struct str text);
};

int client_new(const struct client_options *o, struct client **ret, struct error *err);
/* Every call is over or cancelled by now. Takes NULL. Sends nothing. */
struct client *client_free(struct client *c);
DEFINE_CLEANUP(struct client, client_free)

/* The call is idle. */
void client_send(struct client *c, struct client_call *call, const struct client_request *q,
                 client_done_fn *done, void *ctx);
/* A stream of events; done comes after the last. */
void client_watch(struct client *c, struct client_call *call, const struct client_request *q,
                  client_event_fn *on_event, client_done_fn *done, void *ctx);
/* Neither done nor on_event come any more. What was sent may still take effect. Takes an idle call too. */
void client_cancel(struct client_call *call);

static inline bool client_call_is_active(const struct client_call *call)
{
    return call->client != NULL;
}

/* Asked before each write leaves, the first try and every other: false drops it with ERR_CANCELLED and its
 * words. For who may write only while it leads. NULL: no gate. */
typedef bool client_gate_fn(void *ctx, struct error *err);
void client_set_gate(struct client *c, client_gate_fn *gate, void *ctx);

/* Who writes which object, by uid: machinery/write.c's, here because it is one per client. */
struct map *client_writers(struct client *c);

/* --- What an answer means --- */

/* The object was changed, or replaced by another of its name, since it was read: 409 Conflict, or 422 about
 * metadata.uid. */
bool client_is_conflict(const struct client_answer *a);
/* The namespace is going: nothing can be made there. */
bool client_is_terminating(const struct client_answer *a);
/* The server is behind the version asked for. Of an answer and of an ERROR event. */
bool client_is_too_large_version(const struct status_info *s);

#endif

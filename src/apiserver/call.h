/* A call: one request to the API and its answer, whoever carries it.
 *
 * The carrier (an HTTP request in call_http.c, or the client in this process) makes the call, fills in what
 * was asked, and hands it to apiserver_serve(). Sooner or later, once, the server hands it back through
 * carrier->answer() with the answer in it; until then the call belongs to the server. A body is given whole;
 * an answer is either whole (`reply`) or a stream (`stream`: a watch, or a list that is long).
 *
 * Texts that a handler needs for the length of the call live in its arena. */
#ifndef BERTH_APISERVER_CALL_H
#define BERTH_APISERVER_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "api/list.h"
#include "api/object.h"
#include "api/status.h"
#include "api/validate.h"
#include "apiserver/resource.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/vec.h"
#include "http/message.h"
#include "http/params.h"
#include "io/socket.h"

/* The most a request body may have; the carrier stops reading there and sets body_is_too_large. */
#define CALL_BODY_BYTES_MAX HTTP_BODY_BYTES_MAX
/* An answer may be a list of everything there is. */
#define CALL_ANSWER_BYTES_MAX ((size_t)1 << 30)

struct apiserver;
struct call;

/* Further facts about a user, of no consequence here: shown to whoever asks. */
struct user_extra {
    const char *key;
    const char *const *values; /* ends with NULL */
};

/* Who is calling (user.h). Texts are never NULL. */
struct user {
    const char *name;
    const char *uid;
    const char *const *groups;      /* ends with NULL */
    const struct user_extra *extra; /* ends with a NULL key; NULL for none */
};

typedef http_header_fn call_header_fn;

struct carrier {
    /* The first value of a request header, any case; .s is NULL when there is none. */
    struct str (*header)(const struct call *c, const char *name);
    /* Every request header, in the order they came. */
    void (*each_header)(const struct call *c, call_header_fn *fn, void *ctx);
    /* The answer is in the call. The carrier sends it and releases the call with call_done(). */
    void (*answer)(struct call *c);
    bool takes_documents; /* as streams; else they come whole */
};

/* What a watch tells of an object. */
enum watch_event_type { WATCH_ADDED, WATCH_MODIFIED, WATCH_DELETED, WATCH_EVENT_TYPE_COUNT };

enum media { MEDIA_JSON, MEDIA_YAML };
/* What the client wants to see of objects. */
enum shape { SHAPE_OBJECT, SHAPE_TABLE, SHAPE_PARTIAL };
enum include_object { INCLUDE_METADATA, INCLUDE_OBJECT, INCLUDE_NONE };

/* How answers are to be written: from the Accept header and the parameters `pretty` and `includeObject`. */
struct view {
    enum media media;
    enum shape shape;
    const char *shape_version; /* "v1" or "v1beta1" of meta.k8s.io, for tables and partial objects */
    enum include_object include;
    bool is_pretty;
};

/* What is being asked for: from the method and the path (route.h). The first part is what was written,
 * whether or not it exists: access is decided on it before existence is told. */
struct route {
    const char *path; /* percent-decoded, dots resolved, without a trailing slash; "/" for the root */
    bool is_resource; /* below /api/VERSION/ or /apis/GROUP/VERSION/ */
    enum verb verb;
    struct str group;
    struct str version;
    struct str plural;
    struct str sub_name;
    struct str ns; /* "" for cluster scope and for all namespaces */
    struct str name;

    const struct resource *resource; /* NULL when there is none */
    const struct subresource *sub;   /* NULL for none */
};

struct call {
    /* Filled in by the carrier. */
    const struct carrier *carrier;
    void *carrier_ctx;
    enum http_method method;
    struct str target; /* as sent: path and query, still encoded */
    struct str body;
    bool body_is_too_large;
    const struct peer *peer; /* NULL without a client certificate */
    bool peer_is_invalid;    /* there is one, but not of our client CA's: no peer, and no access either */
    bool is_remote;          /* came over a connection: local_ip is this end's address */
    bool is_tls;             /* and the connection is encrypted */
    struct socket_ip local_ip;
    bool is_trusted;    /* a caller in this process: nobody asks who it is, and it is not counted */
    bool wants_objects; /* a client in this process: gets objects for text, and is not counted either */

    /* The server's. */
    struct apiserver *server;
    struct arena arena;
    const struct user *user;
    const struct error *user_error; /* the caller has been refused, and why; NULL: not asked for, or known */
    struct params params;
    struct route route;
    struct view view;
    uint64_t started_ns;
    void *work;                        /* of the handler that waits for something */
    bool is_in_flight;                 /* counted against the limit */
    void (*on_answer)(struct call *c); /* just before the carrier gets it back */

    /* The answer. */
    int status;
    const char *content_type;
    struct buf reply;
    struct stream *stream;
    VEC(struct http_header) headers;
    /* For a caller that wants objects; the reply is empty then. All are references. */
    struct object *result;
    VEC(struct object *) items; /* of a list */
    struct list_meta list;      /* of the same; texts in the arena, NUL-terminated */
};

/* A text of JSON that the server wrote, in the form asked for; and the type of that form. */
void view_shape_json(const struct view *view, struct buf *text);
const char *view_content_type(const struct view *view);

/* A zeroed call made ready, and released with everything in it. */
void call_init(struct call *c, const struct carrier *carrier, void *carrier_ctx);
void call_done(struct call *c);

/* The first value of a request header as a slice; empty when there is none. */
struct str call_header(const struct call *c, const char *name);

/* A printf into the call's arena; "" when there is no memory. */
const char *call_text(struct call *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A copy in the arena, NUL-terminated. */
const char *call_copy(struct call *c, struct str s);

/* Adds a header to the answer; both texts must live as long as the call. */
void call_add_header(struct call *c, const char *name, const char *value);
/* `Warning: 299 - "<text>"`, quoted. */
void call_warn(struct call *c, struct str text);

/* The answers. Each ends the call: c is the carrier's afterwards. */

/* What stands in c->reply, as it is. */
void call_answer_reply(struct call *c, int status, const char *content_type);
void call_answer_text(struct call *c, int status, const char *text);
/* A JSON tree or a text of JSON in the media and indentation that the client asked for, and a newline. */
void call_answer_json(struct call *c, int status, const struct json *d, json_ref v);
void call_answer_json_text(struct call *c, int status, struct str json);
/* The same for JSON that stands in c->reply already. */
void call_answer_json_reply(struct call *c, int status);
void call_answer_stream(struct call *c, struct stream *s, const char *content_type);
/* What stands in c->result, or in c->items and c->list. */
void call_answer_objects(struct call *c, int status);

/* Failures, as a Status. `about` gives details; NULL for none. */
void call_fail(struct call *c, const struct error *e, const struct status_info *about);
/* The same for a Status that no error code stands for: 405, 406, 415, 429, … */
void call_fail_status(struct call *c, const struct status_info *s);
/* An error that is about the resource of the route: details have name (may be ""), group and plural. */
void call_fail_resource(struct call *c, const struct error *e, struct str name);
void call_fail_invalid(struct call *c, const struct kind_info *k, struct str name,
                       const struct field_errors *errors);
/* 422 about an options object: `ListOptions.meta.k8s.io "" is invalid: E`. */
void call_fail_options(struct call *c, const char *options, const struct field_errors *errors);

#endif

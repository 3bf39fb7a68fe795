/* A call: one request to the API and its response, over any transport.
 *
 * The carrier (an HTTP request in call_http.c, or the client in this process) creates the call, fills in the
 * request, and passes it to apiserver_serve(). The server passes it back exactly once, possibly later,
 * through carrier->answer() with the response in it; until then the server owns the call. Request bodies are
 * complete; a response is either complete (`reply`) or a stream (`stream`: a watch or a long list).
 *
 * Texts that a handler needs during the call are in its arena. */
#ifndef BERTH_APISERVER_API_CALL_H
#define BERTH_APISERVER_API_CALL_H

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

/* Limit of a request body; the carrier stops reading there and sets body_is_too_large. */
#define CALL_BODY_BYTES_MAX HTTP_BODY_BYTES_MAX
/* A response may be a list of all objects. */
#define CALL_ANSWER_BYTES_MAX ((size_t)1 << 30)

struct apiserver;
struct call;

/* Further attributes of a user, not interpreted here: shown by reviews. */
struct user_extra {
    const char *key;
    const char *const *values; /* terminated by NULL */
};

/* The user that calls (user.h). Texts are never NULL. */
struct user {
    const char *name;
    const char *uid;
    const char *const *groups;      /* terminated by NULL */
    const struct user_extra *extra; /* terminated by a NULL key; NULL for none */
};

typedef http_header_fn call_header_fn;

struct carrier {
    /* The first value of a request header, case-insensitive; .s is NULL when there is none. */
    struct str (*header)(const struct call *c, const char *name);
    /* Every request header, in order. */
    void (*each_header)(const struct call *c, call_header_fn *fn, void *ctx);
    /* The response is in the call. The carrier sends it and releases the call with call_done(). */
    void (*answer)(struct call *c);
    bool takes_documents; /* streams documents; otherwise they are complete */
};

/* Types of watch events. */
enum watch_event_type { WATCH_ADDED, WATCH_MODIFIED, WATCH_DELETED, WATCH_EVENT_TYPE_COUNT };

enum media { MEDIA_JSON, MEDIA_YAML };
/* Representation of objects that the client requests. */
enum shape { SHAPE_OBJECT, SHAPE_TABLE, SHAPE_PARTIAL };
enum include_object { INCLUDE_METADATA, INCLUDE_OBJECT, INCLUDE_NONE };

/* Format of the response: from the Accept header and the parameters `pretty` and `includeObject`. */
struct view {
    enum media media;
    enum shape shape;
    const char *shape_version; /* "v1" or "v1beta1" of meta.k8s.io, for tables and partial objects */
    enum include_object include;
    bool is_pretty;
};

/* The target of a request, from the method and the path (route.h). The first part is as requested, whether or
 * not it exists: access is decided before existence is revealed. */
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
    /* Set by the carrier. */
    const struct carrier *carrier;
    void *carrier_ctx;
    enum http_method method;
    struct str target; /* as sent: path and query, still encoded */
    struct str body;
    bool body_is_too_large;
    const struct peer *peer; /* NULL without a client certificate */
    bool peer_is_invalid;    /* has a certificate, but not of our client CA: no peer, and no access */
    bool is_remote;          /* from a connection: local_ip is the local address */
    bool is_tls;             /* over TLS */
    struct socket_ip local_ip;
    bool is_trusted;    /* from this process: not authenticated and not counted */
    bool wants_objects; /* a client in this process: gets objects instead of text, and is not counted */

    /* Set by the server. */
    struct apiserver *server;
    struct arena arena;
    const struct user *user;
    const struct error
        *user_error; /* why the caller was refused; NULL: not refused, or not authenticated yet */
    struct params params;
    struct route route;
    struct view view;
    uint64_t started_ns;
    void *work;                        /* state of a handler that waits */
    bool is_in_flight;                 /* counts against the limit of calls in flight */
    void (*on_answer)(struct call *c); /* called just before the carrier gets the call back */

    /* Response. */
    int status;
    const char *content_type;
    struct buf reply;
    struct stream *stream;
    VEC(struct http_header) headers;
    /* For a caller that wants objects; the reply is empty then. All are references. */
    struct object *result;
    VEC(struct object *) items; /* of a list */
    struct list_meta list;      /* of the same list; texts in the arena, NUL-terminated */
};

/* Converts JSON text of the server to the requested format; and the content type of that format. */
void view_shape_json(const struct view *view, struct buf *text);
const char *view_content_type(const struct view *view);

/* Initializes a zeroed call; releases it with everything in it. */
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
/* Adds `Warning: 299 - "<text>"`, quoted. */
void call_warn(struct call *c, struct str text);

/* Responses. Each ends the call: the carrier owns c afterwards. */

/* Sends c->reply as it is. */
void call_answer_reply(struct call *c, int status, const char *content_type);
void call_answer_text(struct call *c, int status, const char *text);
/* Sends a JSON tree or text in the requested format, with a newline. */
void call_answer_json(struct call *c, int status, const struct json *d, json_ref v);
void call_answer_json_text(struct call *c, int status, struct str json);
/* The same for JSON that is in c->reply already. */
void call_answer_json_reply(struct call *c, int status);
void call_answer_stream(struct call *c, struct stream *s, const char *content_type);
/* Sends c->result, or c->items and c->list. */
void call_answer_objects(struct call *c, int status);

/* Errors, as a Status. `about` adds details; NULL for none. */
void call_fail(struct call *c, const struct error *e, const struct status_info *about);
/* The same for a Status without an error code of its own: 405, 406, 415, 429, … */
void call_fail_status(struct call *c, const struct status_info *s);
/* The same from separate values, with or without (empty) details. Returns false. */
bool call_refuse(struct call *c, int code, const char *reason, bool has_details, const char *message);
/* An error about the resource of the route: details have name (may be ""), group and plural. */
void call_fail_resource(struct call *c, const struct error *e, struct str name);
void call_fail_invalid(struct call *c, const struct kind_info *k, struct str name,
                       const struct field_errors *errors);
/* 422 about an options object: `ListOptions.meta.k8s.io "" is invalid: E`. */
void call_fail_options(struct call *c, const char *options, const struct field_errors *errors);

#endif

/* The embedded API server: state shared by its files.
 *
 * A call goes through serve.c (identity, limits, access, routing) to the handler of its verb: read.c (get and
 * list), watch.c, object_write.c (create, update, patch), delete.c, or to the handlers that need no store
 * (discovery, OpenAPI, health, reviews). One thread; nothing here blocks. */
#ifndef BERTH_APISERVER_SERVER_H
#define BERTH_APISERVER_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "api/json.h"
#include "api/times.h"
#include "apiserver/access_lookup.h"
#include "apiserver/api_call.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/rng.h"
#include "io/loop.h"

struct authenticator;
struct apiserver_counts;
struct discovery;
struct duties;
struct health;
struct lists;
struct metrics;
struct openapi;
struct store;
struct sliced_answer;
struct sliced_answers;
struct watches;
struct web_guard;

/* Responses that other components of the process make, as JSON. NULL: the path does not exist. */
struct apiserver_pages {
    void (*write_stats)(void *ctx, struct buf *out);  /* /stats/volumes */
    void (*write_status)(void *ctx, struct buf *out); /* /status */
    /* /why/PATH; all: ?all=true. Writes the response, or returns one that is made in slices. */
    int (*explain)(void *ctx, const char *path, bool all, struct buf *out, struct sliced_answer **ret,
                   struct error *err);
    void *ctx;
};

struct apiserver_options {
    struct loop *loop;
    const struct clock *clock;
    struct store *store;
    struct metrics *metrics;
    struct authenticator *authenticator;
    uint64_t seed;               /* for uids and generated names */
    const char *address;         /* "127.0.0.1:7443": for discovery */
    const char *server_cert_pem; /* for its names (web_guard.h); NULL for a server without TLS */
    /* "10.0.0.7:7443": for default/kubernetes; borrowed. NULL: no such Service. */
    const char *advertised;
    const char *ca_pem; /* for the ConfigMaps kube-root-ca.crt; NULL: none */
    int64_t event_ttl_seconds;
    struct apiserver_pages pages;
};

struct apiserver {
    struct loop *loop;
    const struct clock *clock;
    struct store *store;
    struct authenticator *authenticator;
    struct access_lookup lookup;
    struct rng rng;
    const char *advertised;
    char *ca_pem;
    bool is_plain; /* without TLS */
    int64_t event_ttl_seconds;
    struct apiserver_pages pages;
    bool is_stopping; /* readyz fails, no new watches */
    struct metrics *metrics;
    struct apiserver_counts *counts;
    struct health *health;
    struct discovery *discovery;
    struct openapi *openapi;
    struct watches *watches;
    struct web_guard *guard;
    struct lists *lists;
    struct sliced_answers *sliced_answers;
    struct duties *duties;
    /* Scratch memory of the running handler: contents are lost at the return to the loop. */
    struct json doc;
    struct buf text;
    unsigned reads_in_flight;
    unsigned writes_in_flight;
};

int apiserver_new(const struct apiserver_options *o, struct apiserver **ret, struct error *err);
/* Ends the watches and does not wait: calls in flight must have ended. */
struct apiserver *apiserver_free(struct apiserver *s);
DEFINE_CLEANUP(struct apiserver, apiserver_free)

/* Authenticates the call before it is served: returns the user's name, which callers without valid
 * credentials share. */
const char *apiserver_identify(struct apiserver *s, struct call *c);

/* Serves one call; see api_call.h. */
void apiserver_serve(struct apiserver *s, struct call *c);

/* The authority's certificate was renewed: updates every namespace. */
int apiserver_set_ca(struct apiserver *s, const char *ca_pem, struct error *err);

/* Shutdown: readyz fails, watches end cleanly. */
void apiserver_stop(struct apiserver *s);

/* The current time, as in timestamps of objects. */
struct timestamp apiserver_now(const struct apiserver *s);

#endif

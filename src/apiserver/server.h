/* The embedded API server: what its parts share.
 *
 * A call goes through serve.c (identity, limits, access, routing) to the handler of its verb: read.c (get and
 * list), watch.c, write.c (create, update, patch), delete.c, or to the answers that need no store (discovery,
 * OpenAPI, health, reviews). One thread; nothing here blocks. */
#ifndef BERTH_APISERVER_SERVER_H
#define BERTH_APISERVER_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "api/json.h"
#include "api/times.h"
#include "apiserver/call.h"
#include "apiserver/facts.h"
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
struct slow_answer;
struct slow_answers;
struct watches;
struct web_guard;

struct apiserver_options {
    struct loop *loop;
    const struct clock *clock;
    struct store *store;
    struct metrics *metrics;
    struct authenticator *authenticator;
    uint64_t seed;               /* of uids and generated names */
    const char *address;         /* "127.0.0.1:7443": what discovery says */
    const char *server_cert_pem; /* of its names (web_guard.h); NULL for a server without TLS */
    /* "10.0.0.7:7443": what default/kubernetes says; borrowed. NULL: there is no such Service. */
    const char *advertised;
    const char *ca_pem; /* for the ConfigMaps kube-root-ca.crt; NULL: there are none */
    int64_t event_ttl_seconds;
    /* Writes what /stats/volumes answers, as JSON; NULL: there is no such path. */
    void (*write_stats)(void *ctx, struct buf *out);
    void *stats_ctx;
    /* Makes what /why/PATH answers, as JSON; all: ?all=true: writes it, or gives an answer that is made in
     * slices. NULL: there is no such path. */
    int (*explain)(void *ctx, const char *path, bool all, struct buf *out, struct slow_answer **ret,
                   struct error *err);
    void *explain_ctx;
    /* Writes what /status answers, as JSON; NULL: there is no such path. */
    void (*write_status)(void *ctx, struct buf *out);
    void *status_ctx;
};

struct apiserver {
    struct loop *loop;
    const struct clock *clock;
    struct store *store;
    struct authenticator *authenticator;
    struct facts facts;
    struct rng rng;
    const char *address;
    const char *advertised;
    char *ca_pem;
    bool is_plain; /* without TLS */
    int64_t event_ttl_seconds;
    void (*write_stats)(void *ctx, struct buf *out);
    void *stats_ctx;
    int (*explain)(void *ctx, const char *path, bool all, struct buf *out, struct slow_answer **ret,
                   struct error *err);
    void *explain_ctx;
    void (*write_status)(void *ctx, struct buf *out);
    void *status_ctx;
    bool is_stopping; /* readyz fails, no new watches */
    struct metrics *metrics;
    struct apiserver_counts *counts;
    struct health *health;
    struct discovery *discovery;
    struct openapi *openapi;
    struct watches *watches;
    struct web_guard *guard;
    struct lists *lists;
    struct slow_answers *slow_answers;
    struct duties *duties;
    /* Scratch for one handler at a time: nobody keeps anything in it past the return to the loop. */
    struct json doc;
    struct buf text;
    unsigned reads_in_flight;
    unsigned writes_in_flight;
};

int apiserver_new(const struct apiserver_options *o, struct apiserver **ret, struct error *err);
/* Ends the watches and waits for nothing: calls in flight must be over. */
struct apiserver *apiserver_free(struct apiserver *s);
DEFINE_CLEANUP(struct apiserver, apiserver_free)

/* Who makes the call, before it is served: the user's name, which callers without valid credentials share. */
const char *apiserver_identify(struct apiserver *s, struct call *c);

/* Serves one call; see call.h. */
void apiserver_serve(struct apiserver *s, struct call *c);

/* The authority's certificate was renewed: every namespace is given the new one. */
int apiserver_set_ca(struct apiserver *s, const char *ca_pem, struct error *err);

/* Shutting down: readyz fails, watches end cleanly. */
void apiserver_stop(struct apiserver *s);

/* Now, as timestamps of objects have it. */
struct timestamp apiserver_now(const struct apiserver *s);

#endif

/* Creates and frees the API server: all parts in the order of their dependencies, and their state. */
#include "apiserver/server.h"

#include <stdlib.h>
#include <string.h>

#include "apiserver/counts.h"
#include "apiserver/discovery.h"
#include "apiserver/duties.h"
#include "apiserver/health.h"
#include "apiserver/lists.h"
#include "apiserver/openapi.h"
#include "apiserver/sliced_answer.h"
#include "apiserver/store_lookup.h"
#include "apiserver/watch.h"
#include "apiserver/web_guard.h"
#include "machinery/health.h"
#include "store/store.h"

#define SCRATCH_BYTES_MAX ((size_t)64 << 20)

struct timestamp apiserver_now(const struct apiserver *s)
{
    return timestamp_of_ns(clock_real_ns(s->clock));
}

int apiserver_set_ca(struct apiserver *s, const char *ca_pem, struct error *err)
{
    char *copy = strdup(ca_pem);

    if (!copy)
        return error_no_memory(err);
    free(s->ca_pem);
    s->ca_pem = copy;
    return s->duties ? duties_rescan(s->duties, KIND_NAMESPACE, err) : 0;
}

int apiserver_new(const struct apiserver_options *o, struct apiserver **ret, struct error *err)
{
    _cleanup_(apiserver_free_p) struct apiserver *s = calloc(1, sizeof *s);
    int r;

    if (!s)
        return error_no_memory(err);
    s->loop = o->loop;
    s->clock = o->clock;
    s->store = o->store;
    s->metrics = o->metrics;
    s->authenticator = o->authenticator;
    s->lookup = store_lookup(o->store);
    s->advertised = o->advertised;
    s->is_plain = !o->server_cert_pem;
    s->event_ttl_seconds = o->event_ttl_seconds;
    s->pages = o->pages;
    rng_init(&s->rng, o->seed);
    json_init(&s->doc, SCRATCH_BYTES_MAX);
    buf_init(&s->text, SCRATCH_BYTES_MAX);
    r = o->ca_pem ? apiserver_set_ca(s, o->ca_pem, err) : 0;
    if (r == 0)
        r = counts_new(s, &s->counts, err);
    if (r == 0)
        r = web_guard_new(o->server_cert_pem, &s->guard, err);
    if (r == 0)
        r = server_health_new(s, &s->health, err);
    if (r == 0)
        r = watches_new(s, &s->watches, err);
    if (r == 0)
        r = lists_new(s, &s->lists, err);
    if (r == 0) {
        s->sliced_answers = sliced_answers_new(s->loop);
        r = s->sliced_answers ? 0 : error_no_memory(err);
    }
    if (r == 0)
        r = discovery_new(o->address, &s->discovery, err);
    if (r == 0)
        r = openapi_new(&s->openapi, err);
    if (r == 0)
        r = duties_new(s, &s->duties, err);
    if (r < 0)
        return r;
    *ret = TAKE(s);
    return 0;
}

struct apiserver *apiserver_free(struct apiserver *s)
{
    if (!s)
        return NULL;
    s->duties = duties_free(s->duties);
    s->lists = lists_free(s->lists);
    s->sliced_answers = sliced_answers_free(s->sliced_answers);
    s->watches = watches_free(s->watches);
    s->openapi = openapi_free(s->openapi);
    s->discovery = discovery_free(s->discovery);
    s->health = health_free(s->health);
    s->guard = web_guard_free(s->guard);
    s->counts = counts_free(s->counts);
    buf_done(&s->text);
    json_done(&s->doc);
    free(s->ca_pem);
    free(s);
    return NULL;
}

void apiserver_stop(struct apiserver *s)
{
    s->is_stopping = true;
    duties_stop(s->duties);
    watches_stop(s->watches);
    sliced_answers_stop(s->sliced_answers);
}

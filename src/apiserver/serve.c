/* The path of a call: web guard, authentication, limit of calls in flight, authorization, routing, and the
 * handler.
 *
 * Each step either continues or answers the call. Nothing blocks. */
#include "apiserver/server.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "api/json_out.h"
#include "api/uid.h"
#include "apiserver/authenticate.h"
#include "apiserver/authorize.h"
#include "apiserver/body.h"
#include "apiserver/counts.h"
#include "apiserver/delete.h"
#include "apiserver/discovery.h"
#include "apiserver/health.h"
#include "apiserver/negotiate.h"
#include "apiserver/object_write.h"
#include "apiserver/openapi.h"
#include "apiserver/read.h"
#include "apiserver/reviews.h"
#include "apiserver/route.h"
#include "apiserver/sliced_answer.h"
#include "apiserver/token.h"
#include "apiserver/user.h"
#include "apiserver/watch.h"
#include "apiserver/web_guard.h"
#include "base/log.h"
#include "machinery/health.h"

#define READS_IN_FLIGHT_MAX 400
#define WRITES_IN_FLIGHT_MAX 200

static const struct error no_memory = { .code = ERR_NO_MEMORY, .msg = "out of memory" };

#define PAGE_NOT_FOUND "404 page not found\n"

/* --- In flight --- */

static bool is_write(const struct call *c)
{
    return c->method != HTTP_GET && c->method != HTTP_HEAD;
}

static unsigned *in_flight(struct call *c)
{
    return is_write(c) ? &c->server->writes_in_flight : &c->server->reads_in_flight;
}

static bool enter_in_flight(struct call *c)
{
    unsigned max = is_write(c) ? WRITES_IN_FLIGHT_MAX : READS_IN_FLIGHT_MAX;

    /* Calls of this process, and long-running ones, are not counted. */
    if (c->is_trusted || c->wants_objects || (c->route.is_resource && c->route.verb == VERB_WATCH))
        return true;
    if (*in_flight(c) >= max) {
        call_add_header(c, "Retry-After", "1");
        call_answer_text(c, 429, "Too many requests, please try again later.");
        return false;
    }
    (*in_flight(c))++;
    c->is_in_flight = true;
    return true;
}

/* Called for every answered call. */
static void on_answered(struct call *c)
{
    if (c->is_in_flight)
        (*in_flight(c))--;
    c->is_in_flight = false;
    counts_answered(c);
    log_debug("request", LOG_STR("verb", c->route.is_resource ? verb_names[c->route.verb] : "-"),
              LOG_STR("path", c->route.path), LOG_STR("user", c->user ? c->user->name : "-"),
              LOG_INT("code", c->status),
              LOG_UINT("us", (clock_mono_ns(c->server->clock) - c->started_ns) / NS_PER_US));
}

/* --- Identity and access --- */

static void set_audit_id(struct call *c)
{
    struct str given = call_header(c, "Audit-Id");
    uint8_t random[UID_RANDOM_BYTES];
    char id[UID_BYTES];

    if (given.len && given.len <= 64 && name_is_valid(NAME_LABEL_VALUE, given)) {
        call_add_header(c, "Audit-Id", call_copy(c, given));
        return;
    }
    rng_bytes(&c->server->rng, random, sizeof random);
    uid_make(random, id);
    call_add_header(c, "Audit-Id", call_copy(c, str_of(id)));
}

/* Once per call: verifying a token is expensive. The server's own calls may already have a user. */
static void find_user(const struct apiserver *s, struct call *c)
{
    struct error err, *kept;

    if (c->user || c->user_error || authenticate_call(s->authenticator, c, &c->user, &err) == 0)
        return;
    c->user = NULL;
    kept = arena_alloc(&c->arena, sizeof *kept);
    if (kept)
        *kept = err;
    c->user_error = kept ? kept : &no_memory;
}

const char *apiserver_identify(struct apiserver *s, struct call *c)
{
    find_user(s, c);
    return c->user ? c->user->name : user_anonymous.name;
}

static bool identify_caller(struct call *c)
{
    find_user(c->server, c);
    if (c->user)
        return true;
    call_fail(c, c->user_error, NULL);
    return false;
}

static bool check_access(struct call *c)
{
    struct access a;
    struct error err;

    if (c->is_trusted)
        return true;
    access_of_call(c, &a);
    if (access_check(&c->server->lookup, c->user, &a, &err) == 0)
        return true;
    if (err.code == ERR_DENIED && a.is_resource)
        call_fail_resource(c, &err, c->route.name);
    else
        call_fail(c, &err, NULL);
    return false;
}

/* --- Handlers --- */

static void serve_unsupported(struct call *c)
{
    struct error err;

    (void)error_set(&err, ERR_UNSUPPORTED,
                    "this server runs no containers: ask the node's container runtime for pods/%s",
                    c->route.sub->name);
    call_fail(c, &err, NULL);
}

/* Resources that are answered from the body only. */
static void serve_body(struct call *c, const char *kind,
                       void (*answer)(struct call *c, struct json *d, json_ref body))
{
    struct json *d = &c->server->doc;
    struct body b;

    json_clear(d);
    if (body_read(c, kind, true, d, &b))
        answer(c, d, b.root);
}

static void serve_sub(struct call *c)
{
    switch (c->route.sub->id) {
    case SUB_BINDING:
        bind_pod(c);
        break;
    case SUB_EVICTION:
        delete_by_eviction(c);
        break;
    case SUB_TOKEN:
        serve_body(c, "TokenRequest", token_answer);
        break;
    case SUB_LOG:
    case SUB_EXEC:
        serve_unsupported(c);
        break;
    case SUB_STATUS:
    case SUB_FINALIZE:
        if (c->route.verb == VERB_GET)
            read_get(c);
        else if (c->route.verb == VERB_UPDATE)
            write_update(c);
        else
            write_patch(c);
        break;
    case SUB_NONE:
    case SUB_COUNT:
        assert(!"not a subresource");
    }
}

static void serve_stored(struct call *c)
{
    switch (c->route.verb) {
    case VERB_GET:
        read_get(c);
        break;
    case VERB_LIST:
        read_list(c);
        break;
    case VERB_WATCH:
        watch_serve(c);
        break;
    case VERB_CREATE:
        write_create(c);
        break;
    case VERB_UPDATE:
        write_update(c);
        break;
    case VERB_PATCH:
        write_patch(c);
        break;
    case VERB_DELETE:
        delete_one(c);
        break;
    case VERB_DELETE_COLLECTION:
        delete_collection(c);
        break;
    case VERB_COUNT:
        assert(!"not a verb");
    }
}

static void serve_virtual(struct call *c)
{
    if (c->route.resource->virtual_id == VIRTUAL_BINDING)
        bind_pod(c);
    else
        serve_body(c, c->route.resource->kind, review_answer);
}

static void serve_resource(struct call *c)
{
    if (c->route.resource->virtual_id != VIRTUAL_NONE)
        serve_virtual(c);
    else if (c->route.sub)
        serve_sub(c);
    else
        serve_stored(c);
}

static bool path_is_below(const char *path, const char *root)
{
    size_t len = strlen(root);

    return strncmp(path, root, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

/* Whether the path may exist although it is not a resource; those below /api, /apis and /openapi are checked
 * by their handlers. */
static bool is_path(const struct apiserver *s, const char *path)
{
    return (s->pages.write_stats && strcmp(path, STATS_PATH) == 0) || strcmp(path, "/") == 0 ||
           (s->pages.explain && path_is_below(path, WHY_PATH)) || strcmp(path, "/version") == 0 ||
           (s->pages.write_status && strcmp(path, STATUS_PATH) == 0) || strcmp(path, "/metrics") == 0 ||
           health_has_path(str_of(path)) || path_is_below(path, "/openapi") || path_is_below(path, "/api") ||
           path_is_below(path, "/apis");
}

/* The root lists the paths. */
static void serve_root(struct call *c)
{
    const struct apiserver *s = c->server;
    const char *const paths[] = {
        "/api",
        "/apis",
        "/healthz",
        "/livez",
        "/metrics",
        "/openapi/v2",
        "/openapi/v3",
        "/readyz",
        s->pages.write_stats ? STATS_PATH : NULL,
        s->pages.write_status ? STATUS_PATH : NULL,
        "/version",
        s->pages.explain ? WHY_PATH : NULL,
    };

    json_out_object(&c->reply, NULL);
    json_out_array(&c->reply, "paths");
    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        if (paths[i])
            json_out_text(&c->reply, NULL, paths[i]);
    json_out_end_array(&c->reply);
    json_out_end_object(&c->reply);
    call_answer_json_reply(c, 200);
}

static void serve_written(struct call *c, void (*write_text)(void *ctx, struct buf *out))
{
    write_text(c->server->pages.ctx, &c->reply);
    call_answer_json_reply(c, 200);
}

static void serve_why(struct call *c)
{
    const char *path = c->route.path + strlen(WHY_PATH);
    bool all = str_is(params_get(&c->params, "all"), "true");
    const struct apiserver_pages *pages = &c->server->pages;
    struct sliced_answer *answer = NULL;
    struct error err;

    if (pages->explain(pages->ctx, path + (path[0] == '/'), all, &c->reply, &answer, &err) < 0)
        call_fail(c, &err, NULL);
    else if (answer)
        sliced_answer_take(c->server->sliced_answers, c, answer);
    else
        call_answer_json_reply(c, 200);
}

static void serve_path(struct call *c)
{
    const char *path = c->route.path;

    if (!is_path(c->server, path))
        call_answer_text(c, 404, PAGE_NOT_FOUND);
    else if (c->method != HTTP_GET && c->method != HTTP_HEAD)
        (void)call_refuse(c, 405, "MethodNotAllowed", true,
                          "the server does not allow this method on the requested resource");
    else if (health_has_path(str_of(path)))
        health_serve(c->server->health, c);
    else if (strcmp(path, "/version") == 0)
        version_serve(c);
    else if (strcmp(path, "/metrics") == 0)
        counts_serve(c);
    else if (strcmp(path, STATS_PATH) == 0)
        serve_written(c, c->server->pages.write_stats);
    else if (strcmp(path, STATUS_PATH) == 0)
        serve_written(c, c->server->pages.write_status);
    else if (path_is_below(path, WHY_PATH))
        serve_why(c);
    else if (path_is_below(path, "/openapi"))
        openapi_serve(c->server->openapi, c);
    else if (path_is_below(path, "/api") || path_is_below(path, "/apis"))
        discovery_serve(c->server->discovery, c);
    else
        serve_root(c);
}

/* A kind that clients can list but not create, such as Service: add that to the message, since `kubectl
 * apply` has no message of its own. */
static void refuse_method(struct call *c)
{
    static const char words[] = "the server does not allow this method on the requested resource";
    const struct resource *kind = c->route.resource;
    char message[ERROR_MSG_BYTES_MAX];

    if (c->method == HTTP_POST && !c->route.name.len && !(kind->verbs & VERB_BIT(VERB_CREATE)))
        (void)snprintf(message, sizeof message,
                       "%s: no %s can be created, Berth serves storage, pods and nodes", words, kind->kind);
    else
        (void)snprintf(message, sizeof message, "%s", words);
    (void)call_refuse(c, 405, "MethodNotAllowed", true, message);
}

static void serve_route(struct call *c)
{
    enum route_result r = route_resolve(c);

    if (!c->route.is_resource) {
        serve_path(c);
    } else if (r == ROUTE_NO_PATH) {
        call_answer_text(c, 404, PAGE_NOT_FOUND);
    } else if (r == ROUTE_NO_RESOURCE) {
        (void)call_refuse(c, 404, "NotFound", true, "the server could not find the requested resource");
    } else if (r == ROUTE_NO_METHOD) {
        refuse_method(c);
    } else if (!negotiate_view(c)) {
        (void)call_refuse(c, 406, "NotAcceptable", false,
                          "only the following media types are accepted: application/json, application/yaml");
    } else {
        serve_resource(c);
    }
}

void apiserver_serve(struct apiserver *s, struct call *c)
{
    struct error err;

    c->server = s;
    c->started_ns = clock_mono_ns(s->clock);
    c->on_answer = on_answered;
    set_audit_id(c);
    if (route_parse(c, &err) < 0) {
        call_fail(c, &err, NULL);
        return;
    }
    c->view.is_pretty = negotiate_is_pretty(c);
    if (web_guard_admits(s->guard, c) && identify_caller(c) && enter_in_flight(c) && check_access(c))
        serve_route(c);
}

/* Deletion of collections, and evictions: each object is deleted by a separate call of the server to itself.
 * At most a fixed number of calls is in flight, so that other requests are served in between. */
#include "apiserver/delete.h"

#include <stdlib.h>

#include "apiserver/admission.h"
#include "apiserver/body.h"
#include "apiserver/list_options.h"
#include "apiserver/own_call.h"
#include "apiserver/read.h"
#include "apiserver/render.h"
#include "apiserver/server.h"
#include "base/vec.h"

#define SWEEP_CALLS_MAX 64

/* A deletecollection in progress. Not atomic: objects deleted before a failure stay deleted. */
struct sweep {
    struct call *c;
    VEC(struct object *) objects;
    size_t next;       /* next to delete */
    size_t in_flight;  /* limited, so that other requests are served in between */
    bool is_sending;   /* a call may be answered before the sending returns */
    int failed_status; /* of the first deletion that failed; 0 for none */
    struct buf failure;
};

static void sweep_free(struct sweep *s)
{
    for (size_t i = 0; i < s->objects.count; i++)
        (void)object_unref(s->objects.items[i]);
    vec_done(&s->objects);
    buf_done(&s->failure);
    free(s);
}

static void sweep_end(struct sweep *s)
{
    struct call *c = s->c;

    if (s->failed_status) {
        buf_clear(&c->reply);
        buf_add_str(&c->reply, buf_str(&s->failure));
        call_add_header(c, "X-Content-Type-Options", "nosniff");
        call_answer_reply(c, s->failed_status, "application/json");
    } else {
        call_answer_json_reply(c, 200);
    }
    sweep_free(s);
}

static void sweep_continue(struct sweep *s);

static void sweep_deleted(void *ctx, const struct call *answered)
{
    struct sweep *s = ctx;

    if (answered->status >= 400 && answered->status != 404 && !s->failed_status) {
        s->failed_status = answered->status;
        buf_add_str(&s->failure, buf_str(&answered->reply));
    }
    s->in_flight--;
    if (!s->is_sending)
        sweep_continue(s);
}

/* Takes references to the objects of the page. */
static bool sweep_take(struct sweep *s, const struct list_page *p)
{
    for (size_t i = 0; i < p->objects.count; i++) {
        struct object *o = object_ref(p->objects.items[i]);

        if (vec_push(&s->objects, o) < 0) {
            (void)object_unref(o);
            return false;
        }
    }
    return true;
}

/* The path of the object, with the parameters of the collection's deletion. */
static const char *target_of(struct call *c, const struct object *o)
{
    const struct resource *r = c->route.resource;
    struct str query = c->target;

    (void)str_next(&query, '?');
    return call_text(c, "/%s%s/%s%s%s/%s/%s?%.*s", r->group[0] ? "apis/" : "api", r->group, r->version,
                     o->ns[0] ? "/namespaces/" : "", o->ns, r->plural, o->name,
                     (int)(query.s ? query.len : 0), query.s ? query.s : "");
}

static void sweep_continue(struct sweep *s)
{
    struct call *c = s->c;

    s->is_sending = true;
    while (s->next < s->objects.count && s->in_flight < SWEEP_CALLS_MAX) {
        struct own_request q = { .method = HTTP_DELETE, .body = c->body, .user = c->user };

        q.target = str_of(target_of(c, s->objects.items[s->next++]));
        q.content_type = call_copy(c, call_header(c, "Content-Type"));
        s->in_flight++;
        own_call(c->server, &q, sweep_deleted, s);
    }
    s->is_sending = false;
    if (s->in_flight == 0)
        sweep_end(s);
}

void delete_collection(struct call *c)
{
    _cleanup_(page_done_p) struct list_page page = { 0 };
    struct rendering r = rendering_of(c);
    struct list_options o;
    struct error err;
    struct sweep *s;

    if (!delete_check_options(c) || !list_options_read(c, false, &c->arena, &o) || !read_page(c, &o, &page))
        return;
    render_list(&r, &page.meta, page.objects.items, page.objects.count, &c->reply);
    s = calloc(1, sizeof *s);
    if (s) {
        s->c = c;
        buf_init(&s->failure, (size_t)1 << 20);
    }
    if (!s || !sweep_take(s, &page)) {
        if (s)
            sweep_free(s);
        (void)error_no_memory(&err);
        call_fail(c, &err, NULL);
        return;
    }
    sweep_continue(s);
}

/* --- Evictions --- */

static void on_evicted(void *ctx, const struct call *answered)
{
    struct call *c = ctx;
    struct status_info s = { .is_success = true, .code = 201 };

    if (answered->status < 300) {
        status_write(&s, &c->reply);
        call_answer_json_reply(c, 201);
        return;
    }
    buf_add_str(&c->reply, buf_str(&answered->reply));
    call_add_header(c, "X-Content-Type-Options", "nosniff");
    call_answer_reply(c, answered->status, "application/json");
}

/* The dryRun parameter of the eviction is an option of its deletion. */
static void add_dry_run(const struct call *c, struct json *d, struct body *b)
{
    json_ref list = json_new_array(d);

    if (!b->root)
        b->root = json_new_object(d);
    json_append(d, list, json_new_string(d, params_get(&c->params, "dryRun")));
    json_set(d, json_ensure_object(d, b->root, "deleteOptions"), "dryRun", list);
}

void delete_by_eviction(struct call *c)
{
    struct json *d = &c->server->doc;
    _cleanup_(buf_done_p) struct buf options = BUF_INIT(CALL_BODY_BYTES_MAX);
    const struct object *pod = write_newest(c, c->route.resource->info);
    const char *body;
    struct body b;

    json_clear(d);
    if (!body_read(c, "Eviction", true, d, &b))
        return;
    if (pod && !admit_sub(c, pod, d, b.root))
        return;
    if (params_get(&c->params, "dryRun").len)
        add_dry_run(c, d, &b);
    json_write(d, json_get(d, b.root, "deleteOptions"), &options);
    body = json_get(d, b.root, "deleteOptions") ? call_copy(c, buf_str(&options)) : "";
    own_call(c->server,
             &(struct own_request){ .method = HTTP_DELETE,
                                    .target = str_of(call_text(c, "/api/v1/namespaces/%.*s/pods/%.*s",
                                                               STR_ARG(c->route.ns), STR_ARG(c->route.name))),
                                    .body = str_of(body),
                                    .user = c->user },
             on_evicted, c);
}

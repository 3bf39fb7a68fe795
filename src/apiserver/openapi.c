/* Serving the OpenAPI documents.
 *
 * A document's tag is a hash of its text, and both the ETag and the hash in the index. The index needs every
 * tag, so the first request for it makes every document once, a few milliseconds together; only documents
 * that were asked for by themselves stay in memory. */
#include "apiserver/openapi.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apiserver/negotiate.h"
#include "apiserver/openapi_int.h"
#include "base/siphash.h"
#include "machinery/server_version.h"

#define DOCUMENT_BYTES_MAX ((size_t)16 << 20)
#define ACCEPT_ITEMS_MAX 64
#define V3_PATH "/openapi/v3"

/* The form in which kubectl up to 1.28 asks for Swagger, and newer ones when they find nothing else. It is
 * answered in the second spelling: clients fail over the @ when they parse it in an answer. */
#define SWAGGER_PROTOBUF "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
static const char *const swagger_protobuf[] = {
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
    SWAGGER_PROTOBUF,
    NULL,
};
static const char *const json_alone[] = { NULL };

struct document {
    const char *group, *version; /* NULL in the index and in the one document of everything */
    char path[64];               /* "api/v1", "apis/storage.k8s.io/v1" */
    char tag[40];                /* "" until it was made once */
    char *text;                  /* NULL unless kept */
    size_t len;
};

struct openapi {
    struct document index;
    struct document swagger;
    VEC(struct document) groups; /* a document each group version, in the order of discovery */
};

static struct document *find_group(struct openapi *o, struct str path)
{
    for (size_t i = 0; i < o->groups.count; i++) {
        struct document *d = &o->groups.items[i];

        if (str_is(path, d->path))
            return d;
    }
    return NULL;
}

static int openapi_add_groups(struct openapi *o)
{
    size_t count;
    const struct resource *r = resource_table(&count);

    for (size_t i = 0; i < count; i++) {
        struct document d = { .group = r[i].group, .version = r[i].version };
        int len = snprintf(d.path, sizeof d.path, "api%s%s/%s", d.group[0] ? "s/" : "", d.group, d.version);

        assert(len > 0 && (size_t)len < sizeof d.path); /* of a table of ours */
        if (!find_group(o, str_of(d.path)) && vec_push(&o->groups, d) < 0)
            return -ERR_NO_MEMORY;
    }
    return 0;
}

int openapi_new(struct openapi **ret, struct error *err)
{
    _cleanup_(openapi_free_p) struct openapi *o = calloc(1, sizeof *o);

    if (!o || openapi_add_groups(o) < 0)
        return error_no_memory(err);
    *ret = TAKE(o);
    return 0;
}

struct openapi *openapi_free(struct openapi *o)
{
    if (!o)
        return NULL;
    for (size_t i = 0; i < o->groups.count; i++)
        free(o->groups.items[i].text);
    vec_done(&o->groups);
    free(o->index.text);
    free(o->swagger.text);
    free(o);
    return NULL;
}

static void write_info(struct writer *w)
{
    json_out_object(w->out, "info");
    json_out_text(w->out, "title", "Berth");
    json_out_text(w->out, "version", KUBERNETES_RELEASE);
    json_out_end_object(w->out);
}

static int write_document(struct writer *w, const struct resource *r, size_t count, struct error *err)
{
    bool is_v3 = w->dialect == OPENAPI_V3;
    int failed;

    json_out_object(w->out, NULL);
    json_out_text(w->out, is_v3 ? "openapi" : "swagger", is_v3 ? "3.0.0" : "2.0");
    write_info(w);
    json_out_object(w->out, "paths");
    openapi_write_paths(w, r, count);
    json_out_end_object(w->out);
    if (is_v3)
        json_out_object(w->out, "components");
    json_out_object(w->out, is_v3 ? "schemas" : "definitions");
    failed = openapi_write_schemas(w, r, count, err);
    json_out_end_object(w->out);
    json_out_object(w->out, "parameters");
    openapi_write_parameters(w);
    json_out_end_object(w->out);
    if (is_v3)
        json_out_end_object(w->out);
    json_out_end_object(w->out);
    return failed;
}

/* The text is whole: gives the document its tag, and a copy of the text that wastes nothing. */
static int document_finish(struct document *d, struct buf *text, bool keep, struct error *err)
{
    int r;

    buf_add_char(text, '\n');
    r = buf_check(text, "OpenAPI document", err);
    if (r < 0)
        return r;
    if (keep) {
        d->text = malloc(text->len);
        if (!d->text)
            return error_no_memory(err);
        memcpy(d->text, text->data, text->len);
        d->len = text->len;
    }
    /* Two hashes of 64 bits: a text that changes with the program only must not keep its tag by chance. */
    (void)snprintf(d->tag, sizeof d->tag, "%016" PRIX64 "%016" PRIX64,
                   siphash13((struct hash_seed){ 1, 0 }, buf_str(text)),
                   siphash13((struct hash_seed){ 2, 0 }, buf_str(text)));
    return 0;
}

static int make_group(struct document *d, bool keep, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(DOCUMENT_BYTES_MAX);
    struct writer w = { &text, OPENAPI_V3 };
    size_t count;
    const struct resource *rows = resource_group_version(str_of(d->group), str_of(d->version), &count);
    int r = write_document(&w, rows, count, err);

    return r < 0 ? r : document_finish(d, &text, keep, err);
}

static int make_swagger(struct document *d, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(DOCUMENT_BYTES_MAX);
    struct writer w = { &text, OPENAPI_V2 };
    size_t count;
    const struct resource *rows = resource_table(&count);
    int r = write_document(&w, rows, count, err);

    return r < 0 ? r : document_finish(d, &text, /* keep= */ true, err);
}

static int make_index(struct openapi *o, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(DOCUMENT_BYTES_MAX);
    struct writer w = { &text, OPENAPI_V3 };

    json_out_object(w.out, NULL);
    json_out_object(w.out, "paths");
    for (size_t i = 0; i < o->groups.count; i++) {
        struct document *d = &o->groups.items[i];
        int r = d->tag[0] ? 0 : make_group(d, /* keep= */ false, err);

        if (r < 0)
            return r;
        json_out_object(w.out, d->path);
        json_out_textf(&text, "serverRelativeURL", "%s/%s?hash=%s", V3_PATH, d->path, d->tag);
        json_out_end_object(&text);
    }
    json_out_end_object(w.out);
    json_out_end_object(w.out);
    return document_finish(&o->index, &text, /* keep= */ true, err);
}

static void answer_document(struct call *c, const struct document *d)
{
    const char *etag = call_text(c, "\"%s\"", d->tag);

    call_add_header(c, "ETag", etag);
    call_add_header(c, "Vary", "Accept");
    if (negotiate_has_tag(c, etag)) {
        call_answer_reply(c, 304, "application/json");
        return;
    }
    buf_add(&c->reply, d->text, d->len);
    call_answer_reply(c, 200, "application/json");
}

/* What of these the client likes best, by quality and then by order: the type asked for, "application/json",
 * or NULL when it takes none of them. */
static const char *choose_type(const struct call *c, const char *const *besides)
{
    struct str list = call_header(c, "Accept");
    const char *best = list.len ? NULL : "application/json";
    struct media_type m;
    int quality = 0;

    for (int i = 0; i < ACCEPT_ITEMS_MAX && list.len && media_type_next(&list, &m); i++) {
        const char *type = NULL;

        if (str_is(m.type, "application/json") || str_is(m.type, "application/*") || str_is(m.type, "*/*"))
            type = "application/json";
        for (const char *const *t = besides; *t && !type; t++)
            type = str_is(m.type, *t) ? *t : NULL;
        if (type && m.quality > quality) {
            best = type;
            quality = m.quality;
        }
    }
    return best;
}

static void fail_not_acceptable(struct call *c)
{
    call_fail_status(c, &(struct status_info){
                            .code = 406,
                            .reason = "NotAcceptable",
                            .message = "only the following media types are accepted: application/json",
                        });
}

static void serve_swagger(struct openapi *o, struct call *c)
{
    const char *type = choose_type(c, swagger_protobuf);
    struct error err;

    if (!type)
        fail_not_acceptable(c);
    else if (strcmp(type, "application/json") != 0)
        /* A message without fields: clients find that nothing is described and leave all to the server. */
        call_answer_reply(c, 200, SWAGGER_PROTOBUF);
    else if (!o->swagger.text && make_swagger(&o->swagger, &err) < 0)
        call_fail(c, &err, NULL);
    else
        answer_document(c, &o->swagger);
}

static void serve_index(struct openapi *o, struct call *c)
{
    struct error err;

    if (!choose_type(c, json_alone))
        fail_not_acceptable(c);
    else if (!o->index.text && make_index(o, &err) < 0)
        call_fail(c, &err, NULL);
    else
        answer_document(c, &o->index);
}

static void serve_group(struct openapi *o, struct call *c, struct str path)
{
    struct document *d = find_group(o, path);
    struct error err;

    if (!d) {
        call_answer_text(c, 404, "404 page not found\n");
    } else if (!choose_type(c, json_alone)) {
        fail_not_acceptable(c);
    } else if (!d->text && make_group(d, /* keep= */ true, &err) < 0) {
        call_fail(c, &err, NULL);
    } else {
        /* The text behind a hash is the same for ever. Another hash than ours is another program's: it gets
         * the document there is, not to be kept. */
        if (str_is(params_get(&c->params, "hash"), d->tag))
            call_add_header(c, "Cache-Control", "public, max-age=31536000, immutable");
        answer_document(c, d);
    }
}

void openapi_serve(struct openapi *o, struct call *c)
{
    struct str path = str_of(c->route.path);

    if (c->method != HTTP_GET && c->method != HTTP_HEAD)
        call_fail_status(c, &(struct status_info){
                                .code = 405,
                                .reason = "MethodNotAllowed",
                                .message = "the server does not allow this method on the requested resource",
                                .has_details = true,
                            });
    else if (str_is(path, "/openapi/v2"))
        serve_swagger(o, c);
    else if (str_is(path, V3_PATH))
        serve_index(o, c);
    else if (str_has_prefix(path, V3_PATH "/"))
        serve_group(o, c, (struct str){ path.s + strlen(V3_PATH "/"), path.len - strlen(V3_PATH "/") });
    else
        call_answer_text(c, 404, "404 page not found\n");
}

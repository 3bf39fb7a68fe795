/* Serves the OpenAPI documents.
 *
 * The tag of a document is a hash of its text, used as ETag and in the index. The index needs every tag, so
 * the first request for it creates every document once, in a few milliseconds altogether; only documents that
 * were requested themselves stay in memory. */
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

/* The format in which kubectl up to 1.28 requests Swagger, and newer versions as a fallback. The response
 * uses the second spelling: clients cannot parse the @ in a response. */
#define SWAGGER_PROTOBUF "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
static const char *const swagger_protobuf[] = {
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
    SWAGGER_PROTOBUF,
    NULL,
};
static const char *const json_only[] = { NULL };

struct openapi_document {
    const char *group, *version; /* NULL for the index and for the Swagger document */
    char path[64];               /* "api/v1", "apis/storage.k8s.io/v1" */
    char tag[40];                /* "" until it was created once */
    char *text;                  /* NULL unless kept in memory */
    size_t len;
};

struct openapi {
    struct openapi_document index;
    struct openapi_document swagger;
    VEC(struct openapi_document) groups; /* one document per group version, in the order of discovery */
};

static struct openapi_document *find_group(struct openapi *o, struct str path)
{
    for (size_t i = 0; i < o->groups.count; i++) {
        struct openapi_document *d = &o->groups.items[i];

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
        struct openapi_document d = { .group = r[i].group, .version = r[i].version };
        int len = snprintf(d.path, sizeof d.path, "api%s%s/%s", d.group[0] ? "s/" : "", d.group, d.version);

        assert(len > 0 && (size_t)len < sizeof d.path); /* from our own table */
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

void writer_open_schema(struct openapi_writer *w, const char *package, const char *name, const char *suffix)
{
    char key[OPENAPI_NAME_BYTES_MAX];

    (void)snprintf(key, sizeof key, "%s.%s%s", package, name, suffix); /* names in the tables are shorter */
    json_out_object(w->out, key);
}

void writer_ref(struct openapi_writer *w, const char *package, const char *name, const char *suffix)
{
    json_out_textf(w->out, "$ref", "#/%s/%s.%s%s",
                   w->dialect == OPENAPI_V3 ? "components/schemas" : "definitions", package, name, suffix);
}

void writer_gvk(struct openapi_writer *w, const char *key, const char *group, const char *version,
                const char *kind, const char *suffix)
{
    json_out_object(w->out, key);
    json_out_text(w->out, "group", group);
    json_out_text(w->out, "version", version);
    json_out_textf(w->out, "kind", "%s%s", kind, suffix);
    json_out_end_object(w->out);
}

static int write_document(struct openapi_writer *w, const struct resource *r, size_t count, struct error *err)
{
    bool is_v3 = w->dialect == OPENAPI_V3;
    int failed;

    json_out_object(w->out, NULL);
    json_out_text(w->out, is_v3 ? "openapi" : "swagger", is_v3 ? "3.0.0" : "2.0");
    json_out_object(w->out, "info");
    json_out_text(w->out, "title", "Berth");
    json_out_text(w->out, "version", KUBERNETES_RELEASE);
    json_out_end_object(w->out);
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

/* Sets the tag of the finished document, and keeps an exact copy of the text. */
static int document_finish(struct openapi_document *d, struct buf *text, bool keep, struct error *err)
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
    /* Two hashes of 64 bits: a text that changes only with the program must not keep its tag by chance. */
    (void)snprintf(d->tag, sizeof d->tag, "%016" PRIX64 "%016" PRIX64,
                   siphash_hash((struct hash_seed){ 1, 0 }, buf_str(text)),
                   siphash_hash((struct hash_seed){ 2, 0 }, buf_str(text)));
    return 0;
}

/* Of one group version, or of all. */
static int make_document(struct openapi_document *d, bool keep, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(DOCUMENT_BYTES_MAX);
    struct openapi_writer w = { &text, d->group ? OPENAPI_V3 : OPENAPI_V2 };
    size_t count;
    const struct resource *rows = d->group
                                      ? resource_group_version(str_of(d->group), str_of(d->version), &count)
                                      : resource_table(&count);
    int r = write_document(&w, rows, count, err);

    return r < 0 ? r : document_finish(d, &text, keep, err);
}

static int make_index(struct openapi *o, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(DOCUMENT_BYTES_MAX);
    struct openapi_writer w = { &text, OPENAPI_V3 };

    json_out_object(w.out, NULL);
    json_out_object(w.out, "paths");
    for (size_t i = 0; i < o->groups.count; i++) {
        struct openapi_document *d = &o->groups.items[i];
        int r = d->tag[0] ? 0 : make_document(d, /* keep= */ false, err);

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

static void answer_document(struct call *c, const struct openapi_document *d)
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

/* The type that the client prefers, by quality and then by order: one of these, "application/json", or NULL
 * when it accepts none of them. */
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
    (void)call_refuse(c, 406, "NotAcceptable", false,
                      "only the following media types are accepted: application/json");
}

static void serve_swagger(struct openapi *o, struct call *c)
{
    const char *type = choose_type(c, swagger_protobuf);
    struct error err;

    if (!type)
        fail_not_acceptable(c);
    else if (strcmp(type, "application/json") != 0)
        /* A message without fields: clients find no description and leave validation to the server. */
        call_answer_reply(c, 200, SWAGGER_PROTOBUF);
    else if (!o->swagger.text && make_document(&o->swagger, /* keep= */ true, &err) < 0)
        call_fail(c, &err, NULL);
    else
        answer_document(c, &o->swagger);
}

static void serve_index(struct openapi *o, struct call *c)
{
    struct error err;

    if (!choose_type(c, json_only))
        fail_not_acceptable(c);
    else if (!o->index.text && make_index(o, &err) < 0)
        call_fail(c, &err, NULL);
    else
        answer_document(c, &o->index);
}

static void serve_group(struct openapi *o, struct call *c, struct str path)
{
    struct openapi_document *d = find_group(o, path);
    struct error err;

    if (!d) {
        call_answer_text(c, 404, "404 page not found\n");
    } else if (!choose_type(c, json_only)) {
        fail_not_acceptable(c);
    } else if (!d->text && make_document(d, /* keep= */ true, &err) < 0) {
        call_fail(c, &err, NULL);
    } else {
        /* The text of a hash never changes. Another hash than ours is from another version of the program: it
         * gets the present document, without caching. */
        if (str_is(params_get(&c->params, "hash"), d->tag))
            call_add_header(c, "Cache-Control", "public, max-age=31536000, immutable");
        answer_document(c, d);
    }
}

void openapi_serve(struct openapi *o, struct call *c)
{
    struct str path = str_of(c->route.path);

    if (c->method != HTTP_GET && c->method != HTTP_HEAD)
        (void)call_refuse(c, 405, "MethodNotAllowed", true,
                          "the server does not allow this method on the requested resource");
    else if (str_is(path, "/openapi/v2"))
        serve_swagger(o, c);
    else if (str_is(path, V3_PATH))
        serve_index(o, c);
    else if (str_has_prefix(path, V3_PATH "/"))
        serve_group(o, c, (struct str){ path.s + strlen(V3_PATH "/"), path.len - strlen(V3_PATH "/") });
    else
        call_answer_text(c, 404, "404 page not found\n");
}

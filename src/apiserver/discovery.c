/* Serves discovery: creates all documents at the start, and selects one by path and Accept header. */
#include "apiserver/discovery.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "apiserver/discovery_int.h"
#include "apiserver/negotiate.h"
#include "base/siphash.h"

#define DOCUMENT_BYTES_MAX ((size_t)1 << 20)
#define PATH_BYTES_MAX 256
#define ACCEPT_ITEMS_MAX 64

enum discovery_form { FORM_LEGACY, FORM_V2, FORM_V2BETA1, FORM_COUNT };

static const char *const form_versions[] = {
    [FORM_LEGACY] = "",
    [FORM_V2] = "v2",
    [FORM_V2BETA1] = "v2beta1",
};
/* Exactly: clients take a body with any other content type for the old form. */
static const char *const form_content_types[] = {
    [FORM_LEGACY] = "", /* as negotiated */
    [FORM_V2] = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    [FORM_V2BETA1] = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
};
static_assert(ARRAY_LEN(form_content_types) == FORM_COUNT, "a content type for every form");

struct document {
    char *path;
    char *body;
    enum discovery_form form;
    char etag[sizeof "\"0123456789ABCDEF\""];
};

struct discovery {
    VEC(struct document) documents;
};

/* --- Creating the documents --- */

static void document_done(struct document *doc)
{
    free(doc->path);
    free(doc->body);
}

/* The path of a document: root/group/version, NULL from where the path ends. */
struct discovery_place {
    const char *root; /* "/api" or "/apis" */
    const char *group;
    const char *version;
};

/* NULL without memory. */
static char *place_path(const struct discovery_place *at)
{
    _cleanup_(buf_done_p) struct buf path = BUF_INIT(PATH_BYTES_MAX);

    buf_addf(&path, "%s%s%s%s%s", at->root, at->group ? "/" : "", at->group ? at->group : "",
             at->version ? "/" : "", at->version ? at->version : "");
    return buf_take(&path);
}

/* Stores the contents of body as a document, and clears it. */
static int discovery_add(struct discovery *d, const struct discovery_place *at, enum discovery_form form,
                         struct buf *body, struct error *err)
{
    static const struct hash_seed fixed = { 0 };
    struct document doc = { .form = form };
    int r = buf_check(body, "discovery document", err);

    if (r < 0)
        return r;
    (void)snprintf(doc.etag, sizeof doc.etag, "\"%016" PRIX64 "\"", siphash_hash(fixed, buf_str(body)));
    doc.path = place_path(at);
    doc.body = buf_take(body);
    if (!doc.path || !doc.body || vec_push(&d->documents, doc) < 0) {
        document_done(&doc);
        return error_no_memory(err);
    }
    return 0;
}

static int add_aggregated(struct discovery *d, const char *root, struct resource_span groups,
                          struct error *err)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(DOCUMENT_BYTES_MAX);
    struct discovery_place at = { .root = root };
    int r = 0;

    for (enum discovery_form form = FORM_V2; r == 0 && form < FORM_COUNT; form++) {
        discovery_write_aggregated(groups, form_versions[form], &body);
        r = discovery_add(d, &at, form, &body, err);
    }
    return r;
}

/* Adds one document per version of the group at `at`. */
static int add_versions(struct discovery *d, struct discovery_place at, struct resource_span group,
                        struct error *err)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(DOCUMENT_BYTES_MAX);
    struct resource_span version;
    int r = 0;

    while (r == 0 && span_next_version(&group, &version)) {
        at.version = version.items->version;
        discovery_write_resources(version, &body);
        r = discovery_add(d, &at, FORM_LEGACY, &body, err);
    }
    return r;
}

static int add_core(struct discovery *d, const char *address, struct resource_span core, struct error *err)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(DOCUMENT_BYTES_MAX);
    struct discovery_place at = { .root = "/api" };
    int r;

    discovery_write_versions(address, &body);
    r = discovery_add(d, &at, FORM_LEGACY, &body, err);
    if (r == 0)
        r = add_aggregated(d, at.root, core, err);
    return r < 0 ? r : add_versions(d, at, core, err);
}

static int add_group(struct discovery *d, struct resource_span group, struct error *err)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(DOCUMENT_BYTES_MAX);
    struct discovery_place at = { .root = "/apis", .group = group.items->group };
    int r;

    discovery_write_group(group, &body);
    r = discovery_add(d, &at, FORM_LEGACY, &body, err);
    return r < 0 ? r : add_versions(d, at, group, err);
}

static int add_groups(struct discovery *d, struct resource_span groups, struct error *err)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(DOCUMENT_BYTES_MAX);
    struct discovery_place at = { .root = "/apis" };
    struct resource_span group;
    int r;

    discovery_write_groups(groups, &body);
    r = discovery_add(d, &at, FORM_LEGACY, &body, err);
    if (r == 0)
        r = add_aggregated(d, at.root, groups, err);
    while (r == 0 && span_next_group(&groups, &group))
        r = add_group(d, group, err);
    return r;
}

int discovery_new(const char *address, struct discovery **ret, struct error *err)
{
    struct discovery *d = calloc(1, sizeof *d);
    struct resource_span groups, core;
    int r;

    if (!d)
        return error_no_memory(err);
    groups.items = resource_table(&groups.count);
    (void)span_next_group(&groups, &core); /* the first of the table */
    r = add_core(d, address, core, err);
    if (r == 0)
        r = add_groups(d, groups, err);
    if (r < 0) {
        (void)discovery_free(d);
        return r;
    }
    *ret = d;
    return 0;
}

struct discovery *discovery_free(struct discovery *d)
{
    if (!d)
        return NULL;
    for (size_t i = 0; i < d->documents.count; i++)
        document_done(&d->documents.items[i]);
    vec_done(&d->documents);
    free(d);
    return NULL;
}

/* --- Serving --- */

static const struct document *discovery_find(const struct discovery *d, const char *path,
                                             enum discovery_form form)
{
    for (size_t i = 0; i < d->documents.count; i++)
        if (d->documents.items[i].form == form && strcmp(d->documents.items[i].path, path) == 0)
            return &d->documents.items[i];
    return NULL;
}

/* False for an item that requests a form that does not exist. */
static bool form_of_item(const struct media_type *m, enum discovery_form *ret)
{
    bool is_json = str_is(m->type, "application/json");

    if (m->as.len == 0) {
        *ret = FORM_LEGACY;
        return is_json || str_is(m->type, "application/yaml") || str_is(m->type, "application/*") ||
               str_is(m->type, "*/*");
    }
    if (!is_json || !str_is(m->group, "apidiscovery.k8s.io") || !str_is(m->as, "APIGroupDiscoveryList"))
        return false;
    *ret = str_is(m->version, form_versions[FORM_V2]) ? FORM_V2 : FORM_V2BETA1;
    return str_is(m->version, form_versions[*ret]);
}

/* The first of the most preferred forms that exist. */
static enum discovery_form form_asked_for(const struct call *c)
{
    struct str accept = call_header(c, "Accept");
    enum discovery_form best = FORM_LEGACY, form;
    struct media_type m;
    int quality = 0;

    for (int i = 0; i < ACCEPT_ITEMS_MAX && accept.len && media_type_next(&accept, &m); i++) {
        if (m.quality > quality && form_of_item(&m, &form)) {
            best = form;
            quality = m.quality;
        }
    }
    return best;
}

static void answer_aggregated(const struct document *doc, struct call *c)
{
    call_add_header(c, "ETag", doc->etag);
    if (negotiate_has_tag(c, doc->etag)) {
        call_answer_reply(c, 304, form_content_types[doc->form]);
        return;
    }
    buf_addf(&c->reply, "%s\n", doc->body);
    call_answer_reply(c, 200, form_content_types[doc->form]);
}

void discovery_serve(const struct discovery *d, struct call *c)
{
    const char *path = c->route.path;
    const struct document *legacy = discovery_find(d, path, FORM_LEGACY), *best;

    if (!legacy) {
        call_answer_text(c, 404, "404 page not found\n");
        return;
    }
    if (c->method != HTTP_GET) {
        (void)call_refuse(c, 405, "MethodNotAllowed", true,
                          "the server does not allow this method on the requested resource");
        return;
    }
    if (discovery_find(d, path, FORM_V2))
        call_add_header(c, "Vary", "Accept");
    best = discovery_find(d, path, form_asked_for(c));
    if (best && best != legacy)
        answer_aggregated(best, c);
    else if (negotiate_view(c))
        call_answer_json_text(c, 200, str_of(legacy->body));
    else
        (void)call_refuse(c, 406, "NotAcceptable", false,
                          "only the following media types are accepted: application/json, application/yaml");
}

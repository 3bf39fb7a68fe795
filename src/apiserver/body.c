/* Reads request bodies: JSON, YAML or protobuf to a tree, checks of kind and version, normalization and field
 * validation.
 *
 * Bodies are limited to CALL_BODY_BYTES_MAX. The messages are those of the stock server. */
#include "apiserver/body.h"

#include <string.h>

#include "api/managed_fields.h"
#include "api/protobuf.h"
#include "api/request_kind.h"
#include "api/yaml.h"
#include "apiserver/negotiate.h"

#define SUMMARY_BYTES 30
#define BODY_MEDIA_CUSTOM "application/json, application/yaml" /* for custom resources */
#define BODY_MEDIA BODY_MEDIA_CUSTOM ", " PROTOBUF_MEDIA_TYPE

enum body_media { BODY_JSON, BODY_YAML, BODY_PROTOBUF, BODY_OTHER };

static enum body_media media_of(const struct call *c)
{
    struct str header = call_header(c, "Content-Type");
    struct media_type m;

    if (header.len == 0)
        return BODY_JSON;
    if (!media_type_next(&header, &m))
        return BODY_OTHER;
    if (str_is(m.type, "application/json"))
        return BODY_JSON;
    if (str_is(m.type, "application/yaml"))
        return BODY_YAML;
    return str_is(m.type, PROTOBUF_MEDIA_TYPE) ? BODY_PROTOBUF : BODY_OTHER;
}

void body_fail_media(struct call *c, const char *accepted)
{
    (void)call_refuse(
        c, 415, "UnsupportedMediaType", false,
        call_text(c, "the body of the request was in an unknown format - accepted media types include: %s",
                  accepted));
}

static bool fail_bad_request(struct call *c, const char *message)
{
    struct error err;

    (void)error_set(&err, ERR_BAD_REQUEST, "%s", message);
    if (strlen(message) >= sizeof err.msg)
        return call_refuse(c, 400, "BadRequest", false, message);
    call_fail(c, &err, NULL);
    return false;
}

/* The beginning of a body for a message: text if it looks like an object, otherwise hexadecimal. */
static const char *summarize_body(struct call *c, struct str body)
{
    size_t len = body.len < SUMMARY_BYTES ? body.len : SUMMARY_BYTES;
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(1024);
    const char *text;

    if (body.len == 0)
        return "<empty>";
    if (body.s[0] == '{' && str_is_utf8((struct str){ body.s, len }))
        buf_add(&b, body.s, len);
    else
        for (size_t i = 0; i < len; i++)
            buf_addf(&b, "%02x", (unsigned char)body.s[i]);
    if (len < body.len)
        buf_add_cstr(&b, " ...");
    text = call_copy(c, buf_str(&b));
    return text;
}

static bool fail_unrecognized(struct call *c, const char *expected, const char *why)
{
    return fail_bad_request(c,
                            call_text(c, "the object provided is unrecognized (must be of type %s): %s (%s)",
                                      expected, why, summarize_body(c, c->body)));
}

static bool fail_cannot_handle(struct call *c, struct str kind, struct str api_version, const char *expected,
                               const char *why)
{
    struct str version = api_version, group = str_next(&version, '/');

    version = version.s ? version : group;
    return fail_bad_request(c, call_text(c, "%.*s in version \"%.*s\" cannot be handled as a %s: %s",
                                         STR_ARG(kind), STR_ARG(version), expected, why));
}

/* The apiVersion of bodies that have none. */
static const char *expected_api_version(struct call *c)
{
    const struct subresource *sub = c->route.sub;
    bool is_foreign = sub && sub->kind;
    const char *group = is_foreign ? sub->group : c->route.resource->group;
    const char *version = is_foreign ? sub->version : c->route.resource->version;

    return group[0] ? call_text(c, "%s/%s", group, version) : version;
}

static bool fail_not_registered(struct call *c, const struct body *b, const char *expected)
{
    return fail_cannot_handle(c, b->kind, b->api_version, expected,
                              call_text(c,
                                        "no kind \"%.*s\" is registered for version \"%.*s\" in scheme "
                                        "\"pkg/api/legacyscheme/scheme.go:30\"",
                                        STR_ARG(b->kind), STR_ARG(b->api_version)));
}

/* Adds kind and apiVersion to a body that has none. */
static void fill_in_kind(struct call *c, const char *expected, struct body *b)
{
    if (b->kind.len == 0)
        b->kind = str_of(expected);
    if (b->api_version.len == 0)
        b->api_version = str_of(expected_api_version(c));
}

/* Checks the kind and the types of bodies that are never stored. */
static bool check_request_kind(struct call *c, const char *expected, struct json *d, struct body *b)
{
    const struct schema *s = request_kind_schema(str_of(expected_api_version(c)), str_of(expected));
    struct error err;

    if (!s)
        return true;
    fill_in_kind(c, expected, b);
    if (request_kind_schema(b->api_version, b->kind) != s)
        return protobuf_schema(b->api_version, b->kind)
                   ? fail_cannot_handle(c, b->kind, b->api_version, expected,
                                        call_text(c, "a %.*s is not a %s", STR_ARG(b->kind), expected))
                   : fail_not_registered(c, b, expected);
    if (schema_normalize(s, d, b->root, SCHEMA_DROP_UNKNOWN, NULL, &err) == 0)
        return true;
    return fail_cannot_handle(c, b->kind, b->api_version, expected, err.msg);
}

/* kind and apiVersion must be strings, or missing. */
static bool check_is_text(struct call *c, const char *expected, const struct json *d, json_ref v,
                          const char *field)
{
    enum json_type type = json_type(d, v);

    if (!v || type == JSON_STRING || type == JSON_NULL)
        return true;
    return fail_unrecognized(
        c, expected,
        call_text(c,
                  "couldn't get version/kind; json parse error: json: cannot unmarshal %s "
                  "into Go struct field .%s of type string",
                  json_type_name(type), field));
}

static bool read_protobuf(struct call *c, const char *expected, struct json *d, struct body *ret)
{
    struct protobuf_body inside;
    const struct schema *s;
    struct error err;
    int r = protobuf_open(c->body, &inside, &err);

    if (r == -ERR_UNSUPPORTED || !protobuf_schema(str_of(expected_api_version(c)), str_of(expected))) {
        body_fail_media(c, BODY_MEDIA_CUSTOM);
        return false;
    }
    if (r < 0)
        return fail_unrecognized(c, expected, err.msg);
    ret->kind = inside.kind;
    ret->api_version = inside.api_version;
    fill_in_kind(c, expected, ret);
    s = protobuf_schema(ret->api_version, ret->kind);
    if (!s)
        return fail_not_registered(c, ret, expected);
    inside.kind = ret->kind;
    inside.api_version = ret->api_version;
    if (protobuf_decode(d, s, &inside, &ret->root, &err) < 0)
        return fail_cannot_handle(c, ret->kind, ret->api_version, expected, err.msg);
    return check_request_kind(c, expected, d, ret);
}

bool body_read(struct call *c, const char *expected, bool may_be_empty, struct json *d, struct body *ret)
{
    enum body_media media = media_of(c);
    struct error err;
    int r;

    *ret = (struct body){ .kind = STR_LIT(""), .api_version = STR_LIT("") };
    if (c->body_is_too_large) {
        (void)error_set(&err, ERR_TOO_LARGE, "Request entity too large: limit is %zu", CALL_BODY_BYTES_MAX);
        call_fail(c, &err, NULL);
        return false;
    }
    if (c->body.len == 0 && may_be_empty)
        return true;
    if (media == BODY_OTHER) {
        body_fail_media(c, BODY_MEDIA);
        return false;
    }
    if (media == BODY_PROTOBUF)
        return read_protobuf(c, expected, d, ret);
    if (c->body.len == 0)
        return fail_unrecognized(c, expected,
                                 "couldn't get version/kind; json parse error: unexpected end of JSON input");
    r = media == BODY_YAML ? yaml_or_json_parse(d, c->body, &ret->root, &err)
                           : json_parse(d, c->body, &ret->root, &err);
    if (r < 0)
        return fail_unrecognized(c, expected,
                                 call_text(c, "couldn't get version/kind; json parse error: %s", err.msg));
    if (json_type(d, ret->root) != JSON_OBJECT)
        return fail_unrecognized(
            c, expected,
            call_text(
                c,
                "couldn't get version/kind; json parse error: json: cannot unmarshal %s into Go value of "
                "type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string "
                "\"json:\\\"kind,omitempty\\\"\" }",
                json_type_name(json_type(d, ret->root))));
    if (!check_is_text(c, expected, d, json_get(d, ret->root, "kind"), "kind") ||
        !check_is_text(c, expected, d, json_get(d, ret->root, "apiVersion"), "apiVersion"))
        return false;
    ret->kind = json_get_text(d, ret->root, "kind");
    ret->api_version = json_get_text(d, ret->root, "apiVersion");
    return check_request_kind(c, expected, d, ret);
}

/* A body with a kind must have the kind of the path. */
static bool check_kind(struct call *c, const struct kind_info *k, struct json *d, struct body *b)
{
    const char *api_version;
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(256);

    kind_api_version(k, &text);
    api_version = call_copy(c, buf_str(&text));
    if (k->flags & KIND_IS_CUSTOM && (b->kind.len == 0 || b->api_version.len == 0)) {
        const char *part = b->kind.len == 0 ? "Kind" : "apiVersion";
        struct str shown = c->body.len > 1024 ? (struct str){ c->body.s, 1024 } : c->body;

        return fail_bad_request(c, call_text(c,
                                             "the object provided is unrecognized (must be of type %s): "
                                             "Object '%s' is missing in '%.*s' (%s)",
                                             k->name, part, STR_ARG(shown), summarize_body(c, c->body)));
    }
    if (b->kind.len == 0)
        b->kind = str_of(k->name);
    if (b->api_version.len == 0)
        b->api_version = str_of(api_version);
    if (str_is(b->kind, k->name) && str_is(b->api_version, api_version)) {
        json_set(d, b->root, "kind", json_new_string(d, b->kind));
        json_set(d, b->root, "apiVersion", json_new_string(d, b->api_version));
        return true;
    }
    if (str_is(b->kind, k->name) && kind_by_api_version(b->api_version, b->kind))
        return fail_bad_request(
            c, call_text(c, "the API version in the data (%.*s) does not match the expected API version (%s)",
                         STR_ARG(b->api_version), api_version));
    if (kind_by_api_version(b->api_version, b->kind))
        return fail_cannot_handle(c, b->kind, b->api_version, k->name,
                                  call_text(c, "a %.*s is not a %s", STR_ARG(b->kind), k->name));
    return fail_not_registered(c, b, k->name);
}

void field_report_join(const struct field_report *r, struct buf *out)
{
    for (const char *line = field_report_next(r, NULL); line; line = field_report_next(r, line)) {
        if (line != field_report_next(r, NULL))
            buf_add_cstr(out, ", ");
        buf_add_cstr(out, line);
    }
}

static bool fail_strict(struct call *c, const struct body *b, const struct kind_info *k,
                        const struct field_report *report)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT((size_t)1 << 20);

    buf_add_cstr(&text, "strict decoding error: ");
    field_report_join(report, &text);
    (void)fail_cannot_handle(c, b->kind, b->api_version, k->name, buf_cstr(&text));
    return false;
}

bool body_read_object(struct call *c, const struct kind_info *k, enum field_validation validation,
                      struct json *d, json_ref *ret)
{
    _cleanup_(field_report_done_p) struct field_report report = FIELD_REPORT_INIT;
    struct body b;
    struct error err;

    if (!body_read(c, k->name, false, d, &b) || !check_kind(c, k, d, &b))
        return false;
    managed_fields_keep_reset(d, b.root);
    if (schema_normalize(k->schema, d, b.root, SCHEMA_DROP_UNKNOWN, &report, &err) < 0)
        return fail_cannot_handle(c, b.kind, b.api_version, k->name, err.msg);
    if (report.count && validation == VALIDATION_STRICT)
        return fail_strict(c, &b, k, &report);
    for (const char *line = field_report_next(&report, NULL); line && validation == VALIDATION_WARN;
         line = field_report_next(&report, line))
        call_warn(c, str_of(line));
    *ret = b.root;
    return true;
}

/* Writes the method, path, query and body of a request. Everything from the caller is checked or escaped, so
 * that no name can lead to another path. */
#include "client/client_target.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/json.h"
#include "api/json_out.h"

static const char *or_empty(const char *s)
{
    return s ? s : "";
}

/* --- Checks of path segments --- */

/* The server would parse another path than the one that was written. */
static int check_segment(const char *what, const char *s, struct error *err)
{
    if (strcmp(s, ".") == 0 || strcmp(s, "..") == 0)
        return error_set(err, ERR_INVALID, "invalid %s '%s': may not be '%s'", what, s, s);
    if (strpbrk(s, "/%"))
        return error_set(err, ERR_INVALID, "invalid %s '%s': may not contain '%c'", what, s,
                         *strpbrk(s, "/%"));
    return 0;
}

/* True for requests about one object, and for creations below an object: a pod's binding. */
static bool needs_name(const struct client_request *q)
{
    return q->verb == CLIENT_GET || q->verb == CLIENT_PATCH || q->verb == CLIENT_DELETE ||
           (q->verb == CLIENT_CREATE && or_empty(q->subresource)[0] != '\0');
}

/* A path without one of its segments is another path. */
static int check_missing(const struct client_request *q, struct error *err)
{
    bool lacks_ns = q->kind->is_namespaced && or_empty(q->ns)[0] == '\0';

    if (needs_name(q) && or_empty(q->name)[0] == '\0')
        return error_set(err, ERR_INVALID, "resource name may not be empty");
    if (lacks_ns && needs_name(q))
        return error_set(err, ERR_INVALID,
                         "an empty namespace may not be set when a resource name is provided");
    if (lacks_ns && q->verb == CLIENT_CREATE)
        return error_set(err, ERR_INVALID, "an empty namespace may not be set during creation");
    return 0;
}

int target_check(const struct client_request *q, struct error *err)
{
    int r;

    assert(q->verb < CLIENT_VERB_COUNT);
    if (q->verb == CLIENT_RAW) {
        assert(q->path && q->path[0] == '/');
        return 0;
    }
    assert(q->kind);
    r = check_missing(q, err);
    if (r < 0)
        return r;
    r = check_segment("namespace", or_empty(q->ns), err);
    return r < 0 ? r : check_segment("resource name", or_empty(q->name), err);
}

/* --- Path --- */

static bool is_plain(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("-._~", c));
}

static void write_escaped(struct str s, struct buf *out)
{
    size_t from = 0, at = 0;

    for (; at < s.len; at++)
        if (!is_plain((unsigned char)s.s[at])) {
            buf_add(out, s.s + from, at - from);
            buf_addf(out, "%%%02X", (unsigned char)s.s[at]);
            from = at + 1;
        }
    buf_add(out, s.s + from, at - from);
}

static void write_segment(const char *s, struct buf *out)
{
    if (or_empty(s)[0] == '\0')
        return;
    buf_add(out, "/", 1);
    write_escaped(str_of(s), out);
}

static void write_path(const struct client_request *q, struct buf *out)
{
    const struct kind_info *k = q->kind;

    buf_add_cstr(out, k->group[0] ? "/apis/" : "/api");
    buf_add_cstr(out, k->group);
    buf_add_char(out, '/');
    buf_add_cstr(out, k->version);
    if (k->is_namespaced && or_empty(q->ns)[0] != '\0') {
        buf_add_cstr(out, "/namespaces");
        write_segment(q->ns, out);
    }
    buf_add_char(out, '/');
    buf_add_cstr(out, k->plural);
    if (q->verb != CLIENT_CREATE || needs_name(q)) /* a created object has its name in the body */
        write_segment(q->name, out);
    write_segment(q->subresource, out);
}

/* --- Query --- */

struct query {
    struct buf *out;
    bool has_any;
};

static void add_param(struct query *query, const char *name, const char *value)
{
    if (!value)
        return;
    buf_add_char(query->out, query->has_any ? '&' : '?');
    buf_add_cstr(query->out, name);
    buf_add_char(query->out, '=');
    write_escaped(str_of(value), query->out);
    query->has_any = true;
}

static void add_number(struct query *query, const char *name, uint64_t value)
{
    char text[24];

    if (value == 0)
        return;
    (void)snprintf(text, sizeof text, "%" PRIu64, value);
    add_param(query, name, text);
}

static void add_flag(struct query *query, const char *name, bool is_set)
{
    add_param(query, name, is_set ? "true" : NULL);
}

static void write_query(const struct client_request *q, struct buf *out)
{
    struct query query = { .out = out };

    add_flag(&query, "watch", q->verb == CLIENT_WATCH);
    add_flag(&query, "allowWatchBookmarks", q->wants_bookmarks);
    add_param(&query, "labelSelector", q->label_selector);
    add_param(&query, "fieldSelector", q->field_selector);
    add_number(&query, "limit", q->limit);
    add_param(&query, "continue", q->continue_token);
    add_param(&query, "resourceVersion", q->resource_version);
    add_param(&query, "resourceVersionMatch", q->version_match);
    add_flag(&query, "sendInitialEvents", q->wants_initial_events);
    add_param(&query, "includeObject", q->include_object);
    add_number(&query, "timeoutSeconds", q->timeout_seconds);
    add_param(&query, "fieldManager", q->field_manager);
    add_param(&query, "fieldValidation", q->field_validation);
    add_flag(&query, "force", q->is_forced);
    add_param(&query, "dryRun", q->is_dry_run ? "All" : NULL);
}

void target_write(const struct client_request *q, struct buf *out)
{
    if (q->verb == CLIENT_RAW) {
        buf_add_cstr(out, q->path);
        return;
    }
    write_path(q, out);
    write_query(q, out);
}

/* --- Method and body --- */

const char *target_method(const struct client_request *q)
{
    switch (q->verb) {
    case CLIENT_CREATE:
        return "POST";
    case CLIENT_PATCH:
        return "PATCH";
    case CLIENT_DELETE:
        return "DELETE";
    case CLIENT_GET:
    case CLIENT_LIST:
    case CLIENT_WATCH:
    case CLIENT_RAW:
    case CLIENT_VERB_COUNT:
        break;
    }
    return "GET";
}

const char *target_content_type(const struct client_request *q)
{
    static const char *const patches[] = {
        [CLIENT_PATCH_MERGE] = "application/merge-patch+json",
        [CLIENT_PATCH_JSON] = "application/json-patch+json",
        [CLIENT_PATCH_STRATEGIC] = "application/strategic-merge-patch+json",
        [CLIENT_PATCH_APPLY] = "application/apply-patch+yaml",
    };

    if (q->verb == CLIENT_PATCH)
        return patches[q->patch];
    return q->verb == CLIENT_CREATE || q->verb == CLIENT_DELETE ? "application/json" : NULL;
}

void target_write_delete(const struct client_request *q, struct buf *out)
{
    if (!q->if_uid && !q->if_version && !q->has_grace && !q->propagation && !q->is_dry_run)
        return;
    json_out_object(out, NULL);
    json_out_text(out, "apiVersion", "v1");
    json_out_text(out, "kind", "DeleteOptions");
    if (q->if_uid || q->if_version) {
        json_out_object(out, "preconditions");
        if (q->if_uid)
            json_out_text(out, "uid", q->if_uid);
        if (q->if_version)
            json_out_text(out, "resourceVersion", q->if_version);
        json_out_end_object(out);
    }
    if (q->has_grace)
        json_out_int(out, "gracePeriodSeconds", (int64_t)q->grace_seconds);
    if (q->propagation)
        json_out_text(out, "propagationPolicy", q->propagation);
    if (q->is_dry_run) { /* a server that gets a body reads the options only from it */
        json_out_array(out, "dryRun");
        json_out_text(out, NULL, "All");
        json_out_end_array(out);
    }
    json_out_end_object(out);
}

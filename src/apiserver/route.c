/* Parses method and path of a call into its route, and looks the resource up. Costs a walk over the path and
 * a search in the table of resources. */
#include "apiserver/route.h"

#include "http/target.h"

/* A cursor over the segments of a path. */
struct segments {
    const struct str *items;
    size_t count;
    size_t at;
};

static struct str segment_peek(const struct segments *s)
{
    return s->at < s->count ? s->items[s->at] : STR_LIT("");
}

static struct str segment_take(struct segments *s)
{
    return s->at < s->count ? s->items[s->at++] : STR_LIT("");
}

/* After /namespaces/NAME these two are subresources of the namespace; anything else is a resource in it. */
static bool is_namespace_sub(struct str segment)
{
    return segment.len == 0 || str_is(segment, "status") || str_is(segment, "finalize");
}

static void parse_resource(struct call *c, struct segments *s, bool *ret_is_watch)
{
    struct route *r = &c->route;

    *ret_is_watch = str_is(segment_peek(s), "watch") && s->at + 1 < s->count;
    if (*ret_is_watch)
        s->at++;
    r->plural = segment_take(s);
    if (str_is(r->plural, "namespaces") && s->at + 1 < s->count && !is_namespace_sub(s->items[s->at + 1])) {
        r->ns = segment_take(s);
        r->plural = segment_take(s);
    }
    r->name = segment_take(s);
    r->sub_name = segment_take(s);
    if (s->at < s->count)
        r->sub_name = (struct str){ r->sub_name.s, (size_t)(s->items[s->count - 1].s - r->sub_name.s) +
                                                       s->items[s->count - 1].len };
}

static enum verb verb_of(const struct call *c, bool is_watch_path)
{
    switch (c->method) {
    case HTTP_POST:
        return VERB_CREATE;
    case HTTP_PUT:
        return VERB_UPDATE;
    case HTTP_PATCH:
        return VERB_PATCH;
    case HTTP_DELETE:
        return c->route.name.len ? VERB_DELETE : VERB_DELETE_COLLECTION;
    case HTTP_GET:
    case HTTP_HEAD:
    case HTTP_OTHER:
        break;
    }
    if (is_watch_path || (c->route.sub_name.len == 0 && params_bool(&c->params, "watch")))
        return VERB_WATCH;
    return c->route.name.len ? VERB_GET : VERB_LIST;
}

int route_parse(struct call *c, struct error *err)
{
    struct http_target target;
    struct segments s;
    bool is_watch = false;
    int r;

    c->route = (struct route){ .path = "/", .verb = VERB_GET };
    r = http_target_parse(c->target, &c->arena, &target, err);
    if (r < 0)
        return r;
    c->params = target.params;
    c->route.path = target.path;
    s = (struct segments){ target.segments, target.segments_count, 0 };
    if (str_is(segment_peek(&s), "api") && s.count > 2) {
        c->route.version = s.items[1];
        c->route.group = STR_LIT("");
        s.at = 2;
    } else if (str_is(segment_peek(&s), "apis") && s.count > 3) {
        c->route.group = s.items[1];
        c->route.version = s.items[2];
        s.at = 3;
    } else {
        return 0;
    }
    c->route.is_resource = true;
    parse_resource(c, &s, &is_watch);
    c->route.verb = verb_of(c, is_watch);
    return 0;
}

/* Whether the scope of the resource matches that of the path. */
static bool scope_fits(const struct route *r)
{
    if (!r->resource->is_namespaced)
        return r->ns.len == 0;
    return r->ns.len > 0 || r->name.len == 0;
}

static bool method_fits(const struct call *c)
{
    const struct route *r = &c->route;
    unsigned verbs = r->sub ? r->sub->verbs : r->resource->verbs;

    if (c->is_trusted && r->resource->info && !r->sub)
        verbs = ~0U; /* the server may write what clients can only read */
    if (c->method == HTTP_HEAD || c->method == HTTP_OTHER)
        return false;
    if (!(verbs & VERB_BIT(r->verb)))
        return false;
    if (r->sub)
        return true;
    if (r->verb == VERB_CREATE)
        return r->name.len == 0 && (r->ns.len > 0 || !r->resource->is_namespaced);
    if (r->verb == VERB_UPDATE || r->verb == VERB_PATCH)
        return r->name.len > 0;
    if (r->verb == VERB_DELETE_COLLECTION)
        return r->ns.len > 0 || !r->resource->is_namespaced;
    return true;
}

enum route_result route_resolve(struct call *c)
{
    struct route *r = &c->route;
    size_t ignored;

    if (!r->is_resource)
        return ROUTE_OK;
    if (!resource_group_version(r->group, r->version, &ignored))
        return ROUTE_NO_PATH;
    r->resource = resource_find(r->group, r->version, r->plural);
    if (!r->resource || !scope_fits(r))
        return ROUTE_NO_RESOURCE;
    if (r->sub_name.len) {
        r->sub = resource_sub(r->resource, r->sub_name);
        if (!r->sub)
            return ROUTE_NO_RESOURCE;
    }
    return method_fits(c) ? ROUTE_OK : ROUTE_NO_METHOD;
}

/* Content negotiation: parses Accept, Content-Type and If-None-Match headers, without allocations. */
#include "apiserver/negotiate.h"

#include <strings.h>

#define ACCEPT_ITEMS_MAX 64

bool negotiate_is_pretty(const struct call *c)
{
    struct str asked = params_get(&c->params, "pretty"), agent = call_header(c, "User-Agent");

    if (asked.s)
        return params_bool(&c->params, "pretty");
    return str_has_prefix(agent, "curl") || str_has_prefix(agent, "Wget") ||
           str_has_prefix(agent, "Mozilla/");
}

static bool str_is_nocase(struct str a, const char *b)
{
    return a.len == strlen(b) && (a.len == 0 || strncasecmp(a.s, b, a.len) == 0);
}

/* "0.25" in thousandths; 1000 if it is not such a number. */
static int parse_quality(struct str text)
{
    int value = 0, scale = 1000;
    bool in_fraction = false;

    for (size_t i = 0; i < text.len && i < 5; i++) {
        char c = text.s[i];

        if (c == '.' && !in_fraction) {
            in_fraction = true;
        } else if (c < '0' || c > '9') {
            return 1000;
        } else if (in_fraction) {
            scale /= 10;
            value += (c - '0') * scale;
        } else {
            value = (c - '0') * 1000;
        }
    }
    return value > 1000 ? 1000 : value;
}

bool media_type_next(struct str *list, struct media_type *ret)
{
    struct str item;

    do {
        if (!list->s)
            return false;
        item = str_trim(str_next(list, ','));
    } while (item.len == 0);
    *ret = (struct media_type){ .quality = 1000 };
    ret->type = str_trim(str_next(&item, ';'));
    while (item.s) {
        struct str value = str_next(&item, ';'), name = str_trim(str_next(&value, '='));

        value = value.s ? str_trim(value) : STR_LIT("");
        if (value.len >= 2 && value.s[0] == '"' && value.s[value.len - 1] == '"')
            value = (struct str){ value.s + 1, value.len - 2 };
        if (str_is_nocase(name, "q"))
            ret->quality = parse_quality(value);
        else if (str_is(name, "as"))
            ret->as = value;
        else if (str_is(name, "v"))
            ret->version = value;
        else if (str_is(name, "g"))
            ret->group = value;
    }
    return true;
}

/* Kinds that are never stored, such as reviews, have no columns. */
static bool has_table(const struct route *r)
{
    return !r->resource || (r->resource->info && !(r->sub && r->sub->kind));
}

/* Whether an item names a media type and a representation that the resource has; returns which. */
static bool item_fits(const struct media_type *m, const struct route *r, struct view *ret)
{
    if (str_is_nocase(m->type, "application/json") || str_is(m->type, "*/*") ||
        str_is(m->type, "application/*"))
        ret->media = MEDIA_JSON;
    else if (str_is_nocase(m->type, "application/yaml"))
        ret->media = MEDIA_YAML;
    else
        return false;
    ret->shape = SHAPE_OBJECT;
    if (m->as.len == 0)
        return true;
    if (!str_is(m->group, "meta.k8s.io"))
        return false;
    ret->shape_version = str_is(m->version, "v1") ? "v1" : str_is(m->version, "v1beta1") ? "v1beta1" : NULL;
    if (!ret->shape_version)
        return false;
    if (str_is(m->as, "Table") && has_table(r))
        ret->shape = SHAPE_TABLE;
    else if (str_is(m->as, "PartialObjectMetadata") || str_is(m->as, "PartialObjectMetadataList"))
        ret->shape = SHAPE_PARTIAL;
    else
        return false;
    return true;
}

static enum include_object include_of(const struct call *c)
{
    struct str include = params_get(&c->params, "includeObject");

    if (str_is(include, "Object"))
        return INCLUDE_OBJECT;
    return str_is(include, "None") ? INCLUDE_NONE : INCLUDE_METADATA;
}

bool negotiate_view(struct call *c)
{
    struct str list = call_header(c, "Accept");
    struct view best = { .shape_version = "v1" }, view = best;
    struct media_type m;
    int quality = list.len == 0 ? 1000 : 0;

    for (int i = 0; i < ACCEPT_ITEMS_MAX && list.len && media_type_next(&list, &m); i++) {
        view = (struct view){ .shape_version = "v1" };
        if (m.quality > quality && item_fits(&m, &c->route, &view)) {
            best = view;
            quality = m.quality;
        }
    }
    if (quality == 0)
        return false;
    best.is_pretty = c->view.is_pretty;
    best.include = include_of(c);
    c->view = best;
    return true;
}

bool negotiate_has_tag(const struct call *c, const char *etag)
{
    struct str list = call_header(c, "If-None-Match");

    while (list.s) {
        struct str tag = str_trim(str_next(&list, ','));

        if (str_has_prefix(tag, "W/"))
            tag = (struct str){ tag.s + 2, tag.len - 2 };
        if (str_is(tag, "*") || str_is(tag, etag))
            return true;
    }
    return false;
}

#include "apiserver/discovery_int.h"

#include <string.h>

#include "api/base64.h"
#include "api/json.h"
#include "base/cleanup.h"
#include "base/siphash.h"

/* --- Spans --- */

static bool span_take(struct resource_span *s, size_t count, struct resource_span *ret)
{
    *ret = (struct resource_span){ s->items, count };
    s->items += count;
    s->count -= count;
    return count > 0;
}

bool span_next_group(struct resource_span *s, struct resource_span *ret)
{
    size_t n = 0;

    while (n < s->count && strcmp(s->items[n].group, s->items[0].group) == 0)
        n++;
    return span_take(s, n, ret);
}

bool span_next_version(struct resource_span *s, struct resource_span *ret)
{
    size_t n = 0;

    while (n < s->count && strcmp(s->items[n].version, s->items[0].version) == 0)
        n++;
    return span_take(s, n, ret);
}

/* --- What both forms have: names and verbs, which are plain words and need no escapes --- */

static void write_member(const char *name, const char *value, struct buf *out)
{
    buf_addf(out, "\"%s\":\"%s\",", name, value);
}

/* `"shortNames":["sc"],`; nothing when there are none. */
static void write_words(const char *name, const char *const *words, struct buf *out)
{
    if (!words || !words[0])
        return;
    buf_addf(out, "\"%s\":[", name);
    for (size_t i = 0; words[i]; i++)
        buf_addf(out, "%s\"%s\"", i ? "," : "", words[i]);
    buf_add_cstr(out, "],");
}

static void write_verbs(unsigned verbs, struct buf *out)
{
    const char *names[VERB_COUNT + 1] = { NULL };
    size_t n = 0;

    for (unsigned verb = 0; verb < VERB_COUNT; verb++)
        if (verbs & VERB_BIT(verb))
            names[n++] = verb_names[verb];
    write_words("verbs", names, out);
}

/* Members are written with a comma behind each: takes back the last one and closes the object. */
static void close_object(struct buf *out)
{
    if (!out->failed && out->len && out->data[out->len - 1] == ',')
        out->data[out->len - 1] = '}';
    else
        buf_add_char(out, '}');
}

/* --- Legacy --- */

void discovery_write_versions(const char *address, struct buf *out)
{
    buf_add_cstr(out, "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],\"serverAddressByClientCIDRs\":["
                      "{\"clientCIDR\":\"0.0.0.0/0\",\"serverAddress\":");
    json_write_string(out, str_of(address));
    buf_add_cstr(out, "}]}");
}

static void write_group_version(const struct resource *r, struct buf *out)
{
    buf_addf(out, "{\"groupVersion\":\"%s/%s\",\"version\":\"%s\"}", r->group, r->version, r->version);
}

/* The first version of the table is the one that clients should use. */
static void write_group_members(struct resource_span group, struct buf *out)
{
    const struct resource *first = group.items;
    struct resource_span version;

    buf_addf(out, "\"name\":\"%s\",\"versions\":[", first->group);
    while (span_next_version(&group, &version)) {
        buf_add_cstr(out, version.items == first ? "" : ",");
        write_group_version(version.items, out);
    }
    buf_add_cstr(out, "],\"preferredVersion\":");
    write_group_version(first, out);
}

void discovery_write_groups(struct resource_span groups, struct buf *out)
{
    struct resource_span group;
    const char *separator = "";

    buf_add_cstr(out, "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[");
    while (span_next_group(&groups, &group)) {
        buf_addf(out, "%s{", separator);
        write_group_members(group, out);
        buf_add_char(out, '}');
        separator = ",";
    }
    buf_add_cstr(out, "]}");
}

void discovery_write_group(struct resource_span group, struct buf *out)
{
    buf_add_cstr(out, "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",");
    write_group_members(group, out);
    buf_add_char(out, '}');
}

/* Tells clients that migrate stored objects in which form they are stored: eight bytes that stay the same as
 * long as group, version and kind do. */
static void write_storage_hash(const struct resource *r, struct buf *out)
{
    static const struct hash_seed fixed = { 0 };
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(512);
    char bytes[8];
    uint64_t hash;

    buf_addf(&text, "%s/%s/%s", r->group, r->version, r->kind);
    hash = siphash13(fixed, buf_str(&text));
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(hash >> 8 * i);
    buf_add_cstr(out, "\"storageVersionHash\":\"");
    base64_encode((struct str){ bytes, sizeof bytes }, out);
    buf_add_cstr(out, "\",");
}

static void write_resource(const struct resource *r, struct buf *out)
{
    buf_add_char(out, '{');
    write_member("name", r->plural, out);
    write_member("singularName", r->singular, out);
    buf_addf(out, "\"namespaced\":%s,", r->is_namespaced ? "true" : "false");
    write_member("kind", r->kind, out);
    write_verbs(r->verbs, out);
    write_words("shortNames", r->short_names, out);
    write_words("categories", r->categories, out);
    if (r->info)
        write_storage_hash(r, out);
    close_object(out);
}

/* Group and version only where they are not the resource's own. */
static void write_subresource(const struct resource *r, const struct subresource *s, struct buf *out)
{
    buf_addf(out, "{\"name\":\"%s/%s\",\"singularName\":\"\",\"namespaced\":%s,", r->plural, s->name,
             r->is_namespaced ? "true" : "false");
    if (s->kind && (strcmp(s->group, r->group) != 0 || strcmp(s->version, r->version) != 0)) {
        write_member("group", s->group, out);
        write_member("version", s->version, out);
    }
    write_member("kind", s->kind ? s->kind : r->kind, out);
    write_verbs(s->verbs, out);
    close_object(out);
}

void discovery_write_resources(struct resource_span group_version, struct buf *out)
{
    const struct resource *first = group_version.items;

    buf_addf(
        out,
        "{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\",\"groupVersion\":\"%s%s%s\",\"resources\":[",
        first->group, first->group[0] ? "/" : "", first->version);
    for (size_t i = 0; i < group_version.count; i++) {
        const struct resource *r = &first[i];

        buf_add_cstr(out, i ? "," : "");
        write_resource(r, out);
        for (const struct subresource *s = r->subs; s->name; s++) {
            buf_add_char(out, ',');
            write_subresource(r, s, out);
        }
    }
    buf_add_cstr(out, "]}");
}

/* --- Aggregated --- */

static void write_response_kind(const char *group, const char *version, const char *kind, struct buf *out)
{
    buf_addf(out, "\"responseKind\":{\"group\":\"%s\",\"version\":\"%s\",\"kind\":\"%s\"},", group, version,
             kind);
}

static void write_found_subresources(const struct resource *r, struct buf *out)
{
    if (!r->subs->name)
        return;
    buf_add_cstr(out, "\"subresources\":[");
    for (const struct subresource *s = r->subs; s->name; s++) {
        buf_addf(out, "%s{", s == r->subs ? "" : ",");
        write_member("subresource", s->name, out);
        write_response_kind(s->kind ? s->group : r->group, s->kind ? s->version : r->version,
                            s->kind ? s->kind : r->kind, out);
        write_verbs(s->verbs, out);
        close_object(out);
    }
    buf_add_cstr(out, "],");
}

static void write_found_resource(const struct resource *r, struct buf *out)
{
    buf_add_char(out, '{');
    write_member("resource", r->plural, out);
    write_response_kind(r->group, r->version, r->kind, out);
    write_member("scope", r->is_namespaced ? "Namespaced" : "Cluster", out);
    write_member("singularResource", r->singular, out);
    write_verbs(r->verbs, out);
    write_words("shortNames", r->short_names, out);
    write_words("categories", r->categories, out);
    write_found_subresources(r, out);
    close_object(out);
}

static void write_found_version(struct resource_span version, struct buf *out)
{
    buf_addf(out, "{\"version\":\"%s\",\"resources\":[", version.items->version);
    for (size_t i = 0; i < version.count; i++) {
        buf_add_cstr(out, i ? "," : "");
        write_found_resource(&version.items[i], out);
    }
    buf_add_cstr(out, "],\"freshness\":\"Current\"}");
}

/* The core group has no name. */
static void write_found_group(struct resource_span group, struct buf *out)
{
    const struct resource *first = group.items;
    struct resource_span version;

    buf_add_cstr(out, "{\"metadata\":{");
    if (first->group[0])
        buf_addf(out, "\"name\":\"%s\"", first->group);
    buf_add_cstr(out, "},\"versions\":[");
    while (span_next_version(&group, &version)) {
        buf_add_cstr(out, version.items == first ? "" : ",");
        write_found_version(version, out);
    }
    buf_add_cstr(out, "]}");
}

void discovery_write_aggregated(struct resource_span groups, const char *version, struct buf *out)
{
    const struct resource *first = groups.items;
    struct resource_span group;

    buf_addf(out,
             "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/%s\","
             "\"metadata\":{},\"items\":[",
             version);
    while (span_next_group(&groups, &group)) {
        buf_add_cstr(out, group.items == first ? "" : ",");
        write_found_group(group, out);
    }
    buf_add_cstr(out, "]}");
}

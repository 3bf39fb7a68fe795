/* Writes the discovery documents from the table of resources, in the legacy and in the aggregated form. */
#include "apiserver/discovery_int.h"

#include <string.h>

#include "api/base64.h"
#include "api/json_out.h"
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

/* --- Shared by both forms --- */

/* Writes nothing for an empty list. */
static void write_words(const char *key, const char *const *words, struct buf *out)
{
    if (!words || !words[0])
        return;
    json_out_array(out, key);
    for (size_t i = 0; words[i]; i++)
        json_out_text(out, NULL, words[i]);
    json_out_end_array(out);
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

static void open_kind(const char *kind, const char *api_version, struct buf *out)
{
    json_out_object(out, NULL);
    json_out_text(out, "kind", kind);
    json_out_text(out, "apiVersion", api_version);
}

/* --- Legacy --- */

void discovery_write_versions(const char *address, struct buf *out)
{
    static const char *const versions[] = { "v1", NULL };

    json_out_object(out, NULL);
    json_out_text(out, "kind", "APIVersions");
    write_words("versions", versions, out);
    json_out_array(out, "serverAddressByClientCIDRs");
    json_out_object(out, NULL);
    json_out_text(out, "clientCIDR", "0.0.0.0/0");
    json_out_text(out, "serverAddress", address);
    json_out_end_object(out);
    json_out_end_array(out);
    json_out_end_object(out);
}

static void write_group_version(const char *key, const struct resource *r, struct buf *out)
{
    json_out_object(out, key);
    json_out_textf(out, "groupVersion", "%s/%s", r->group, r->version);
    json_out_text(out, "version", r->version);
    json_out_end_object(out);
}

/* The first version in the table is the preferred one. */
static void write_group_members(struct resource_span group, struct buf *out)
{
    const struct resource *first = group.items;
    struct resource_span version;

    json_out_text(out, "name", first->group);
    json_out_array(out, "versions");
    while (span_next_version(&group, &version))
        write_group_version(NULL, version.items, out);
    json_out_end_array(out);
    write_group_version("preferredVersion", first, out);
}

void discovery_write_groups(struct resource_span groups, struct buf *out)
{
    struct resource_span group;

    open_kind("APIGroupList", "v1", out);
    json_out_array(out, "groups");
    while (span_next_group(&groups, &group)) {
        json_out_object(out, NULL);
        write_group_members(group, out);
        json_out_end_object(out);
    }
    json_out_end_array(out);
    json_out_end_object(out);
}

void discovery_write_group(struct resource_span group, struct buf *out)
{
    open_kind("APIGroup", "v1", out);
    write_group_members(group, out);
    json_out_end_object(out);
}

/* The storage version hash, for clients that migrate stored objects: eight bytes derived from group, version
 * and kind. */
static void write_storage_hash(const struct resource *r, struct buf *out)
{
    static const struct hash_seed fixed = { 0 };
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(512), encoded = BUF_INIT(64);
    char bytes[8];
    uint64_t hash;

    buf_addf(&text, "%s/%s/%s", r->group, r->version, r->kind);
    hash = siphash_hash(fixed, buf_str(&text));
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(hash >> 8 * i);
    base64_encode((struct str){ bytes, sizeof bytes }, &encoded);
    json_out_str(out, "storageVersionHash", buf_str(&encoded));
}

static void write_resource(const struct resource *r, struct buf *out)
{
    json_out_object(out, NULL);
    json_out_text(out, "name", r->plural);
    json_out_text(out, "singularName", r->singular);
    json_out_bool(out, "namespaced", r->is_namespaced);
    json_out_text(out, "kind", r->kind);
    write_verbs(r->verbs, out);
    write_words("shortNames", r->short_names, out);
    write_words("categories", r->categories, out);
    if (r->info)
        write_storage_hash(r, out);
    json_out_end_object(out);
}

/* Group and version only if they differ from the resource's. */
static void write_subresource(const struct resource *r, const struct subresource *s, struct buf *out)
{
    json_out_object(out, NULL);
    json_out_textf(out, "name", "%s/%s", r->plural, s->name);
    json_out_text(out, "singularName", "");
    json_out_bool(out, "namespaced", r->is_namespaced);
    if (s->kind && (strcmp(s->group, r->group) != 0 || strcmp(s->version, r->version) != 0)) {
        json_out_text(out, "group", s->group);
        json_out_text(out, "version", s->version);
    }
    json_out_text(out, "kind", s->kind ? s->kind : r->kind);
    write_verbs(s->verbs, out);
    json_out_end_object(out);
}

void discovery_write_resources(struct resource_span group_version, struct buf *out)
{
    const struct resource *first = group_version.items;

    open_kind("APIResourceList", "v1", out);
    json_out_textf(out, "groupVersion", "%s%s%s", first->group, first->group[0] ? "/" : "", first->version);
    json_out_array(out, "resources");
    for (size_t i = 0; i < group_version.count; i++) {
        write_resource(&first[i], out);
        for (const struct subresource *s = first[i].subs; s->name; s++)
            write_subresource(&first[i], s, out);
    }
    json_out_end_array(out);
    json_out_end_object(out);
}

/* --- Aggregated --- */

static void write_response_kind(const char *group, const char *version, const char *kind, struct buf *out)
{
    json_out_object(out, "responseKind");
    json_out_text(out, "group", group);
    json_out_text(out, "version", version);
    json_out_text(out, "kind", kind);
    json_out_end_object(out);
}

static void write_found_subresources(const struct resource *r, struct buf *out)
{
    if (!r->subs->name)
        return;
    json_out_array(out, "subresources");
    for (const struct subresource *s = r->subs; s->name; s++) {
        json_out_object(out, NULL);
        json_out_text(out, "subresource", s->name);
        write_response_kind(s->kind ? s->group : r->group, s->kind ? s->version : r->version,
                            s->kind ? s->kind : r->kind, out);
        write_verbs(s->verbs, out);
        json_out_end_object(out);
    }
    json_out_end_array(out);
}

static void write_found_resource(const struct resource *r, struct buf *out)
{
    json_out_object(out, NULL);
    json_out_text(out, "resource", r->plural);
    write_response_kind(r->group, r->version, r->kind, out);
    json_out_text(out, "scope", r->is_namespaced ? "Namespaced" : "Cluster");
    json_out_text(out, "singularResource", r->singular);
    write_verbs(r->verbs, out);
    write_words("shortNames", r->short_names, out);
    write_words("categories", r->categories, out);
    write_found_subresources(r, out);
    json_out_end_object(out);
}

static void write_found_version(struct resource_span version, struct buf *out)
{
    json_out_object(out, NULL);
    json_out_text(out, "version", version.items->version);
    json_out_array(out, "resources");
    for (size_t i = 0; i < version.count; i++)
        write_found_resource(&version.items[i], out);
    json_out_end_array(out);
    json_out_text(out, "freshness", "Current");
    json_out_end_object(out);
}

/* The core group has no name. */
static void write_found_group(struct resource_span group, struct buf *out)
{
    struct resource_span version;

    json_out_object(out, NULL);
    json_out_object(out, "metadata");
    if (group.items->group[0])
        json_out_text(out, "name", group.items->group);
    json_out_end_object(out);
    json_out_array(out, "versions");
    while (span_next_version(&group, &version))
        write_found_version(version, out);
    json_out_end_array(out);
    json_out_end_object(out);
}

void discovery_write_aggregated(struct resource_span groups, const char *version, struct buf *out)
{
    struct resource_span group;

    json_out_object(out, NULL);
    json_out_text(out, "kind", "APIGroupDiscoveryList");
    json_out_textf(out, "apiVersion", "apidiscovery.k8s.io/%s", version);
    json_out_object(out, "metadata");
    json_out_end_object(out);
    json_out_array(out, "items");
    while (span_next_group(&groups, &group))
        write_found_group(group, out);
    json_out_end_array(out);
    json_out_end_object(out);
}

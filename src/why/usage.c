/* Parses volume statistics, of Berth's form and of the kubelet's summary, and formats sizes. */
#include "why/usage.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/node.h"

const struct volume_usage usage_none = {
    .ns = "",
    .pod = "",
    .volume = "",
    .plugin = "",
    .path = "",
    .node = "",
    .claim_ns = "",
    .claim = "",
    .error = "",
    .capacity = USAGE_UNKNOWN,
    .used = USAGE_UNKNOWN,
    .available = USAGE_UNKNOWN,
    .inodes = USAGE_UNKNOWN,
    .inodes_used = USAGE_UNKNOWN,
    .inodes_free = USAGE_UNKNOWN,
};

void usages_done(struct usages *u)
{
    vec_done(&u->items);
    vec_done(&u->silent);
    arena_done(&u->texts);
}

/* --- Responses --- */

static const char *text_of(struct usages *u, const struct json *d, json_ref object, const char *key)
{
    const char *text = arena_dup(&u->texts, json_get_text(d, object, key));

    return text ? text : ""; /* the arena records the failure */
}

static int64_t number_of(const struct json *d, json_ref object, const char *key)
{
    int64_t n;

    return json_int64(d, json_get(d, object, key), &n) && n >= 0 ? n : USAGE_UNKNOWN;
}

static int read_volume(struct usages *u, const struct json *d, json_ref volume,
                       const struct volume_usage *of_pod)
{
    json_ref claim = json_get(d, volume, "claim");
    struct volume_usage x = *of_pod;

    if (!claim)
        claim = json_get(d, volume, "pvcRef"); /* as the kubelet calls it */
    x.volume = text_of(u, d, volume, "name");
    x.plugin = text_of(u, d, volume, "plugin");
    x.path = text_of(u, d, volume, "path");
    x.error = text_of(u, d, volume, "error");
    x.claim_ns = text_of(u, d, claim, "namespace");
    x.claim = text_of(u, d, claim, "name");
    x.capacity = number_of(d, volume, "capacityBytes");
    x.used = number_of(d, volume, "usedBytes");
    x.available = number_of(d, volume, "availableBytes");
    x.inodes = number_of(d, volume, "inodes");
    x.inodes_used = number_of(d, volume, "inodesUsed");
    x.inodes_free = number_of(d, volume, "inodesFree");
    return vec_push(&u->items, x);
}

static int read_pod(struct usages *u, const struct json *d, json_ref pod, const char *node)
{
    json_ref ref = json_get(d, pod, "podRef"), volumes = json_get(d, pod, "volumes");
    struct volume_usage of_pod = { .node = node,
                                   .ns = text_of(u, d, ref, "namespace"),
                                   .pod = text_of(u, d, ref, "name") };

    if (!volumes)
        volumes = json_get(d, pod, "volume"); /* as the kubelet calls it */
    for (json_ref v = json_first(d, volumes); v; v = json_next(d, v))
        if (read_volume(u, d, v, &of_pod) < 0)
            return -ERR_NO_MEMORY;
    return 0;
}

int usages_read(struct usages *u, struct str text, const char **ret_node, struct error *err)
{
    _cleanup_(json_done_p) struct json d = { 0 };
    json_ref answer, node;
    const char *name;
    int r;

    json_init(&d, INVENTORY_BYTES_MAX);
    r = json_parse(&d, text, &answer, err);
    if (r < 0)
        return error_wrap(err, "cannot read its statistics");
    node = json_get(&d, answer, "node");
    name = json_type(&d, node) == JSON_OBJECT ? text_of(u, &d, node, "nodeName")
                                              : text_of(u, &d, answer, "node");
    for (json_ref p = json_first(&d, json_get(&d, answer, "pods")); p; p = json_next(&d, p))
        if (read_pod(u, &d, p, name) < 0)
            return error_no_memory(err);
    r = arena_check(&u->texts, err);
    if (r == 0)
        *ret_node = name;
    return r;
}

static int compare_usages(const void *a, const void *b)
{
    const struct volume_usage *left = a, *right = b;
    int order = strcmp(left->ns, right->ns);

    if (order == 0)
        order = strcmp(left->pod, right->pod);
    if (order == 0)
        order = strcmp(left->volume, right->volume);
    return order ? order : strcmp(left->node, right->node);
}

void usages_sort(struct usages *u)
{
    if (u->items.count)
        qsort(u->items.items, u->items.count, sizeof *u->items.items, compare_usages);
}

int usages_add_silent(struct usages *u, const char *node, struct str why, struct error *err)
{
    struct silent_node x = { arena_dup(&u->texts, str_of(node)), arena_dup(&u->texts, why) };

    return !x.name || !x.why || vec_push(&u->silent, x) < 0 ? error_no_memory(err) : 0;
}

/* --- Numbers --- */

int64_t usage_percent(int64_t used, int64_t whole)
{
    if (used < 0 || whole <= 0)
        return USAGE_UNKNOWN;
    if (used > (INT64_MAX - whole) / 100)
        return used / (whole / 100 + 1);
    return (used * 100 + whole - 1) / whole;
}

void usage_write_bytes(int64_t bytes, struct buf *out)
{
    static const char units[] = "KMGTPE";
    int64_t unit = 1024, tenths;
    size_t at = 0;

    if (bytes < 1024) {
        if (bytes < 0)
            buf_add_char(out, '-');
        else
            buf_addf(out, "%" PRId64, bytes);
        return;
    }
    /* 1023.5 of one unit would be printed as 1024. */
    while (units[at + 1] && bytes >= unit * 1024 - unit / 2) {
        unit *= 1024;
        at++;
    }
    tenths = bytes / unit * 10 + (bytes % unit / 16 * 10 + unit / 32) / (unit / 16);
    if (tenths < 100 && tenths % 10)
        buf_addf(out, "%" PRId64 ".%" PRId64, tenths / 10, tenths % 10);
    else
        buf_addf(out, "%" PRId64, (tenths + 5) / 10);
    buf_addf(out, "%ci", units[at]);
}

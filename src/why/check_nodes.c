/* Attachments, nodes, and what nodes say of their volumes. */
#include "why/check.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/attachment.h"
#include "api/lease.h"
#include "api/node.h"
#include "io/path.h"
#include "node/node_lease.h"
#include "node/node_status.h"

#define LEASE_SECONDS 40
/* A volume with less than a tenth of it left is nearly full. */
#define FULL_SHARE 10

/* --- Attachments --- */

static void check_attachment(struct checkup *x, const struct attachment *a)
{
    bool has_node = inventory_find(x->all, KIND_NODE, "", a->node_name) || !x->all->kinds[KIND_NODE].is_known,
         has_volume = !a->volume_name[0] || inventory_find(x->all, KIND_VOLUME, "", a->volume_name) ||
                      !x->all->kinds[KIND_VOLUME].is_known;
    const char *advice = "see 'berth describe volumeattachment' and the driver's log";

    if (!has_node)
        check_find(x, SEVERITY_WARNING, "attachment-orphaned", &a->obj, advice,
                   "is for node %s, which does not exist", a->node_name);
    if (!has_volume)
        check_find(x, SEVERITY_WARNING, "attachment-orphaned", &a->obj, advice,
                   "is for volume %s, which does not exist", a->volume_name);
    if (a->attach_error.message[0] && !a->is_attached)
        check_find(x, SEVERITY_WARNING, "attach-failed", &a->obj, advice,
                   "cannot attach volume %s to node %s: %s", a->volume_name, a->node_name,
                   a->attach_error.message);
    if (a->detach_error.message[0])
        check_find(x, SEVERITY_WARNING, "detach-failed", &a->obj, advice,
                   "cannot detach volume %s from node %s: %s", a->volume_name, a->node_name,
                   a->detach_error.message);
}

void check_attachments(struct checkup *x)
{
    for (size_t i = 0; i < x->all->kinds[KIND_ATTACHMENT].list.count; i++) {
        const struct object *o = x->all->kinds[KIND_ATTACHMENT].list.items[i];

        check_attachment(x, (const struct attachment *)(const void *)o);
    }
}

/* --- Nodes --- */

typedef VEC(const struct pod *) pod_list;

static int compare_by_node(const void *a, const void *b)
{
    const struct pod *const *x = a, *const *y = b;
    int order = strcmp((*x)->node_name, (*y)->node_name);

    if (order == 0)
        order = strcmp((*x)->obj.ns, (*y)->obj.ns);
    return order ? order : strcmp((*x)->obj.name, (*y)->obj.name);
}

/* Pods with claims, by their node; each once. */
static void collect_pods(struct checkup *x, pod_list *ret)
{
    size_t kept = 0;

    for (size_t i = 0; i < x->all->users.count; i++) {
        const struct pod *p = x->all->users.items[i].pod;

        if (p->node_name[0] && !pod_is_terminated(p) && vec_push(ret, p) < 0)
            x->is_out_of_memory = true;
    }
    if (ret->count)
        qsort(ret->items, ret->count, sizeof *ret->items, compare_by_node);
    for (size_t i = 0; i < ret->count; i++)
        if (i == 0 || ret->items[i] != ret->items[kept - 1])
            ret->items[kept++] = ret->items[i];
    ret->count = kept;
}

/* How many of them are on the node; the first in *ret. */
static size_t count_pods(const pod_list *pods, const char *node, const struct pod **ret)
{
    size_t low = 0, high = pods->count, end;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(pods->items[middle]->node_name, node) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (end = low; end < pods->count && strcmp(pods->items[end]->node_name, node) == 0; end++)
        ;
    *ret = end > low ? pods->items[low] : NULL;
    return end - low;
}

static const char *pods_in_words(struct checkup *x, const struct pod *first, size_t count)
{
    const char *text;

    if (!first)
        return "volumes are attached to it";
    text = count == 1
               ? arena_printf(&x->texts, "pod %s/%s with claims is on it", first->obj.ns, first->obj.name)
               : arena_printf(&x->texts, "%zu pods with claims are on it: %s/%s and others", count,
                              first->obj.ns, first->obj.name);
    return text ? text : "";
}

/* What the node's agent says of mounts that it cannot attribute. */
static void check_unknown_mounts(struct checkup *x, const struct node *n)
{
    const struct status_condition *c = condition_get(&n->conditions, NODE_UNKNOWN_MOUNTS);

    if (c && c->status == CONDITION_TRUE)
        check_find(x, SEVERITY_WARNING, "node-unknown-mounts", &n->obj,
                   "unmount them on the node once nothing uses them; the volumes are released then",
                   "has had unknown mounts for %s: %s", check_since(x, c->changed), c->message);
}

static void check_mount_right(struct checkup *x, const struct node *n)
{
    const struct status_condition *c = condition_get(&n->conditions, NODE_CANNOT_MOUNT);

    if (c && c->status == CONDITION_TRUE)
        check_find(x, SEVERITY_ERROR, "node-cannot-mount", &n->obj,
                   "run berth as root there; or with --without node, if nothing is to be mounted",
                   "cannot mount any volume: %s", c->message);
}

static void check_plugins(struct checkup *x, const struct node *n)
{
    const struct status_condition *c = condition_get(&n->conditions, NODE_BROKEN_PLUGINS);

    if (c && c->status == CONDITION_TRUE)
        check_find(x, SEVERITY_WARNING, "node-broken-plugins", &n->obj,
                   "repair the driver on the node, or remove its directory; it is tried again by itself",
                   "has had volume plugins that cannot be used for %s: %s", check_since(x, c->changed),
                   c->message);
}

static void check_node(struct checkup *x, const struct node *n, const pod_list *pods)
{
    const struct object *o = inventory_find(x->all, KIND_LEASE, NODE_LEASE_NAMESPACE, n->obj.name);
    const struct lease *l = (const struct lease *)(const void *)o;
    const struct status_condition *ready = condition_get(&n->conditions, "Ready");
    int64_t seconds = l && l->duration_seconds > 0 ? l->duration_seconds : LEASE_SECONDS;
    const struct pod *first;
    size_t count = count_pods(pods, n->obj.name, &first);
    const char *advice = "see 'berth describe node'; one that is off for good wants the taint "
                         "node.kubernetes.io/out-of-service";

    check_unknown_mounts(x, n);
    check_mount_right(x, n);
    check_plugins(x, n);
    if (count == 0 && n->volumes_attached_count == 0 && n->volumes_in_use.count == 0)
        return;
    if (!node_is_ready(n))
        check_find(x, SEVERITY_ERROR, "node-down", &n->obj, advice, "has not been ready for %s, and %s",
                   ready ? check_since(x, ready->changed) : "a while", pods_in_words(x, first, count));
    else if (l && check_age(x, l->renewed) > 2 * seconds)
        check_find(x, SEVERITY_WARNING, "node-silent", &n->obj, advice,
                   "has not renewed its lease for %s, and %s", check_since(x, l->renewed),
                   pods_in_words(x, first, count));
}

void check_nodes(struct checkup *x)
{
    pod_list pods = { 0 };

    collect_pods(x, &pods);
    for (size_t i = 0; i < x->all->kinds[KIND_NODE].list.count; i++)
        check_node(x, node_of(x->all->kinds[KIND_NODE].list.items[i]), &pods);
    vec_done(&pods);
}

/* --- Volumes as nodes see them --- */

/* Where the finding belongs: to the claim, where there is one. */
static struct finding where(const struct usage *u, enum severity severity, const char *rule,
                            const char *advice)
{
    if (u->claim[0])
        return (struct finding){ severity, rule, KIND_CLAIM, u->claim_ns, u->claim, .advice = advice };
    return (struct finding){ severity, rule, KIND_POD, u->ns, u->pod, .advice = advice };
}

/* What the server itself puts into a volume does not fill it up. */
static bool is_of_objects(const struct usage *u)
{
    static const char *const plugins[] = { "kubernetes.io/configmap", "kubernetes.io/secret",
                                           "kubernetes.io/downward-api", "kubernetes.io/projected" };

    for (size_t i = 0; i < ARRAY_LEN(plugins); i++)
        if (strcmp(u->plugin, plugins[i]) == 0)
            return true;
    return false;
}

static bool is_nearly_full(int64_t left, int64_t whole)
{
    return left >= 0 && whole > 0 && left < (whole + FULL_SHARE - 1) / FULL_SHARE;
}

static void check_room(struct checkup *x, const struct usage *u)
{
    _cleanup_(buf_done_p) struct buf left = BUF_INIT(64), whole = BUF_INIT(64);
    const char *advice = "make room, or let its claim ask for more";

    if (is_of_objects(u))
        return;
    usage_write_bytes(u->available, &left);
    usage_write_bytes(u->capacity, &whole);
    if (is_nearly_full(u->available, u->capacity))
        check_find_at(x, where(u, u->available ? SEVERITY_WARNING : SEVERITY_ERROR, "volume-full", advice),
                      "has %s of %s left in volume %s of pod %s", u->available ? buf_cstr(&left) : "0 bytes",
                      buf_cstr(&whole), u->volume, u->pod);
    if (is_nearly_full(u->inodes_free, u->inodes))
        check_find_at(x, where(u, u->inodes_free ? SEVERITY_WARNING : SEVERITY_ERROR, "inodes-full", advice),
                      "has %" PRId64 " of %" PRId64 " inodes left in volume %s of pod %s", u->inodes_free,
                      u->inodes, u->volume, u->pod);
}

/* The pod's directory is on this machine, the volume's is not. The paths of other machines say nothing here:
 * the uid in them sees to it that they are not mistaken for ours. */
static bool is_path_gone(const struct usage *u)
{
    const char *pods = strstr(u->path, "/pods/"), *end = pods ? strchr(pods + 6, '/') : NULL;
    struct error ignored;
    char dir[PATH_MAX];
    bool is_there;
    int n;

    if (!end || u->path[0] != '/')
        return false;
    n = snprintf(dir, sizeof dir, "%.*s", (int)(end - u->path), u->path);
    if (n < 0 || (size_t)n >= sizeof dir || io_exists(dir, &is_there, &ignored) < 0 || !is_there)
        return false;
    return io_exists(u->path, &is_there, &ignored) == 0 && !is_there;
}

void check_usage(struct checkup *x)
{
    for (size_t i = 0; x->usages && i < x->usages->items.count; i++) {
        const struct usage *u = &x->usages->items.items[i];

        if (x->ns && strcmp(u->ns, x->ns) != 0)
            continue;
        if (u->error[0])
            check_find_at(x, where(u, SEVERITY_ERROR, "mount-broken", NULL),
                          "does not answer as volume %s of pod %s on node %s: %s", u->volume, u->pod, u->node,
                          u->error);
        else if (is_path_gone(u))
            check_find_at(x, where(u, SEVERITY_ERROR, "mount-broken", NULL),
                          "should be mounted for pod %s at %s, where nothing is", u->pod, u->path);
        check_room(x, u);
    }
}

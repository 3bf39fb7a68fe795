/* Rules of `berth check` for attachments and nodes, and for the volume statistics that nodes report. */
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
/* Warn below a tenth of the size. */
#define FULL_SHARE 10

/* --- Attachments --- */

static void check_attachment(struct checkup *checkup, const struct attachment *a)
{
    bool has_node = inventory_find(checkup->all, KIND_NODE, "", a->node_name) ||
                    !checkup->all->kinds[KIND_NODE].is_known,
         has_volume = !a->volume_name[0] || inventory_find(checkup->all, KIND_VOLUME, "", a->volume_name) ||
                      !checkup->all->kinds[KIND_VOLUME].is_known;
    const char *advice = NULL; /* 'berth why' */

    if (!has_node)
        check_find(checkup, SEVERITY_WARNING, "attachment-orphaned", &a->obj, advice,
                   "is for node %s, which does not exist", a->node_name);
    if (!has_volume)
        check_find(checkup, SEVERITY_WARNING, "attachment-orphaned", &a->obj, advice,
                   "is for volume %s, which does not exist", a->volume_name);
    if (a->attach_error.message[0] && !a->is_attached)
        check_find(checkup, SEVERITY_WARNING, "attach-failed", &a->obj, advice,
                   "cannot attach volume %s to node %s: %s", a->volume_name, a->node_name,
                   a->attach_error.message);
    if (a->detach_error.message[0])
        check_find(checkup, SEVERITY_WARNING, "detach-failed", &a->obj, advice,
                   "cannot detach volume %s from node %s: %s", a->volume_name, a->node_name,
                   a->detach_error.message);
    if (a->obj.is_deleting || (has_node && has_volume))
        check_attachment_age(checkup, &a->obj);
}

void check_attachments(struct checkup *checkup)
{
    for (size_t i = 0; i < checkup->all->kinds[KIND_ATTACHMENT].list.count; i++) {
        const struct object *o = checkup->all->kinds[KIND_ATTACHMENT].list.items[i];

        check_attachment(checkup, (const struct attachment *)(const void *)o);
    }
}

/* --- Nodes --- */

typedef VEC(const struct pod *) pod_list;

static int compare_by_node(const void *a, const void *b)
{
    const struct pod *const *left = a, *const *right = b;
    int order = strcmp((*left)->node_name, (*right)->node_name);

    if (order == 0)
        order = strcmp((*left)->obj.ns, (*right)->obj.ns);
    return order ? order : strcmp((*left)->obj.name, (*right)->obj.name);
}

/* Pods with claims, sorted by node; each pod once. */
static void collect_pods(struct checkup *checkup, pod_list *ret)
{
    size_t kept = 0;

    for (size_t i = 0; i < checkup->all->users.count; i++) {
        const struct pod *p = checkup->all->users.items[i].pod;

        if (p->node_name[0] && !pod_is_terminated(p) && vec_push(ret, p) < 0)
            checkup->is_out_of_memory = true;
    }
    if (ret->count)
        qsort(ret->items, ret->count, sizeof *ret->items, compare_by_node);
    for (size_t i = 0; i < ret->count; i++)
        if (i == 0 || ret->items[i] != ret->items[kept - 1])
            ret->items[kept++] = ret->items[i];
    ret->count = kept;
}

/* The number of these pods on the node; the first one in *ret. */
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

static const char *pods_in_words(struct checkup *checkup, const struct pod *first, size_t count)
{
    const char *text;

    if (!first)
        return "volumes are attached to it";
    text = count == 1 ? arena_printf(&checkup->texts, "pod %s/%s with claims runs on it", first->obj.ns,
                                     first->obj.name)
                      : arena_printf(&checkup->texts, "%zu pods with claims run on it: %s/%s and others",
                                     count, first->obj.ns, first->obj.name);
    return text ? text : "";
}

/* Conditions that the node's agent sets. */
static void check_conditions(struct checkup *checkup, const struct node *n)
{
    static const struct {
        const char *type;
        enum severity severity;
        const char *rule, *text, *advice;
        bool has_age;
    } table[] = {
        { NODE_UNKNOWN_MOUNTS, SEVERITY_WARNING, "node-unknown-mounts", "has had unknown mounts",
          "unmount them on the node once nothing uses them; Berth then releases the volumes", true },
        { NODE_CANNOT_MOUNT, SEVERITY_ERROR, "node-cannot-mount", "cannot mount volumes",
          "run berth as root there, or with --without node if it should not mount volumes", false },
        { NODE_BROKEN_PLUGINS, SEVERITY_WARNING, "node-broken-plugins", "has had unusable volume plugins",
          "repair the driver on the node, or remove its directory; Berth retries automatically", true },
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        const struct status_condition *c = condition_get(&n->conditions, table[i].type);

        if (c && c->status == CONDITION_TRUE)
            check_find(checkup, table[i].severity, table[i].rule, &n->obj, table[i].advice, "%s%s%s: %s",
                       table[i].text, table[i].has_age ? " for " : "",
                       table[i].has_age ? check_since(checkup, c->changed) : "", c->message);
    }
}

static void check_node(struct checkup *checkup, const struct node *n, const pod_list *pods)
{
    const struct object *o = inventory_find(checkup->all, KIND_LEASE, NODE_LEASE_NAMESPACE, n->obj.name);
    const struct lease *l = (const struct lease *)(const void *)o;
    const struct status_condition *ready = condition_get(&n->conditions, "Ready");
    int64_t seconds = l && l->duration_seconds > 0 ? l->duration_seconds : LEASE_SECONDS;
    const struct pod *first;
    size_t count = count_pods(pods, n->obj.name, &first);
    const char *advice = "see 'berth describe node'; if it is shut down for good, add the taint "
                         "node.kubernetes.io/out-of-service";

    check_conditions(checkup, n);
    if (count == 0 && n->volumes_attached_count == 0 && n->volumes_in_use.count == 0)
        return;
    if (!node_is_ready(n))
        check_find(checkup, SEVERITY_ERROR, "node-down", &n->obj, advice, "has not been ready for %s, and %s",
                   ready ? check_since(checkup, ready->changed) : "a while",
                   pods_in_words(checkup, first, count));
    else if (l && check_age(checkup, l->renewed) > 2 * seconds)
        check_find(checkup, SEVERITY_WARNING, "node-silent", &n->obj, advice,
                   "has not renewed its lease for %s, and %s", check_since(checkup, l->renewed),
                   pods_in_words(checkup, first, count));
}

void check_nodes(struct checkup *checkup)
{
    pod_list pods = { 0 };

    collect_pods(checkup, &pods);
    for (size_t i = 0; i < checkup->all->kinds[KIND_NODE].list.count; i++)
        check_node(checkup, node_of(checkup->all->kinds[KIND_NODE].list.items[i]), &pods);
    vec_done(&pods);
}

/* --- Volume statistics --- */

/* The finding is about the claim if the volume has one, otherwise about the pod. */
static struct check_finding finding_about_usage(const struct volume_usage *u, enum severity severity,
                                                const char *rule, const char *advice)
{
    if (u->claim[0])
        return (struct check_finding){ severity, rule, KIND_CLAIM, u->claim_ns, u->claim, .advice = advice };
    return (struct check_finding){ severity, rule, KIND_POD, u->ns, u->pod, .advice = advice };
}

static bool is_nearly_full(int64_t left, int64_t whole)
{
    return left >= 0 && whole > 0 && left < (whole + FULL_SHARE - 1) / FULL_SHARE;
}

static void check_room(struct checkup *checkup, const struct volume_usage *u)
{
    /* Volumes that the node itself writes do not fill up. */
    static const char *const of_objects[] = { "kubernetes.io/configmap", "kubernetes.io/secret",
                                              "kubernetes.io/downward-api", "kubernetes.io/projected" };
    _cleanup_(buf_done_p) struct buf left = BUF_INIT(64), whole = BUF_INIT(64);
    const char *advice = "free some space, or request a larger size in its claim";

    if (name_index(str_of(u->plugin), of_objects, (int)ARRAY_LEN(of_objects), -1) >= 0)
        return;
    usage_write_bytes(u->available, &left);
    usage_write_bytes(u->capacity, &whole);
    if (is_nearly_full(u->available, u->capacity))
        check_find_at(
            checkup,
            finding_about_usage(u, u->available ? SEVERITY_WARNING : SEVERITY_ERROR, "volume-full", advice),
            "has %s of %s left in volume %s of pod %s", u->available ? buf_cstr(&left) : "0 bytes",
            buf_cstr(&whole), u->volume, u->pod);
    if (is_nearly_full(u->inodes_free, u->inodes))
        check_find_at(
            checkup,
            finding_about_usage(u, u->inodes_free ? SEVERITY_WARNING : SEVERITY_ERROR, "inodes-full", advice),
            "has %" PRId64 " of %" PRId64 " inodes left in volume %s of pod %s", u->inodes_free, u->inodes,
            u->volume, u->pod);
}

/* The pod's directory exists on this machine and the volume's does not. Paths of other machines never match:
 * they contain the pod's uid. */
static bool is_path_gone(const struct volume_usage *u)
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

void check_usage(struct checkup *checkup)
{
    for (size_t i = 0; checkup->usages && i < checkup->usages->items.count; i++) {
        const struct volume_usage *u = &checkup->usages->items.items[i];

        if (checkup->ns && strcmp(u->ns, checkup->ns) != 0)
            continue;
        if (u->error[0])
            check_find_at(checkup, finding_about_usage(u, SEVERITY_ERROR, "mount-broken", NULL),
                          "cannot be accessed as volume %s of pod %s on node %s: %s", u->volume, u->pod,
                          u->node, u->error);
        else if (is_path_gone(u))
            check_find_at(checkup, finding_about_usage(u, SEVERITY_ERROR, "mount-broken", NULL),
                          "should be mounted for pod %s at %s, but nothing is mounted there", u->pod,
                          u->path);
        check_room(checkup, u);
    }
}

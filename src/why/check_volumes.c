/* Rules of `berth check` for volumes and storage classes. */
#include "why/check.h"

#include <stdlib.h>
#include <string.h>

#include "api/csi.h"
#include "api/migration.h"
#include "api/node.h"

#define HOST_PATH_PROVISIONER "kubernetes.io/host-path"
/* Names listed in a summary. */
#define EXAMPLES_MAX 3
/* Volumes with the same path that one volume is compared with: on many nodes the same path is common. */
#define SHARED_MAX 1000

/* --- Binding --- */

static const char *claim_word(const struct volume *v, struct buf *out)
{
    buf_addf(out, "%s/%s", v->claim.ns, v->claim.name);
    return buf_cstr(out);
}

static void check_owner(struct checkup *checkup, const struct volume *v)
{
    _cleanup_(buf_done_p) struct buf word = BUF_INIT(1024);
    const struct object *o =
        v->claim.is_set ? inventory_find(checkup->all, KIND_CLAIM, v->claim.ns, v->claim.name) : NULL;
    const struct claim *c = o ? claim_of(o) : NULL;

    if (!v->claim.is_set || !checkup->all->kinds[KIND_CLAIM].is_known)
        return;
    if (v->phase == VOLUME_BOUND && !c)
        check_find(checkup, SEVERITY_ERROR, "volume-orphaned", &v->obj, NULL,
                   "is Bound to claim %s, which does not exist", claim_word(v, &word));
    else if (v->phase == VOLUME_BOUND && !inventory_is_of(v, c))
        check_find(checkup, SEVERITY_ERROR, "volume-orphaned", &v->obj, NULL,
                   "is Bound to a deleted claim %s; the claim with that name now is a different one",
                   claim_word(v, &word));
    else if (v->phase == VOLUME_BOUND && strcmp(c->volume_name, v->obj.name) != 0)
        check_find(checkup, SEVERITY_ERROR, "volume-orphaned", &v->obj, NULL,
                   c->volume_name[0] ? "is Bound to claim %s, which is bound to volume %s"
                                     : "is Bound to claim %s, which is not bound to a volume%s",
                   claim_word(v, &word), c->volume_name);
    else if ((v->phase == VOLUME_AVAILABLE || v->phase == VOLUME_PENDING || v->phase == VOLUME_PHASE_UNSET) &&
             !c)
        check_find(checkup, SEVERITY_HINT, "volume-kept", &v->obj, "create the claim, or clear spec.claimRef",
                   "is reserved for claim %s, which does not exist", claim_word(v, &word));
}

/* --- Released and failed volumes --- */

/* With policy Retain an administrator decides; other volumes should be deleted soon. */
static bool is_kept_by_policy(const struct checkup *checkup, const struct volume *v)
{
    return v->phase == VOLUME_RELEASED && !v->obj.is_deleting &&
           (v->reclaim == RECLAIM_RETAIN || timestamp_is_zero(v->phase_since) ||
            check_is_late(checkup, v->phase_since));
}

static void check_state(struct checkup *checkup, const struct volume *v)
{
    if (v->phase == VOLUME_FAILED)
        check_find(checkup, SEVERITY_ERROR, "volume-failed", &v->obj, NULL, "has Failed: %s",
                   v->message[0] ? v->message : "no reason recorded");
    else if (is_kept_by_policy(checkup, v) && v->reclaim != RECLAIM_RETAIN &&
             !timestamp_is_zero(v->phase_since))
        check_find(checkup, SEVERITY_WARNING, "reclaim-stuck", &v->obj, NULL,
                   "has been Released for %s and should be %s by now", check_since(checkup, v->phase_since),
                   v->reclaim == RECLAIM_RECYCLE ? "emptied" : "deleted");
}

static bool is_wanted(const struct checkup *checkup, const struct volume *v)
{
    return !checkup->ns || !v->claim.is_set || strcmp(v->claim.ns, checkup->ns) == 0;
}

static void check_released(struct checkup *checkup)
{
    _cleanup_(buf_done_p) struct buf names = BUF_INIT(4096), size = BUF_INIT(QUANTITY_TEXT_BYTES_MAX);
    struct quantity sum = { 0 };
    struct error ignored;
    size_t count = 0;

    for (size_t i = 0; i < checkup->all->kinds[KIND_VOLUME].list.count; i++) {
        const struct volume *v = volume_of(checkup->all->kinds[KIND_VOLUME].list.items[i]);

        if (!is_wanted(checkup, v) || !is_kept_by_policy(checkup, v))
            continue;
        if (count < EXAMPLES_MAX)
            buf_addf(&names, "%s%s", count ? ", " : "", v->obj.name);
        if (v->has_capacity)
            (void)quantity_add(&sum, &v->capacity, &ignored); /* on overflow the sum stays large */
        count++;
    }
    if (count == 0)
        return;
    if (count > EXAMPLES_MAX)
        buf_addf(&names, " and %zu more", count - EXAMPLES_MAX);
    quantity_format(&sum, &size);
    check_find_at(checkup,
                  (struct check_finding){ SEVERITY_WARNING, "volumes-released", KIND_VOLUME, "", "",
                                          .advice =
                                              "save the data that is needed, then delete them, or clear "
                                              "spec.claimRef to make them Available again" },
                  "%zu released volume%s hold%s %s that no claim uses: %s", count, count == 1 ? "" : "s",
                  count == 1 ? "s" : "", buf_cstr(&size), buf_cstr(&names));
}

/* --- Node affinity --- */

static bool node_matches_selector(const struct object *node, const struct node_selector *sel)
{
    struct error ignored;

    return node_selector_matches(sel, node->labels.items, node->labels.count, /* node_name= */ NULL,
                                 &ignored) == 1;
}

static bool has_matching_node(const void *ctx, const struct node_selector *sel)
{
    const struct checkup *checkup = ctx;

    for (size_t i = 0; i < checkup->hosts.count; i++)
        if (node_matches_selector(checkup->hosts.items[i], sel))
            return true;
    return false;
}

static const char *host_of(const struct object *node)
{
    const char *host = object_label(node, LABEL_HOSTNAME);

    return host ? host : "";
}

static bool host_matches_selector(const void *ctx, const char *host, const struct node_selector *sel)
{
    const struct checkup *checkup = ctx;
    size_t low = 0, high = checkup->hosts.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(host_of(checkup->hosts.items[middle]), host) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < checkup->hosts.count && strcmp(host_of(checkup->hosts.items[low]), host) == 0; low++)
        if (node_matches_selector(checkup->hosts.items[low], sel))
            return true;
    return false;
}

static int compare_hosts(const void *a, const void *b)
{
    const struct object *const *left = a, *const *right = b;
    int order = strcmp(host_of(*left), host_of(*right));

    return order ? order : strcmp((*left)->name, (*right)->name);
}

static void check_node_affinity(struct checkup *checkup, const struct volume *v)
{
    const struct node_lookup nodes = { has_matching_node, host_matches_selector, checkup };
    _cleanup_(buf_done_p) struct buf labels = BUF_INIT(4096);

    if (v->source.kind != SOURCE_LOCAL || !v->affinity || !checkup->all->kinds[KIND_NODE].is_known ||
        node_selector_is_met(v->affinity, &nodes))
        return;
    node_selector_words(v->affinity, &labels);
    check_find(checkup, v->phase == VOLUME_BOUND ? SEVERITY_ERROR : SEVERITY_WARNING, "volume-unreachable",
               &v->obj, "add such a node, or delete the volume if its data is lost",
               "needs a node labelled %s, but no such node exists", buf_cstr(&labels));
}

/* --- Volumes with the same path --- */

/* The directory of a volume. */
struct volume_directory {
    const struct volume *volume;
    const char *server; /* "" for a directory of the node */
    const char *path;
};

static bool volume_directory_of(const struct volume *v, struct volume_directory *ret)
{
    *ret = (struct volume_directory){ .volume = v, .server = "" };
    if (v->source.kind == SOURCE_LOCAL) {
        ret->path = v->source.local->path;
    } else if (v->source.kind == SOURCE_HOST_PATH) {
        ret->path = v->source.host_path->path;
    } else if (v->source.kind == SOURCE_NFS) {
        ret->server = v->source.nfs->server;
        ret->path = v->source.nfs->path;
    } else {
        return false;
    }
    return true;
}

/* Trailing slashes are ignored. */
static size_t path_len(const char *path)
{
    size_t len = strlen(path);

    while (len > 1 && path[len - 1] == '/')
        len--;
    return len;
}

static int compare_paths(const struct volume_directory *a, const struct volume_directory *b)
{
    int order = strcmp(a->server, b->server);

    return order ? order
                 : str_cmp((struct str){ a->path, path_len(a->path) },
                           (struct str){ b->path, path_len(b->path) });
}

static int compare_directories(const void *a, const void *b)
{
    const struct volume_directory *left = a, *right = b;
    int order = compare_paths(left, right);

    return order ? order : strcmp(left->volume->obj.name, right->volume->obj.name);
}

/* True when some node has both directories; every node has an NFS server's. */
static bool check_shared(struct checkup *checkup, const struct volume_directory *a,
                         const struct volume_directory *b)
{
    const struct volume *v = a->volume, *other = b->volume;
    bool is_kept = v->reclaim == RECLAIM_RETAIN && other->reclaim == RECLAIM_RETAIN,
         is_shared = !v->affinity || !other->affinity || v->source.kind == SOURCE_NFS;

    for (size_t i = 0; i < checkup->hosts.count && !is_shared; i++)
        is_shared = node_matches_selector(checkup->hosts.items[i], v->affinity) &&
                    node_matches_selector(checkup->hosts.items[i], other->affinity);
    if (is_shared)
        check_find(checkup, is_kept ? SEVERITY_HINT : SEVERITY_WARNING, "volumes-share-path", &v->obj,
                   "give each its own directory, or set policy Retain on both",
                   "has the same path as volume %s, %s%s%s%s", other->obj.name, a->server,
                   a->server[0] ? ":" : "", a->path,
                   is_kept ? ": two claims would share the same data"
                           : ": deleting the claim of one deletes the data of both");
    return is_shared;
}

static void check_shared_paths(struct checkup *checkup)
{
    VEC(struct volume_directory) places = { 0 };
    struct volume_directory one;

    for (size_t i = 0; i < checkup->all->kinds[KIND_VOLUME].list.count; i++)
        if (volume_directory_of(volume_of(checkup->all->kinds[KIND_VOLUME].list.items[i]), &one) &&
            vec_push(&places, one) < 0)
            checkup->is_out_of_memory = true;
    if (places.count)
        qsort(places.items, places.count, sizeof *places.items, compare_directories);
    for (size_t i = 1; i < places.count; i++)
        for (size_t k = i;
             k > 0 && i - k < SHARED_MAX && compare_paths(&places.items[k - 1], &places.items[i]) == 0; k--)
            if (check_shared(checkup, &places.items[i], &places.items[k - 1]))
                break;
    vec_done(&places);
}

void check_volumes(struct checkup *checkup)
{
    if (!checkup->all->kinds[KIND_VOLUME].is_known)
        return;
    for (size_t i = 0; i < checkup->all->kinds[KIND_NODE].list.count; i++)
        if (vec_push(&checkup->hosts, checkup->all->kinds[KIND_NODE].list.items[i]) < 0)
            checkup->is_out_of_memory = true;
    if (checkup->hosts.count)
        qsort(checkup->hosts.items, checkup->hosts.count, sizeof *checkup->hosts.items, compare_hosts);
    for (size_t i = 0; i < checkup->all->kinds[KIND_VOLUME].list.count; i++) {
        const struct volume *v = volume_of(checkup->all->kinds[KIND_VOLUME].list.items[i]);

        if (!is_wanted(checkup, v))
            continue;
        check_owner(checkup, v);
        check_state(checkup, v);
        check_node_affinity(checkup, v);
        check_deleting(checkup, &v->obj);
    }
    check_released(checkup);
    check_shared_paths(checkup);
}

/* --- Classes --- */

static const struct storage_class *class_at(const struct checkup *checkup, size_t i)
{
    return (const struct storage_class *)(const void *)checkup->all->kinds[KIND_CLASS].list.items[i];
}

static void check_default(struct checkup *checkup)
{
    _cleanup_(buf_done_p) struct buf names = BUF_INIT(4096);
    const struct storage_class *best = NULL;
    size_t count = 0;

    for (size_t i = 0; i < checkup->all->kinds[KIND_CLASS].list.count; i++) {
        const struct storage_class *k = class_at(checkup, i);

        if (!k->is_default)
            continue;
        if (++count <= EXAMPLES_MAX)
            buf_addf(&names, "%s%s", count > 1 ? ", " : "", k->obj.name);
        if (!best || timestamp_cmp(k->obj.created, best->obj.created) > 0)
            best = k; /* the list is sorted by name, so of equally new classes the first is kept */
    }
    if (count == 0 && checkup->all->kinds[KIND_CLASS].list.count)
        check_find_at(checkup,
                      (struct check_finding){
                          SEVERITY_HINT, "class-default", KIND_CLASS, "", "",
                          .advice = "to set one: berth annotate sc NAME " ANN_DEFAULT_CLASS "=true" },
                      "no default StorageClass: claims without a class only bind to volumes without a class");
    else if (count > 1)
        check_find_at(
            checkup,
            (struct check_finding){ SEVERITY_WARNING, "class-default", KIND_CLASS, "", "",
                                    .advice =
                                        "remove the annotation " ANN_DEFAULT_CLASS " from all but one" },
            "%zu default StorageClasses: %s%s; claims without a class get %s (the newest, then the first by "
            "name)",
            count, buf_cstr(&names), count > EXAMPLES_MAX ? " and others" : "", best->obj.name);
}

static bool is_driver(const struct checkup *checkup, const char *name)
{
    if (inventory_find(checkup->all, KIND_CSI_DRIVER, "", name))
        return true;
    for (size_t i = 0; i < checkup->all->kinds[KIND_CSI_NODE].list.count; i++)
        if (csi_node_driver(
                (const struct csi_node *)(const void *)checkup->all->kinds[KIND_CSI_NODE].list.items[i],
                name))
            return true;
    return false;
}

/* A volume names it as its provisioner: it runs, or did. */
static bool has_served(const struct checkup *checkup, const char *name)
{
    for (size_t i = 0; i < checkup->all->kinds[KIND_VOLUME].list.count; i++)
        if (object_annotation_is(checkup->all->kinds[KIND_VOLUME].list.items[i], ANN_PROVISIONED_BY, name))
            return true;
    return false;
}

static void check_provisioner(struct checkup *checkup, const struct storage_class *k)
{
    const char *moved = migration_driver(k->provisioner), *driver = moved ? moved : k->provisioner;

    if (strcmp(k->provisioner, PROVISIONER_NONE) == 0 || strcmp(k->provisioner, HOST_PATH_PROVISIONER) == 0 ||
        why_is_one_of(checkup->provisioners, driver) || is_driver(checkup, driver) ||
        has_served(checkup, k->provisioner) || has_served(checkup, driver))
        return;
    check_find(checkup, SEVERITY_HINT, "class-unserved", &k->obj,
               "start the provisioner, or create a new class with the correct name",
               "uses provisioner %s, but nothing shows that it runs: no CSIDriver, no volume created by it",
               k->provisioner);
}

void check_classes(struct checkup *checkup)
{
    if (!checkup->all->kinds[KIND_CLASS].is_known)
        return;
    check_default(checkup);
    if (!checkup->all->kinds[KIND_CSI_DRIVER].is_known || !checkup->all->kinds[KIND_VOLUME].is_known)
        return;
    for (size_t i = 0; i < checkup->all->kinds[KIND_CLASS].list.count; i++)
        check_provisioner(checkup, class_at(checkup, i));
}

/* Volumes and classes. */
#include "why/check.h"

#include <stdlib.h>
#include <string.h>

#include "api/csi.h"
#include "api/migration.h"
#include "api/node.h"

#define HOST_PATH_PROVISIONER "kubernetes.io/host-path"
/* Of those that are summed up, by name. */
#define EXAMPLES_MAX 3
/* Of volumes with the same path that one is compared with: on many nodes it is often the same. */
#define SHARED_MAX 1000

/* --- Whose --- */

static const char *claim_word(const struct volume *v, struct buf *out)
{
    buf_addf(out, "%s/%s", v->claim.ns, v->claim.name);
    return buf_cstr(out);
}

static void check_owner(struct checkup *x, const struct volume *v)
{
    _cleanup_(buf_done_p) struct buf word = BUF_INIT(1024);
    const struct object *o =
        v->claim.is_set ? inventory_find(x->all, KIND_CLAIM, v->claim.ns, v->claim.name) : NULL;
    const struct claim *c = o ? claim_of(o) : NULL;

    if (!v->claim.is_set || !x->all->kinds[KIND_CLAIM].is_known)
        return;
    if (v->phase == VOLUME_BOUND && !c)
        check_find(x, SEVERITY_ERROR, "volume-orphaned", &v->obj, NULL,
                   "is Bound to claim %s, which does not exist", claim_word(v, &word));
    else if (v->phase == VOLUME_BOUND && !inventory_is_of(v, c))
        check_find(x, SEVERITY_ERROR, "volume-orphaned", &v->obj, NULL,
                   "is Bound to an earlier claim %s; today's is another one", claim_word(v, &word));
    else if (v->phase == VOLUME_BOUND && strcmp(c->volume_name, v->obj.name) != 0)
        check_find(x, SEVERITY_ERROR, "volume-orphaned", &v->obj, NULL,
                   c->volume_name[0] ? "is Bound to claim %s, which has volume %s"
                                     : "is Bound to claim %s, which has no volume%s",
                   claim_word(v, &word), c->volume_name);
    else if ((v->phase == VOLUME_AVAILABLE || v->phase == VOLUME_PENDING || v->phase == VOLUME_PHASE_UNSET) &&
             !c)
        check_find(x, SEVERITY_HINT, "volume-kept", &v->obj, "make the claim, or clear spec.claimRef",
                   "is kept for claim %s, which does not exist", claim_word(v, &word));
}

/* --- What is over --- */

/* Retain means that somebody must decide; the others should be gone soon. */
static bool is_held(const struct checkup *x, const struct volume *v)
{
    return v->phase == VOLUME_RELEASED && !v->obj.is_deleting &&
           (v->reclaim == RECLAIM_RETAIN || timestamp_is_zero(v->phase_since) ||
            check_is_late(x, v->phase_since));
}

static void check_state(struct checkup *x, const struct volume *v)
{
    if (v->phase == VOLUME_FAILED)
        check_find(x, SEVERITY_ERROR, "volume-failed", &v->obj, NULL, "has Failed: %s",
                   v->message[0] ? v->message : "nobody says why");
    else if (is_held(x, v) && v->reclaim != RECLAIM_RETAIN && !timestamp_is_zero(v->phase_since))
        check_find(x, SEVERITY_WARNING, "reclaim-stuck", &v->obj, NULL,
                   "has been Released for %s and should be %s by now", check_since(x, v->phase_since),
                   v->reclaim == RECLAIM_RECYCLE ? "emptied" : "deleted");
}

/* A sum that does not fit is still a great deal. */
static void add_capacity(struct quantity *sum, const struct volume *v)
{
    struct error ignored;

    if (v->has_capacity)
        (void)quantity_add(sum, &v->capacity, &ignored);
}

static bool is_wanted(const struct checkup *x, const struct volume *v)
{
    return !x->ns || !v->claim.is_set || strcmp(v->claim.ns, x->ns) == 0;
}

static void check_released(struct checkup *x)
{
    _cleanup_(buf_done_p) struct buf names = BUF_INIT(4096), size = BUF_INIT(QUANTITY_TEXT_BYTES_MAX);
    struct quantity sum = { 0 };
    size_t count = 0;

    for (size_t i = 0; i < x->all->kinds[KIND_VOLUME].list.count; i++) {
        const struct volume *v = volume_of(x->all->kinds[KIND_VOLUME].list.items[i]);

        if (!is_wanted(x, v) || !is_held(x, v))
            continue;
        if (count < EXAMPLES_MAX)
            buf_addf(&names, "%s%s", count ? ", " : "", v->obj.name);
        add_capacity(&sum, v);
        count++;
    }
    if (count == 0)
        return;
    if (count > EXAMPLES_MAX)
        buf_addf(&names, " and %zu more", count - EXAMPLES_MAX);
    quantity_format(&sum, &size);
    check_find_at(x,
                  (struct finding){ SEVERITY_WARNING, "volumes-released", KIND_VOLUME, "", "",
                                    .advice =
                                        "save what is needed, then delete them, or clear spec.claimRef to "
                                        "offer them anew" },
                  "%zu released volume%s hold%s %s that no claim uses: %s", count, count == 1 ? "" : "s",
                  count == 1 ? "s" : "", buf_cstr(&size), buf_cstr(&names));
}

/* --- Where --- */

static bool reaches(const struct object *node, const struct node_selector *sel)
{
    struct error ignored;

    return node_selector_matches(sel, node->labels.items, node->labels.count, /* node_name= */ NULL,
                                 &ignored) == 1;
}

static bool any_reaches(const void *ctx, const struct node_selector *sel)
{
    const struct checkup *x = ctx;

    for (size_t i = 0; i < x->hosts.count; i++)
        if (reaches(x->hosts.items[i], sel))
            return true;
    return false;
}

static const char *host_of(const struct object *node)
{
    const char *host = object_label(node, LABEL_HOSTNAME);

    return host ? host : "";
}

static bool host_reaches(const void *ctx, const char *host, const struct node_selector *sel)
{
    const struct checkup *x = ctx;
    size_t low = 0, high = x->hosts.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(host_of(x->hosts.items[middle]), host) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < x->hosts.count && strcmp(host_of(x->hosts.items[low]), host) == 0; low++)
        if (reaches(x->hosts.items[low], sel))
            return true;
    return false;
}

static bool is_reached(const struct checkup *x, const struct volume *v)
{
    const struct node_lookup nodes = { any_reaches, host_reaches, x };

    return node_selector_is_met(v->affinity, &nodes);
}

static int compare_hosts(const void *a, const void *b)
{
    const struct object *const *x = a, *const *y = b;
    int order = strcmp(host_of(*x), host_of(*y));

    return order ? order : strcmp((*x)->name, (*y)->name);
}

static void collect_hosts(struct checkup *x)
{
    for (size_t i = 0; i < x->all->kinds[KIND_NODE].list.count; i++)
        if (vec_push(&x->hosts, x->all->kinds[KIND_NODE].list.items[i]) < 0)
            x->is_out_of_memory = true;
    if (x->hosts.count)
        qsort(x->hosts.items, x->hosts.count, sizeof *x->hosts.items, compare_hosts);
}

static void check_place(struct checkup *x, const struct volume *v)
{
    _cleanup_(buf_done_p) struct buf labels = BUF_INIT(4096);

    if (v->source.kind != SOURCE_LOCAL || !v->affinity || !x->all->kinds[KIND_NODE].is_known ||
        is_reached(x, v))
        return;
    node_selector_words(v->affinity, &labels);
    check_find(x, v->phase == VOLUME_BOUND ? SEVERITY_ERROR : SEVERITY_WARNING, "volume-unreachable", &v->obj,
               "add such a node, or delete the volume if its data is lost",
               "needs a node labelled %s, and there is none", buf_cstr(&labels));
}

/* --- Two in one place --- */

/* The directory that a volume shows. */
struct place {
    const struct volume *volume;
    const char *server; /* "" for the node's own */
    const char *path;
};

static bool place_of(const struct volume *v, struct place *ret)
{
    *ret = (struct place){ .volume = v, .server = "" };
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

/* Slashes at the end say nothing. */
static size_t path_len(const char *path)
{
    size_t len = strlen(path);

    while (len > 1 && path[len - 1] == '/')
        len--;
    return len;
}

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    int order = strcmp(x->server, y->server);

    if (order == 0)
        order =
            str_cmp((struct str){ x->path, path_len(x->path) }, (struct str){ y->path, path_len(y->path) });
    return order ? order : strcmp(x->volume->obj.name, y->volume->obj.name);
}

static bool is_same_path(const struct place *a, const struct place *b)
{
    return strcmp(a->server, b->server) == 0 &&
           str_eq((struct str){ a->path, path_len(a->path) }, (struct str){ b->path, path_len(b->path) });
}

/* Some node has both; of a server's directories all nodes have. */
static bool share_node(const struct checkup *x, const struct volume *a, const struct volume *b)
{
    if (!a->affinity || !b->affinity || a->source.kind == SOURCE_NFS)
        return true;
    for (size_t i = 0; i < x->hosts.count; i++)
        if (reaches(x->hosts.items[i], a->affinity) && reaches(x->hosts.items[i], b->affinity))
            return true;
    return false;
}

static void find_shared(struct checkup *x, const struct place *a, const struct place *b)
{
    bool is_kept = a->volume->reclaim == RECLAIM_RETAIN && b->volume->reclaim == RECLAIM_RETAIN;

    check_find(x, is_kept ? SEVERITY_HINT : SEVERITY_WARNING, "volumes-share-path", &a->volume->obj,
               "give each its own directory, or let both be of policy Retain",
               "has the path of volume %s, %s%s%s%s", b->volume->obj.name, a->server, a->server[0] ? ":" : "",
               a->path,
               is_kept ? ": two claims would have the same data"
                       : ": when the claim of one is deleted, the data of both is");
}

static void check_shared_paths(struct checkup *x)
{
    VEC(struct place) places = { 0 };
    struct place one;

    for (size_t i = 0; i < x->all->kinds[KIND_VOLUME].list.count; i++)
        if (place_of(volume_of(x->all->kinds[KIND_VOLUME].list.items[i]), &one) && vec_push(&places, one) < 0)
            x->is_out_of_memory = true;
    if (places.count)
        qsort(places.items, places.count, sizeof *places.items, compare_places);
    for (size_t i = 1; i < places.count; i++)
        for (size_t k = i;
             k > 0 && i - k < SHARED_MAX && is_same_path(&places.items[k - 1], &places.items[i]); k--)
            if (share_node(x, places.items[k - 1].volume, places.items[i].volume)) {
                find_shared(x, &places.items[i], &places.items[k - 1]);
                break;
            }
    vec_done(&places);
}

void check_volumes(struct checkup *x)
{
    if (!x->all->kinds[KIND_VOLUME].is_known)
        return;
    collect_hosts(x);
    for (size_t i = 0; i < x->all->kinds[KIND_VOLUME].list.count; i++) {
        const struct volume *v = volume_of(x->all->kinds[KIND_VOLUME].list.items[i]);

        if (!is_wanted(x, v))
            continue;
        check_owner(x, v);
        check_state(x, v);
        check_place(x, v);
        check_deleting(x, &v->obj);
    }
    check_released(x);
    check_shared_paths(x);
}

/* --- Classes --- */

static const struct storage_class *class_at(const struct checkup *x, size_t i)
{
    return (const struct storage_class *)(const void *)x->all->kinds[KIND_CLASS].list.items[i];
}

static void check_default(struct checkup *x)
{
    _cleanup_(buf_done_p) struct buf names = BUF_INIT(4096);
    const struct storage_class *best = NULL;
    size_t count = 0;

    for (size_t i = 0; i < x->all->kinds[KIND_CLASS].list.count; i++) {
        const struct storage_class *k = class_at(x, i);

        if (!k->is_default)
            continue;
        if (++count <= EXAMPLES_MAX)
            buf_addf(&names, "%s%s", count > 1 ? ", " : "", k->obj.name);
        if (!best || timestamp_cmp(k->obj.created, best->obj.created) > 0)
            best = k; /* of equally new ones the first by name, which is the order here */
    }
    if (count == 0 && x->all->kinds[KIND_CLASS].list.count)
        check_find_at(x,
                      (struct finding){ SEVERITY_HINT, "class-default", KIND_CLASS, "", "",
                                        .advice =
                                            "make one the default: berth annotate sc NAME " ANN_DEFAULT_CLASS
                                            "=true" },
                      "none is the default: claims that name no class get volumes without class alone");
    else if (count > 1)
        check_find_at(
            x,
            (struct finding){ SEVERITY_WARNING, "class-default", KIND_CLASS, "", "",
                              .advice = "take the annotation " ANN_DEFAULT_CLASS " from all but one" },
            "%zu are the default: %s%s; claims that name no class get %s, the newest, or of equally new "
            "ones the first by name",
            count, buf_cstr(&names), count > EXAMPLES_MAX ? " and others" : "", best->obj.name);
}

static bool is_driver(const struct checkup *x, const char *name)
{
    if (inventory_find(x->all, KIND_CSI_DRIVER, "", name))
        return true;
    for (size_t i = 0; i < x->all->kinds[KIND_CSI_NODE].list.count; i++)
        if (csi_node_driver((const struct csi_node *)(const void *)x->all->kinds[KIND_CSI_NODE].list.items[i],
                            name))
            return true;
    return false;
}

static bool is_running_here(const struct checkup *x, const char *name)
{
    for (const char *const *p = x->provisioners; p && *p; p++)
        if (strcmp(*p, name) == 0)
            return true;
    return false;
}

/* Somebody made volumes in its name: it is, or was, there. */
static bool has_served(const struct checkup *x, const char *name)
{
    for (size_t i = 0; i < x->all->kinds[KIND_VOLUME].list.count; i++)
        if (object_annotation_is(x->all->kinds[KIND_VOLUME].list.items[i], ANN_PROVISIONED_BY, name))
            return true;
    return false;
}

static void check_provisioner(struct checkup *x, const struct storage_class *k)
{
    const char *moved = migration_driver(k->provisioner), *driver = moved ? moved : k->provisioner;

    if (strcmp(k->provisioner, PROVISIONER_NONE) == 0 || strcmp(k->provisioner, HOST_PATH_PROVISIONER) == 0 ||
        is_running_here(x, driver) || is_driver(x, driver) || has_served(x, k->provisioner) ||
        has_served(x, driver))
        return;
    check_find(x, SEVERITY_HINT, "class-unserved", &k->obj,
               "see to it that the provisioner runs, or correct its name in a new class",
               "is of provisioner %s, and nothing shows that it runs: no CSIDriver, no volume made by it",
               k->provisioner);
}

void check_classes(struct checkup *x)
{
    if (!x->all->kinds[KIND_CLASS].is_known)
        return;
    check_default(x);
    if (!x->all->kinds[KIND_CSI_DRIVER].is_known || !x->all->kinds[KIND_VOLUME].is_known)
        return;
    for (size_t i = 0; i < x->all->kinds[KIND_CLASS].list.count; i++)
        check_provisioner(x, class_at(x, i));
}

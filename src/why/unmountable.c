/* Explains volumes that a node cannot mount because it has no plugin for them. */
#include "why/unmountable.h"

#include <string.h>

#include "api/claim.h"
#include "api/mountable.h"
#include "api/pod_claims.h"
#include "plugins/flex/prober.h"

#define CAUSE "unmountable-kind"

/* --- Kinds --- */

static void advise_other_type(struct why_report *r)
{
    report_advise(r, "Use a volume type that Berth mounts (nfs, local, hostPath, or a CSI driver for this "
                     "storage), or a node that a kubelet runs.");
}

static size_t count_nodes(const struct why_world *w, size_t *ret_berths)
{
    const struct informer *nodes = w->caches[KIND_NODE];
    struct informer_cursor at;
    size_t count = 0;

    *ret_berths = 0;
    for (const struct object *o = nodes ? informer_first(nodes, &at) : NULL; o; o = informer_next(&at)) {
        count++;
        *ret_berths += node_is_berths(node_of(o));
    }
    return count;
}

void why_unmountable_kind(const struct why_world *w, struct why_report *r, const struct volume *v)
{
    const char *kind = volume_sources[v->source.kind].name;
    size_t berths, count = count_nodes(w, &berths);

    if (source_is_mountable(v->source.kind) || berths == 0 || report_has_cause(r))
        return;
    if (berths < count)
        report_fact(r, "Berth cannot mount %s volumes: of %zu nodes its agent runs %zu", kind, count, berths);
    else
        report_cause(r, CAUSE, "Berth cannot mount %s volumes, and its agent runs every node", kind);
    advise_other_type(r);
}

static void report_kind(const struct why_world *w, struct why_report *r, const char *kind, const char *name,
                        const char *node)
{
    const struct object *n = why_get(w, KIND_NODE, "", node);

    if (!n || !node_is_berths(node_of(n)))
        return;
    report_cause(r, CAUSE, "Berth cannot mount %s volumes, and its agent runs node %s: volume \"%s\"", kind,
                 node, name);
    advise_other_type(r);
    report_next(r, "nothing until the pod is recreated with another volume or on another node");
}

void why_unmountable_volume(const struct why_world *w, struct why_report *r, const struct volume *v,
                            const char *node)
{
    if (!source_is_mountable(v->source.kind))
        report_kind(w, r, volume_sources[v->source.kind].name, v->obj.name, node);
}

void why_unmountable_in_pod(const struct why_world *w, struct why_report *r, const struct pod *p)
{
    for (uint32_t i = 0; i < p->volumes.count; i++) {
        const struct pod_volume *v = &p->volumes.items[i];

        if (!pod_volume_is_mountable(v->type))
            report_kind(w, r, pod_volume_type_names[v->type], v->name, p->node_name);
    }
}

/* --- FlexVolume --- */

/* The driver of the pod's volume of that name, or of a claim's PersistentVolume; NULL for none. */
static const char *flex_driver(const struct why_world *w, const struct pod *p, struct str name)
{
    for (uint32_t i = 0; i < p->volumes.count; i++) {
        const struct pod_volume *volume = &p->volumes.items[i];
        const char *claim_name = pod_claim_name(volume);
        const struct object *c = claim_name ? why_get(w, KIND_CLAIM, p->obj.ns, claim_name) : NULL;
        const struct object *v = c ? why_get(w, KIND_VOLUME, "", claim_of(c)->volume_name) : NULL;

        if (volume->type == POD_VOLUME_FLEX && str_is(name, volume->name))
            return volume->flex->driver;
        if (v && volume_of(v)->source.kind == SOURCE_FLEX && str_is(name, v->name))
            return volume_of(v)->source.flex->driver;
    }
    return NULL;
}

bool why_no_flex_driver(const struct why_world *w, struct why_report *r, const struct pod *p,
                        const char *complaint, const char *dir)
{
    static const char before[] = "volumeSpec for volume \"", after[] = "\" err=no volume plugin matched";
    const char *at = strstr(complaint, before), *end = at ? strstr(at, after) : NULL, *driver, *slash;
    struct str name;

    if (!end)
        return false;
    at += strlen(before);
    name = (struct str){ at, (size_t)(end - at) };
    driver = flex_driver(w, p, name);
    if (!driver)
        return false;
    slash = strrchr(driver, '/');
    report_cause(
        r, "no-flex-driver",
        "volume \"%.*s\": node %s has no working FlexVolume driver %s; it is expected at %s/%.*s%s%s/%s",
        STR_ARG(name), p->node_name, driver, dir ? dir : FLEX_DIR, slash ? (int)(slash - driver) : 0, driver,
        slash ? "~" : "", slash ? slash + 1 : driver, slash ? slash + 1 : driver);
    if (!dir)
        report_fact(r, "with --flex-dir, node %s uses another directory", p->node_name);
    report_advise(r, "Install the driver there, executable, with an init that answers Success. The node "
                     "detects it automatically.");
    report_next(r, "the node retries automatically");
    return true;
}

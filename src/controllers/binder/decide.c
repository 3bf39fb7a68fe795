/* Decisions about claims and volumes: the rows of docs/binder.md as pure functions of the caches.
 *
 * A decision about an unbound claim costs one search of the volume index, all others a few cache lookups; the
 * default class is found by a walk over all classes. Nothing is allocated except error texts. */
#include "controllers/binder/decide.h"

#include <assert.h>
#include <string.h>

#include "api/migration.h"
#include "api/volume.h"
#include "base/cleanup.h"
#include "plugins/registry.h"

const char *const claim_step_names[] = {
    [CLAIM_STEP_FAIL] = "undecided",
    [CLAIM_STEP_BIND] = "bound",
    [CLAIM_STEP_AWAIT_CLASS] = "awaits-class",
    [CLAIM_STEP_SET_CLASS] = "default-class",
    [CLAIM_STEP_AWAIT_POD] = "waits-for-consumer",
    [CLAIM_STEP_PROVISION_OFF] = "provisioning-off",
    [CLAIM_STEP_PROVISION_CLASS] = "no-class",
    [CLAIM_STEP_NO_PROVISIONER] = "no-provisioner",
    [CLAIM_STEP_PROVISION_BUILTIN] = "provisioning",
    [CLAIM_STEP_PROVISION_EXTERNAL] = "waits-for-provisioner",
    [CLAIM_STEP_NO_CLASS] = "no-match",
    [CLAIM_STEP_NAMED_MISSING] = "named-missing",
    [CLAIM_STEP_MISMATCH] = "named-mismatch",
    [CLAIM_STEP_TAKEN] = "taken",
    [CLAIM_STEP_LOST_REFERENCE] = "lost-reference",
    [CLAIM_STEP_LOST_VOLUME] = "volume-gone",
    [CLAIM_STEP_MISBOUND] = "misbound",
};
static_assert(ARRAY_LEN(claim_step_names) == CLAIM_STEP_COUNT, "name every step");

const char *const volume_rest_names[] = {
    [VOLUME_REST_FREE] = "free",         [VOLUME_REST_KEPT] = "kept",
    [VOLUME_REST_MISSED] = "missed",     [VOLUME_REST_HALF_BOUND] = "half-bound",
    [VOLUME_REST_BOUND] = "bound",       [VOLUME_REST_RELEASED] = "released",
    [VOLUME_REST_RETAINED] = "retained", [VOLUME_REST_RECLAIMING] = "reclaiming",
    [VOLUME_REST_FAILING] = "failing",   [VOLUME_REST_EXTERNAL] = "external-deleter",
};
static_assert(ARRAY_LEN(volume_rest_names) == VOLUME_REST_COUNT, "name every reason");

static const struct storage_class *class_named(const struct informer *classes, const char *name)
{
    return (const struct storage_class *)(const void *)informer_get(classes, "", name);
}

int decide_search(const struct binder_view *s, const struct claim *c, struct match_options *ret,
                  struct error *err)
{
    const struct storage_class *k = c->class[0] ? class_named(s->classes, c->class) : NULL;

    if (k && k->binding == BINDING_UNSET)
        return error_set(err, ERR_INVALID, "VolumeBindingMode not set for StorageClass \"%s\"", k->obj.name);
    *ret = (struct match_options){
        .is_delayed = k && k->binding == BINDING_WAIT_FOR_FIRST_CONSUMER,
        .awaits_class = !k && c->class[0] && s->is_new && s->is_new(s->ctx, c),
    };
    return 0;
}

const struct storage_class *decide_default_class(const struct informer *classes)
{
    const struct storage_class *best = NULL;
    struct informer_cursor at;

    for (const struct object *o = informer_first(classes, &at); o; o = informer_next(&at)) {
        const struct storage_class *k = (const struct storage_class *)(const void *)o;

        if (k->is_default && (!best || timestamp_cmp(k->obj.created, best->obj.created) > 0))
            best = k;
    }
    return best;
}

/* --- Without a volume's name --- */

static int find_provisioner(const struct volume_plugin *const *plugins, const char *name,
                            const struct volume_plugin **ret, struct error *err)
{
    const struct volume_plugin *p = NULL;
    int r = plugins_by_name(plugins, name, &p, err);

    if (r == 0)
        r = plugin_require(p->provision, "provisionable", err);
    if (r == 0)
        *ret = p;
    return r;
}

/* A5: selects the provisioner. */
static void decide_provisioner(const struct binder_view *s, const struct claim *c, struct claim_decision *ret)
{
    const struct storage_class *k = class_named(s->classes, c->class);

    ret->class = k;
    if (s->is_static) {
        ret->step = CLAIM_STEP_PROVISION_OFF;
    } else if (!k) {
        (void)informer_not_found(s->classes, c->class, &ret->err);
        ret->step = CLAIM_STEP_PROVISION_CLASS;
    } else if (migration_driver(k->provisioner)) {
        ret->provisioner = migration_driver(k->provisioner);
        ret->step = CLAIM_STEP_PROVISION_EXTERNAL;
    } else if (find_provisioner(s->plugins, k->provisioner, &ret->plugin, &ret->err) == 0) {
        ret->step = CLAIM_STEP_PROVISION_BUILTIN;
    } else if (strncmp(k->provisioner, "kubernetes.io/", 14) != 0) {
        ret->provisioner = k->provisioner;
        ret->step = CLAIM_STEP_PROVISION_EXTERNAL;
    } else {
        ret->step = CLAIM_STEP_NO_PROVISIONER;
    }
}

/* A3 to A6: no volume matches. */
static void decide_unmatched(const struct binder_view *s, const struct claim *c, struct claim_decision *ret)
{
    ret->class = c->has_class ? NULL : decide_default_class(s->classes);
    if (ret->class)
        ret->step = CLAIM_STEP_SET_CLASS;
    else if (ret->search.is_delayed && !object_annotation(&c->obj, ANN_SELECTED_NODE))
        ret->step = CLAIM_STEP_AWAIT_POD;
    else if (c->class[0] != '\0')
        decide_provisioner(s, c, ret);
    else
        ret->step = CLAIM_STEP_NO_CLASS;
}

/* True if a volume matches once the claim no longer waits for its class. */
static bool has_match_later(const struct binder_view *s, const struct claim *c)
{
    const struct volume *v = NULL;
    struct error ignored;

    return s->match(s->ctx, c, &(struct match_options){ 0 }, &v, &ignored) == 0 && v;
}

static void decide_unbound(const struct binder_view *s, const struct claim *c, struct claim_decision *ret)
{
    if (decide_search(s, c, &ret->search, &ret->err) < 0)
        return;
    if (s->match(s->ctx, c, &ret->search, &ret->volume, &ret->err) < 0) {
        (void)error_wrap(&ret->err, "error finding PV for claim \"%s/%s\"", c->obj.ns, c->obj.name);
        return;
    }
    if (ret->volume)
        ret->step = CLAIM_STEP_BIND;
    else if (ret->search.awaits_class && has_match_later(s, c))
        ret->step = CLAIM_STEP_AWAIT_CLASS;
    else
        decide_unmatched(s, c, ret);
}

bool decide_is_waiting_pod(const struct pod *p)
{
    return p->node_name[0] == '\0' && !pod_is_terminated(p);
}

/* --- With a volume's name --- */

static void decide_named(const struct claim *c, struct claim_decision *ret)
{
    const struct volume *v = ret->volume;

    if (!v) {
        ret->step = CLAIM_STEP_NAMED_MISSING;
    } else if (v->claim.is_set) {
        ret->step = volume_is_for(v, c) ? CLAIM_STEP_BIND : CLAIM_STEP_TAKEN;
        ret->reject = ret->step == CLAIM_STEP_TAKEN ? REJECT_TAKEN : REJECT_NONE;
    } else {
        ret->reject = match_named(v, c);
        ret->step = ret->reject == REJECT_NONE ? CLAIM_STEP_BIND : CLAIM_STEP_MISMATCH;
    }
}

bool decide_has_volume(const struct claim *c, const struct volume *v)
{
    return v && (!v->claim.is_set || strcmp(v->claim.uid, c->obj.uid) == 0);
}

static void decide_bound(const struct claim *c, struct claim_decision *ret)
{
    if (c->volume_name[0] == '\0')
        ret->step = CLAIM_STEP_LOST_REFERENCE;
    else if (decide_has_volume(c, ret->volume))
        ret->step = CLAIM_STEP_BIND;
    else
        ret->step = ret->volume ? CLAIM_STEP_MISBOUND : CLAIM_STEP_LOST_VOLUME;
}

void decide_claim(const struct binder_view *s, const struct claim *c, struct claim_decision *ret)
{
    const struct object *named = c->volume_name[0] ? informer_get(s->volumes, "", c->volume_name) : NULL;

    *ret = (struct claim_decision){ .step = CLAIM_STEP_FAIL, .volume = named ? volume_of(named) : NULL };
    if (object_annotation(&c->obj, ANN_BIND_COMPLETED))
        decide_bound(c, ret);
    else if (c->volume_name[0] != '\0')
        decide_named(c, ret);
    else
        decide_unbound(s, c, ret);
}

/* --- Volumes whose claim is gone --- */

bool decide_is_released(const struct volume *v, const struct claim *c)
{
    if (!v->claim.is_set || v->claim.uid[0] == '\0')
        return false;
    if (c && strcmp(c->obj.uid, v->claim.uid) == 0)
        return c->volume_name[0] != '\0' && strcmp(c->volume_name, v->obj.name) != 0;
    return true;
}

int decide_deleter(const struct volume_plugin *const *plugins, const struct volume *v,
                   const struct volume_plugin **ret, struct error *err)
{
    const char *by = object_annotation(&v->obj, ANN_PROVISIONED_BY);
    const struct volume_plugin *p = NULL;
    int r;

    *ret = NULL;
    if (by && by[0]) {
        r = plugins_by_name(plugins, by, &p, err);
        if (r == 0)
            r = plugin_require(p->remove, "deletable", err);
        if (r < 0)
            return strncmp(by, "kubernetes.io/", 14) == 0 ? r : 0;
        *ret = p;
        return 0;
    }
    if (object_annotation(&v->obj, ANN_MIGRATED_TO) || v->source.kind == SOURCE_CSI)
        return 0;
    r = plugins_by_source(plugins, &(struct volume_spec){ .volume = v }, &p, err);
    if (r == 0)
        r = plugin_require(p->remove, "deletable", err);
    if (r < 0)
        return error_wrap(err, "error getting deleter volume plugin for volume \"%s\"", v->obj.name);
    *ret = p;
    return 0;
}

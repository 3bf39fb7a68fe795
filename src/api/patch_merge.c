/* JSON merge patch (RFC 7386). Maps are merged from an explicit stack of work, without recursion. */
#include "api/patch.h"

#include "api/json_int.h"
#include "api/patch_int.h"
#include "base/cleanup.h"

/* Merges one member of the patch into the target: old is the target's member, or 0. */
static int merge_member(struct patch_run *r, json_ref target, json_ref old, json_ref m)
{
    struct json *d = r->d;
    bool object = json_type(d, m) == JSON_OBJECT;

    if (object && json_type(d, old) == JSON_OBJECT)
        return patch_push(r, old, m, NULL);
    if (old) {
        json_become(d, old, m);
        m = old;
    } else {
        json_link(d, target, m);
    }
    return object ? patch_push(r, m, 0, NULL) : 0;
}

static int merge_object(struct patch_run *r, json_ref target, json_ref patch)
{
    _cleanup_(patch_index_done_p) struct patch_index members = { .entries = NULL };
    struct json *d = r->d;
    bool dropped = false;
    int e = patch_index_init(r, &members, target, NULL, json_count(d, patch));

    for (json_ref m = json_first(d, patch); e == 0 && m; m = json_first(d, patch)) {
        const struct patch_entry *found = patch_index_find(&members, patch_label_name(json_key(d, m)));
        json_unlink(d, m); /* it is the first member: no search */
        if (json_type(d, m) != JSON_NULL) {
            e = merge_member(r, target, found ? found->node : 0, m);
        } else if (found) {
            json_drop(d, found->node);
            dropped = true;
        }
    }
    if (dropped)
        json_sweep(d, target);
    return e;
}

/* Null members are also removed from what the patch adds. Lists are not changed. */
static int merge_clean(struct patch_run *r, json_ref object)
{
    struct json *d = r->d;
    bool dropped = false;

    for (json_ref m = json_first(d, object); m; m = json_next(d, m)) {
        int e = json_type(d, m) == JSON_OBJECT ? patch_push(r, m, 0, NULL) : 0;
        if (e < 0)
            return e;
        if (json_type(d, m) == JSON_NULL) {
            json_drop(d, m);
            dropped = true;
        }
    }
    if (dropped)
        json_sweep(d, object);
    return 0;
}

int patch_merge(struct json *d, json_ref target, json_ref patch, struct error *err)
{
    _cleanup_(patch_run_done_p) struct patch_run r = { .d = d, .err = err };
    bool object = json_type(d, patch) == JSON_OBJECT;
    int e = 0;

    assert(!json_parent(d, target));
    assert(!json_parent(d, patch));
    if (object && json_type(d, target) == JSON_OBJECT) {
        e = patch_push(&r, target, patch, NULL);
    } else {
        json_become(d, target, patch);
        if (object)
            e = patch_push(&r, target, 0, NULL);
    }
    while (e == 0 && r.count) {
        struct patch_work w = r.stack[--r.count];
        e = w.patch ? merge_object(&r, w.target, w.patch) : merge_clean(&r, w.target);
    }
    return e < 0 ? e : json_check(d, err);
}

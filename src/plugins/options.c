#include "plugins/options.h"

#include "api/node_selector.h"
#include "host/mount.h"

/* The annotation's, cut at its commas. */
static int split(struct arena *a, const char *given, struct texts *ret, struct error *err)
{
    struct str left = str_of(given);
    uint32_t count = 1, i = 0;
    const char **items;

    for (const char *c = given; *c; c++)
        count += *c == ',';
    items = arena_array(a, count, sizeof *items);
    if (!items)
        return error_no_memory(err);
    while (left.s) {
        items[i] = arena_dup(a, str_next(&left, ','));
        if (!items[i++])
            return error_no_memory(err);
    }
    *ret = (struct texts){ items, i };
    return 0;
}

int volume_mount_options(struct arena *a, const struct volume_spec *s, const char *const *ours,
                         struct texts *ret, struct error *err)
{
    const char *given = s->volume ? object_annotation(&s->volume->obj, ANN_MOUNT_OPTIONS_BETA) : NULL;
    struct texts own = { ours, 0 }, user = { 0 };
    int r = 0;

    while (ours[own.count])
        own.count++;
    if (given)
        r = split(a, given, &user, err);
    else if (s->volume)
        user = s->volume->mount_options;
    if (r < 0)
        return r;
    if (user.count == 0) {
        *ret = own;
        return 0;
    }
    return host_join_options(a, user, own, ret, err);
}

int volume_check_mount_options(const struct volume_plugin *p, const struct volume_spec *s, struct error *err)
{
    const char *given = s->volume ? object_annotation(&s->volume->obj, ANN_MOUNT_OPTIONS_BETA) : NULL;

    if (p->takes_mount_options || !s->volume || (!given && s->volume->mount_options.count == 0))
        return 0;
    return error_set(err, ERR_UNSUPPORTED, "mount options are not supported for this volume type");
}

int volume_check_node(const struct volume_spec *s, const struct node *n, struct error *err)
{
    if (!s->volume)
        return 0;
    return node_affinity_check(s->volume->affinity, n ? n->obj.labels.items : NULL,
                               n ? n->obj.labels.count : 0, err);
}

/* What is on disk for a volume as a whole, and has no trace in a pod's directory: the agent was killed after
 * it had mounted a device and before it set up the pod, or after the pod's part was gone and before the
 * device's.
 *
 *   plugins/VENDOR/NAME/mounts/VOLUME                       the device of a plugin that is compiled in
 *   plugins/kubernetes.io/flexvolume/VENDOR/NAME/mounts/VOLUME    of a driver
 *   plugins/kubernetes.io/csi/DRIVER/SHA256/globalmount     what a CSI driver has staged, with a file beside
 *   plugins/VENDOR~NAME/volumeDevices/VOLUME/POD            a raw device, bound for a pod
 *   plugins/kubernetes.io/csi/volumeDevices/VOLUME/dev/POD  the same of a CSI driver, and what it has
 *   plugins/kubernetes.io/csi/volumeDevices/publish/VOLUME/POD    published for a pod
 *
 * A device is found without a pod; a bind for a pod is a volume of that pod, unless its link was found
 * already. What none of these rows describes is found by the mount table, if something is mounted there
 * (mount_check.h). */
#include "node/reconstruct_int.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/dirs.h"
#include "host/safe_path.h"
#include "io/file.h"
#include "plugins/layout.h"

#define CSI_DIR "kubernetes.io/csi" /* the plugin's name, too */
#define CSI_BLOCKS "volumeDevices"

/* The directories, or whatever kinds, in `dir` below plugins/; none where it is not there. */
static struct texts list(struct scan *s, int plugins, const char *dir, unsigned kinds)
{
    struct texts names = { 0 };
    struct error err = { 0 };
    int r = dir ? host_list_below(plugins, dir, kinds, &s->arena, SCAN_ENTRIES_MAX, &names, &err)
                : error_no_memory(&err);

    if (r == 0)
        return names;
    if (r != -ERR_NOT_FOUND) {
        (void)error_wrap(&err, "plugins/%s", dir ? dir : "");
        scan_complain(s, &err);
    }
    return (struct texts){ 0 };
}

static void add(struct scan *s, const struct found_volume *v)
{
    struct error err = { 0 };

    if (scan_add(s, v, &err) < 0)
        scan_complain(s, &err);
}

/* plugin: "VENDOR/NAME", with its directory below plugins/. Where the device is mounted is known from here
 * alone: a plugin may not say so of a directory in which nothing is mounted any more. */
static void look_at_mounts(struct scan *s, int plugins, const char *dir, const char *plugin)
{
    struct found_volume v = { .pod_uid = "" };
    const char *path = arena_printf(&s->arena, "%s/mounts", dir);
    struct texts names = list(s, plugins, path, HOST_LIST_DIRS);
    v.plugin_name = plugin;
    for (uint32_t i = 0; v.plugin_name && i < names.count; i++) {
        v.name = names.items[i];
        v.device_mount_path = arena_printf(&s->arena, "%s/plugins/%s/%s", s->env.root, path, v.name);
        if (v.device_mount_path)
            add(s, &v);
    }
}

/* dir: "kubernetes.io" for what is compiled in, or where drivers are. */
static void look_at_vendor(struct scan *s, int plugins, const char *dir, const char *vendor)
{
    struct texts names = list(s, plugins, dir, HOST_LIST_DIRS);

    for (uint32_t i = 0; i < names.count; i++) {
        const char *below = arena_printf(&s->arena, "%s/%s", dir, names.items[i]);
        const char *plugin = arena_printf(&s->arena, "%s/%s", vendor, names.items[i]);

        if (below && plugin)
            look_at_mounts(s, plugins, below, plugin);
    }
}

static int compare(const void *a, const void *b)
{
    const struct found_volume *x = a, *y = b;
    int c = strcmp(x->pod_uid, y->pod_uid);

    if (c == 0 && x->is_block != y->is_block)
        c = x->is_block ? 1 : -1;
    if (c == 0)
        c = strcmp(x->plugin_name, y->plugin_name);
    return c ? c : strcmp(x->name, y->name);
}

static bool has_name(struct texts names, const char *name)
{
    for (uint32_t i = 0; i < names.count; i++)
        if (strcmp(names.items[i], name) == 0)
            return true;
    return false;
}

/* A volume of each pod that has an entry in dir, below plugins/, and none in `others`; the entries. known: so
 * many at the beginning are sorted, which are those of pods' directories. */
static struct texts look_at_maps(struct scan *s, int plugins, const char *dir, struct found_volume v,
                                 size_t known, struct texts others)
{
    struct texts pods = list(s, plugins, dir, HOST_LIST_ALL);

    for (uint32_t i = 0; i < pods.count; i++) {
        v.pod_uid = pods.items[i];
        if (!has_name(others, v.pod_uid) &&
            (!known || !bsearch(&v, s->volumes.items, known, sizeof v, compare)))
            add(s, &v);
    }
    return pods;
}

/* No pod has it any more. dir: its global directory, below plugins/. */
static void add_unused_block(struct scan *s, const char *dir, struct found_volume v)
{
    v.pod_uid = "";
    v.device_mount_path = dir ? arena_printf(&s->arena, "%s/plugins/%s", s->env.root, dir) : NULL;
    if (v.device_mount_path)
        add(s, &v);
}

static void look_at_block(struct scan *s, int plugins, const char *dir, struct found_volume v, size_t known)
{
    const char *path = arena_printf(&s->arena, "%s/volumeDevices/%s", dir, v.name);

    if (path && look_at_maps(s, plugins, path, v, known, (struct texts){ 0 }).count == 0)
        add_unused_block(s, path, v);
}

static void look_at_blocks(struct scan *s, int plugins, size_t known)
{
    struct texts dirs = list(s, plugins, ".", HOST_LIST_DIRS), names;
    char plugin[NAME_MAX + 1];
    struct error ignored;

    for (uint32_t i = 0; i < dirs.count; i++) {
        struct found_volume v = { .is_block = true };

        if (!strchr(dirs.items[i], '~') || layout_unescape(dirs.items[i], plugin, &ignored) < 0)
            continue;
        names = list(s, plugins, arena_printf(&s->arena, "%s/volumeDevices", dirs.items[i]), HOST_LIST_DIRS);
        v.plugin_name = names.count ? arena_dup(&s->arena, str_of(plugin)) : "";
        for (uint32_t k = 0; v.plugin_name && k < names.count; k++) {
            v.name = names.items[k];
            look_at_block(s, plugins, dirs.items[i], v, known);
        }
    }
}

/* Of a driver that stages nothing there is a directory, and no file that says whose it is. */
static void look_at_staged(struct scan *s, int plugins, const char *driver)
{
    struct texts all = list(s, plugins, arena_printf(&s->arena, CSI_DIR "/%s", driver), HOST_LIST_DIRS);
    struct found_volume v = { .pod_uid = "", .plugin_name = CSI_DIR };

    for (uint32_t i = 0; i < all.count; i++) {
        const char *dir = arena_printf(&s->arena, CSI_DIR "/%s/%s", driver, all.items[i]);

        if (!has_name(list(s, plugins, dir, HOST_LIST_OTHERS), "vol_data.json"))
            continue;
        v.name = arena_printf(&s->arena, "%s/%s", driver, all.items[i]);
        v.device_mount_path = arena_printf(&s->arena, "%s/plugins/%s/globalmount", s->env.root, dir);
        if (v.name && v.device_mount_path)
            add(s, &v);
    }
}

static void look_at_csi(struct scan *s, int plugins)
{
    struct texts drivers = list(s, plugins, CSI_DIR, HOST_LIST_DIRS);

    for (uint32_t i = 0; i < drivers.count; i++)
        if (strcmp(drivers.items[i], CSI_BLOCKS) != 0)
            look_at_staged(s, plugins, drivers.items[i]);
}

/* The binds of the agent, then what the driver has published and no bind, no link tells of. */
static void look_at_csi_blocks(struct scan *s, int plugins, size_t known)
{
    const char *blocks = CSI_DIR "/" CSI_BLOCKS;
    struct texts names = list(s, plugins, blocks, HOST_LIST_DIRS);
    struct found_volume v = { .plugin_name = CSI_DIR, .is_block = true };

    for (uint32_t i = 0; i < names.count; i++) {
        const char *binds = arena_printf(&s->arena, "%s/%s/dev", blocks, names.items[i]);
        const char *published = arena_printf(&s->arena, "%s/publish/%s", blocks, names.items[i]);
        struct texts bound;

        v.name = names.items[i];
        if (strcmp(v.name, "staging") == 0 || strcmp(v.name, "publish") == 0 || !binds || !published)
            continue;
        bound = look_at_maps(s, plugins, binds, v, known, (struct texts){ 0 });
        if (look_at_maps(s, plugins, published, v, known, bound).count + bound.count == 0)
            add_unused_block(s, binds, v);
    }
}

void scan_devices(struct scan *s)
{
    _cleanup_(closep) int plugins = -1;
    size_t pods = s->volumes.count; /* those of the pods, still alone and in order */
    char path[PATH_MAX];
    struct texts vendors;

    if (snprintf(path, sizeof path, "%s/plugins", s->env.root) >= (int)sizeof path)
        return; /* nor could anything have been put there */
    plugins = host_open_dir(AT_FDCWD, path, HOST_OPEN_ANY_MOUNT);
    if (plugins < 0)
        return;
    look_at_blocks(s, plugins, pods);
    look_at_csi_blocks(s, plugins, pods);
    look_at_vendor(s, plugins, "kubernetes.io", "kubernetes.io");
    look_at_csi(s, plugins);
    vendors = list(s, plugins, "kubernetes.io/flexvolume", HOST_LIST_DIRS);
    for (uint32_t i = 0; i < vendors.count; i++) {
        const char *dir = arena_printf(&s->arena, "kubernetes.io/flexvolume/%s", vendors.items[i]);

        if (dir)
            look_at_vendor(s, plugins, dir, vendors.items[i]);
    }
}

/* Finds devices without a reference in a pod's directory: the agent was killed after it mounted a device and
 * before it set up the pod, or after it tore down the pod's volume and before it unmounted the device.
 *
 *   plugins/VENDOR/NAME/mounts/VOLUME                       the device of a built-in plugin
 *   plugins/kubernetes.io/flexvolume/VENDOR/NAME/mounts/VOLUME    the device of a FlexVolume driver
 *   plugins/kubernetes.io/csi/DRIVER/SHA256/globalmount     staged by a CSI driver, with a data file
 *   plugins/VENDOR~NAME/volumeDevices/VOLUME/POD            a raw device, bound for a pod
 *   plugins/kubernetes.io/csi/volumeDevices/VOLUME/dev/POD  the same of a CSI driver,
 *   plugins/kubernetes.io/csi/volumeDevices/publish/VOLUME/POD    and published by it for a pod,
 *   plugins/kubernetes.io/csi/volumeDevices/VOLUME/pods/POD       which it was asked for
 *
 * A device is found without a pod; a bind mount for a pod is a volume of that pod, unless its link was found
 * before. Other mounts are found by the mount table (mount_check.h). */
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

/* Lists the directories, or entries of other kinds, in dir below plugins/; empty when dir does not exist. */
static struct texts list_dir(struct reconstruct_scan *s, int plugins, const char *dir, unsigned kinds)
{
    struct texts names = { 0 };
    struct error err = { 0 };
    int r = dir ? host_list_below(plugins, dir, kinds, &s->arena, SCAN_ENTRIES_MAX, &names, &err)
                : error_no_memory(&err);

    if (r == 0)
        return names;
    if (r != -ERR_NOT_FOUND) {
        scan_note_failure(s, plugins, dir ? dir : ".", r);
        (void)error_wrap(&err, "plugins/%s", dir ? dir : "");
        scan_add_error(s, &err);
    }
    return (struct texts){ 0 };
}

static void add_device(struct reconstruct_scan *s, const struct restored_volume *v)
{
    struct error err = { 0 };

    if (scan_add(s, v, &err) < 0)
        scan_add_error(s, &err);
}

/* plugin: "VENDOR/NAME", with its directory below plugins/. The mount path of the device is derived from this
 * directory: a plugin may not return it when nothing is mounted there any more. */
static void scan_device_mounts(struct reconstruct_scan *s, int plugins, const char *dir, const char *plugin)
{
    struct restored_volume v = { .pod_uid = "" };
    const char *path = arena_printf(&s->arena, "%s/mounts", dir);
    struct texts names = list_dir(s, plugins, path, HOST_LIST_DIRS);
    v.plugin_name = plugin;
    for (uint32_t i = 0; v.plugin_name && i < names.count; i++) {
        v.name = names.items[i];
        v.device_mount_path = arena_printf(&s->arena, "%s/plugins/%s/%s", s->env.root, path, v.name);
        if (v.device_mount_path)
            add_device(s, &v);
    }
}

/* dir: "kubernetes.io" for built-in plugins, or the directory of the drivers. */
static void scan_flex_vendor(struct reconstruct_scan *s, int plugins, const char *dir, const char *vendor)
{
    struct texts names = list_dir(s, plugins, dir, HOST_LIST_DIRS);

    for (uint32_t i = 0; i < names.count; i++) {
        const char *below = arena_printf(&s->arena, "%s/%s", dir, names.items[i]);
        const char *plugin = arena_printf(&s->arena, "%s/%s", vendor, names.items[i]);

        if (below && plugin)
            scan_device_mounts(s, plugins, below, plugin);
    }
}

static int compare_by_name(const void *a, const void *b)
{
    const struct restored_volume *left = a, *right = b;
    int c = strcmp(left->pod_uid, right->pod_uid);

    if (c == 0 && left->is_block != right->is_block)
        c = left->is_block ? 1 : -1;
    if (c == 0)
        c = strcmp(left->plugin_name, right->plugin_name);
    return c ? c : strcmp(left->name, right->name);
}

static bool has_name(struct texts names, const char *name)
{
    for (uint32_t i = 0; i < names.count; i++)
        if (strcmp(names.items[i], name) == 0)
            return true;
    return false;
}

/* True if one of the volumes from this position on is the pod's. */
static bool has_pod(const struct reconstruct_scan *s, size_t from, const char *pod_uid)
{
    for (size_t i = from; i < s->volumes.count; i++)
        if (strcmp(s->volumes.items[i].pod_uid, pod_uid) == 0)
            return true;
    return false;
}

/* Adds a volume of each pod that has an entry in one of the directories, below plugins/, and returns how many
 * entries there are. known: this number of volumes at the start of the list is sorted; they are those of the
 * pod directories. */
static size_t scan_device_maps(struct reconstruct_scan *s, int plugins, const char *const *dirs,
                               size_t dirs_count, struct restored_volume v, size_t known)
{
    size_t count = 0, before = s->volumes.count;

    for (size_t d = 0; d < dirs_count; d++) {
        struct texts pods = list_dir(s, plugins, dirs[d], HOST_LIST_ALL);

        count += pods.count;
        for (uint32_t i = 0; i < pods.count; i++) {
            v.pod_uid = pods.items[i];
            if (!has_pod(s, before, v.pod_uid) &&
                (!known || !bsearch(&v, s->volumes.items, known, sizeof v, compare_by_name)))
                add_device(s, &v);
        }
    }
    return count;
}

/* A device without a pod. dir: its global directory, below plugins/. */
static void add_unused_block(struct reconstruct_scan *s, const char *dir, struct restored_volume v)
{
    v.pod_uid = "";
    v.device_mount_path = dir ? arena_printf(&s->arena, "%s/plugins/%s", s->env.root, dir) : NULL;
    if (v.device_mount_path)
        add_device(s, &v);
}

static void scan_block_device(struct reconstruct_scan *s, int plugins, const char *dir,
                              struct restored_volume v, size_t known)
{
    const char *path = arena_printf(&s->arena, "%s/volumeDevices/%s", dir, v.name);

    if (path && scan_device_maps(s, plugins, &path, 1, v, known) == 0)
        add_unused_block(s, path, v);
}

static void scan_block_devices(struct reconstruct_scan *s, int plugins, size_t known)
{
    struct texts dirs = list_dir(s, plugins, ".", HOST_LIST_DIRS), names;
    char plugin[NAME_MAX + 1];
    struct error ignored;

    for (uint32_t i = 0; i < dirs.count; i++) {
        struct restored_volume v = { .is_block = true };

        if (!strchr(dirs.items[i], '~') || layout_unescape(dirs.items[i], plugin, &ignored) < 0)
            continue;
        names =
            list_dir(s, plugins, arena_printf(&s->arena, "%s/volumeDevices", dirs.items[i]), HOST_LIST_DIRS);
        v.plugin_name = names.count ? arena_dup(&s->arena, str_of(plugin)) : "";
        for (uint32_t k = 0; v.plugin_name && k < names.count; k++) {
            v.name = names.items[k];
            scan_block_device(s, plugins, dirs.items[i], v, known);
        }
    }
}

/* A driver that stages nothing leaves a directory without the file that names its volume. */
static void scan_csi_driver(struct reconstruct_scan *s, int plugins, const char *driver)
{
    struct texts all = list_dir(s, plugins, arena_printf(&s->arena, CSI_DIR "/%s", driver), HOST_LIST_DIRS);
    struct restored_volume v = { .pod_uid = "", .plugin_name = CSI_DIR };

    for (uint32_t i = 0; i < all.count; i++) {
        const char *dir = arena_printf(&s->arena, CSI_DIR "/%s/%s", driver, all.items[i]);

        if (!has_name(list_dir(s, plugins, dir, HOST_LIST_OTHERS), "vol_data.json"))
            continue;
        v.name = arena_printf(&s->arena, "%s/%s", driver, all.items[i]);
        v.device_mount_path = arena_printf(&s->arena, "%s/plugins/%s/globalmount", s->env.root, dir);
        if (v.name && v.device_mount_path)
            add_device(s, &v);
    }
}

static void scan_csi(struct reconstruct_scan *s, int plugins)
{
    struct texts drivers = list_dir(s, plugins, CSI_DIR, HOST_LIST_DIRS);

    for (uint32_t i = 0; i < drivers.count; i++)
        if (strcmp(drivers.items[i], CSI_BLOCKS) != 0)
            scan_csi_driver(s, plugins, drivers.items[i]);
}

/* The bind mounts of the agent, then volumes that the driver has published without a bind mount or link, or
 * was asked to. */
static void scan_csi_block_devices(struct reconstruct_scan *s, int plugins, size_t known)
{
    const char *blocks = CSI_DIR "/" CSI_BLOCKS;
    struct texts names = list_dir(s, plugins, blocks, HOST_LIST_DIRS);
    struct restored_volume v = { .plugin_name = CSI_DIR, .is_block = true };

    for (uint32_t i = 0; i < names.count; i++) {
        const char *binds = arena_printf(&s->arena, "%s/%s/dev", blocks, names.items[i]);
        const char *published = arena_printf(&s->arena, "%s/publish/%s", blocks, names.items[i]);
        const char *noted = arena_printf(&s->arena, "%s/%s/pods", blocks, names.items[i]);
        const char *dirs[] = { binds, published, noted };

        v.name = names.items[i];
        if (strcmp(v.name, "staging") == 0 || strcmp(v.name, "publish") == 0 || !binds || !published ||
            !noted)
            continue;
        if (scan_device_maps(s, plugins, dirs, ARRAY_LEN(dirs), v, known) == 0)
            add_unused_block(s, binds, v);
    }
}

void scan_devices(struct reconstruct_scan *s)
{
    _cleanup_(fd_closep) int plugins = -1;
    size_t pods = s->volumes.count; /* only those of the pods so far, sorted */
    char path[PATH_MAX];
    struct texts vendors;

    if (snprintf(path, sizeof path, "%s/plugins", s->env.root) >= (int)sizeof path)
        return; /* then nothing was mounted there */
    plugins = host_open_dir(AT_FDCWD, path, HOST_OPEN_ANY_MOUNT);
    if (plugins < 0)
        return;
    scan_block_devices(s, plugins, pods);
    scan_csi_block_devices(s, plugins, pods);
    scan_flex_vendor(s, plugins, "kubernetes.io", "kubernetes.io");
    scan_csi(s, plugins);
    vendors = list_dir(s, plugins, "kubernetes.io/flexvolume", HOST_LIST_DIRS);
    for (uint32_t i = 0; i < vendors.count; i++) {
        const char *dir = arena_printf(&s->arena, "kubernetes.io/flexvolume/%s", vendors.items[i]);

        if (dir)
            scan_flex_vendor(s, plugins, dir, vendors.items[i]);
    }
}

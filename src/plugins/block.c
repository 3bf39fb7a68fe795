/* Raw block volumes on a node: the bind, the link and the loop device of a pod. All steps are idempotent, so
 * that an operation can be repeated after a crash. */
#include "plugins/block.h"

#include <stdio.h>

#include "base/mutant.h"
#include "host/block_files.h"
#include "host/safe_path.h"
#include "plugins/layout.h"

int block_paths_of(const char *root, const char *plugin, const char *volume, const char *pod_uid,
                   struct block_paths *ret, struct error *err)
{
    char escaped[NAME_MAX + 1], rest[PATH_MAX];
    struct block_paths p = { 0 };
    int r = layout_escape(plugin, escaped, err);

    if (r == 0) /* checks both names too */
        r = layout_pod_path(root, pod_uid, "volumeDevices", plugin, volume, p.pod_link, err);
    if (r < 0)
        return r;
    (void)snprintf(rest, sizeof rest, "volumeDevices/%s", volume);
    r = layout_plugin_path(root, escaped, rest, p.global_dir, err);
    (void)snprintf(rest, sizeof rest, "volumeDevices/%s/%s", volume, pod_uid);
    if (r == 0)
        r = layout_plugin_path(root, escaped, rest, p.global_file, err);
    if (r == 0)
        *ret = p;
    return r;
}

int block_paths_for(const struct volume_plugin *p, const char *root, const char *volume, const char *pod_uid,
                    struct block_paths *ret, struct error *err)
{
    if (p->block && p->block->paths)
        return p->block->paths(p, root, volume, pod_uid, ret, err);
    return block_paths_of(root, p->name, volume, pod_uid, ret, err);
}

int block_map(const struct volume_env *env, const char *device, const struct block_paths *p, char *ret_loop,
              struct error *err)
{
    char resolved[PATH_MAX];
    int r;

    if (device[0] == '\0')
        return error_set(err, ERR_INVALID, "device path of the volume is empty");
    r = host_resolve_path(device, resolved, err);
    if (r == 0)
        r = block_bind(&env->tools, resolved, p->global_file, err);
    if (r == 0)
        r = block_link(resolved, p->pod_link, err);
    return r < 0 ? r : loop_attach(p->global_file, /* is_read_only= */ false, ret_loop, err);
}

/* The loop device first: without the bind the kernel would report another path for its file. */
int block_unmap(const struct volume_env *env, const struct block_paths *p, struct error *err)
{
    char loop[PATH_MAX];
    int r = loop_find(p->global_file, loop, err);

    if (r == 0 && !MUTANT("node-keeps-loop-devices"))
        r = loop_detach(loop, err);
    if (r < 0 && r != -ERR_NOT_FOUND)
        return r;
    r = block_unlink(p->pod_link, err);
    return r < 0 ? r : block_unbind(&env->tools, p->global_file, err);
}

int block_unmap_device(const struct volume_env *env, const char *global_dir, struct error *err)
{
    int r = block_check_unbound(global_dir, err);

    return r < 0 ? r : host_remove_tree(env->root, global_dir, /* guard= */ NULL, env->stop, err);
}

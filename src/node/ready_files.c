/* Reads each state file by descriptor from pods/ on, without following symbolic links, with bounded sizes.
 * The paths in a file are only compared with the mount table. */
#include "node/ready_files.h"

#include <stdio.h>

#include "base/log.h"
#include "base/mutant.h"
#include "host/files.h"
#include "host/mount_table.h"
#include "host/safe_path.h"
#include "host/system.h"
#include "io/file.h"
#include "node/pod_dir.h"
#include "node/state_file.h"
#include "plugins/layout.h"

#define UIDS_BYTES_MAX ((size_t)4 << 20)

struct ready_check {
    char root[PATH_MAX];
    char boot_id[HOST_FACT_BYTES];
    struct mount_table *mounts; /* NULL: unknown */
    size_t changed;
};

/* --- The mounts of a file --- */

static bool is_mounted(const struct mount_table *t, struct str path)
{
    char clean[PATH_MAX];

    if (path.len >= sizeof clean)
        return false;
    (void)snprintf(clean, sizeof clean, "%.*s", STR_ARG(path));
    return mount_table_find(t, clean) != NULL;
}

static bool has_volumes(const struct json *d, json_ref root, const struct mount_table *t)
{
    for (json_ref v = json_first(d, json_get(d, root, "volumes")); v; v = json_next(d, v))
        if (json_type(d, json_get(d, v, "mountPoint")) == JSON_TRUE &&
            !is_mounted(t, json_get_text(d, v, "path")))
            return false;
    return true;
}

/* sub_paths: the directory of the pod's subPath mounts, with a final slash. */
static bool has_sub_paths(const struct json *d, json_ref root, const char *sub_paths,
                          const struct mount_table *t)
{
    for (json_ref c = json_first(d, json_get(d, root, "containers")); c; c = json_next(d, c))
        for (json_ref m = json_first(d, json_get(d, c, "mounts")); m; m = json_next(d, m)) {
            struct str path = json_get_text(d, m, "hostPath");

            if (str_has_prefix(path, sub_paths) && !is_mounted(t, path))
                return false;
        }
    return true;
}

/* Why the file must not say ready; NULL when it may. */
static const char *find_reason(const struct ready_check *c, const char *uid, const struct pod_state *s)
{
    char dir[PATH_MAX], sub_paths[PATH_MAX + 32];
    struct error ignored;

    if (!pod_state_is_of_boot(s, c->boot_id) && !MUTANT("node-trusts-old-files"))
        return "it is of another boot of the machine";
    if (!c->mounts || layout_pod_dir(c->root, uid, dir, &ignored) < 0)
        return "its mounts cannot be checked";
    (void)snprintf(sub_paths, sizeof sub_paths, "%s/volume-subpaths/", dir);
    if (!has_volumes(&s->doc, s->root, c->mounts) || !has_sub_paths(&s->doc, s->root, sub_paths, c->mounts))
        return "a mount that it lists does not exist";
    return NULL;
}

/* --- The files --- */

static int write_unready(int pod, struct pod_state *s, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(STATE_BYTES_MAX);
    int r;

    pod_state_mark(s, /* is_ready= */ false, s->hook);
    pod_state_write(s, &text);
    r = buf_check(&text, "the pod's state", err);
    return r < 0 ? r : io_replace_file_at(pod, STATE_FILE_NAME, text.data, text.len, STATE_FILE_MODE, err);
}

/* A file that is not one of ours, or damaged, is left to the agent. */
static int check_file(struct ready_check *c, int pods, const char *uid, struct pod_state *s,
                      struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(STATE_BYTES_MAX);
    _cleanup_(fd_closep) int pod = host_open_dir(pods, uid, 0);
    struct error ignored;
    const char *reason;
    int r;

    if (pod < 0)
        return error_set_errno(err, -pod, "cannot open the pod's directory");
    r = host_read_below(pod, STATE_FILE_NAME, STATE_BYTES_MAX, &text, err);
    if (r < 0)
        return r == -ERR_NOT_FOUND ? 0 : r;
    if (pod_state_parse(s, buf_str(&text), &ignored) < 0 || !pod_state_says_ready(s))
        return 0;
    reason = find_reason(c, uid, s);
    if (!reason)
        return 0;
    r = write_unready(pod, s, err);
    if (r == 0) {
        log_debug("pod is not ready any more", LOG_STR("uid", uid), LOG_STR("reason", reason));
        c->changed++;
    }
    return r;
}

static int check_all(struct ready_check *c, struct error *err)
{
    _cleanup_(fd_closep) int pods = pods_dir_open(c->root, err);
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(UIDS_BYTES_MAX);
    struct texts uids = { 0 };
    struct pod_state state;
    struct error why;
    int r;

    if (pods < 0)
        return pods == -ERR_NOT_FOUND ? 0 : pods;
    r = pods_dir_list(pods, &a, &uids, err);
    pod_state_init(&state);
    for (uint32_t i = 0; i < uids.count && r == 0; i++)
        if (pod_uid_is_plausible(uids.items[i]) && check_file(c, pods, uids.items[i], &state, &why) < 0)
            log_warn("cannot check state file of pod", LOG_STR("uid", uids.items[i]), LOG_ERR(&why));
    pod_state_done(&state);
    return r;
}

void ready_files_check(const char *root)
{
    struct ready_check c = { 0 };
    struct error err;
    int r = host_resolve_path(root, c.root, &err);

    if (r == -ERR_NOT_FOUND)
        return; /* no agent has run here */
    host_boot_id(c.boot_id);
    if (r == 0 && mount_table_read(&c.mounts, &err) < 0)
        log_warn("cannot read mount table, pods are not ready until their mounts are known", LOG_ERR(&err));
    if (r == 0)
        r = check_all(&c, &err);
    c.mounts = mount_table_free(c.mounts);
    if (r < 0)
        log_warn("cannot check state files of pods", LOG_STR("root", root), LOG_ERR(&err));
    if (c.changed)
        log_info("pods are not ready: machine booted, or volumes were unmounted",
                 LOG_UINT("pods", c.changed));
}

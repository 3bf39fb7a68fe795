/* Reads and writes the pod state file and pod.json. Both are replaced atomically. Files are opened without
 * following symbolic links, with bounded sizes, on workers. */
#include "node/state_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/pod.h"
#include "base/cleanup.h"
#include "host/dirs.h"
#include "host/files.h"
#include "host/safe_path.h"
#include "io/file.h"

#define POD_DIR_MODE 0750
#define POD_BYTES_MAX ((size_t)16 << 20)

static const char *const hook_state_names[] = {
    [HOOK_NONE] = "none",
    [HOOK_SETTING_UP] = "settingUp",
    [HOOK_SET_UP] = "setUp",
    [HOOK_TORN_DOWN] = "tornDown",
};
static_assert(ARRAY_LEN(hook_state_names) == HOOK_STATE_COUNT, "name every state");

void pod_state_init(struct pod_state *s)
{
    *s = (struct pod_state){ 0 };
    json_init(&s->doc, STATE_BYTES_MAX);
}

void pod_state_done(struct pod_state *s)
{
    json_done(&s->doc);
    *s = (struct pod_state){ 0 };
}

static void pod_state_clear(struct pod_state *s)
{
    json_clear(&s->doc);
    s->root = 0;
    s->hook = HOOK_NONE;
}

/* --- Writing --- */

static json_ref pod_member(struct json *d, const struct object *pod)
{
    json_ref v = json_new_object(d);

    json_set_string(d, v, "name", pod->name);
    json_set_string(d, v, "namespace", pod->ns);
    json_set_string(d, v, "uid", pod->uid);
    return v;
}

static json_ref volume_item(struct json *d, const struct state_volume *volume)
{
    json_ref v = json_new_object(d);

    json_set_string(d, v, "name", volume->name);
    if (volume->claim[0])
        json_set_string(d, v, "claim", volume->claim);
    if (volume->volume[0])
        json_set_string(d, v, "volume", volume->volume);
    json_set_string(d, v, "plugin", volume->plugin);
    json_set_string(d, v, "path", volume->path);
    json_set(d, v, "readOnly", json_new_bool(d, volume->is_read_only));
    json_set(d, v, "block", json_new_bool(d, volume->is_block));
    if (volume->is_mount_point)
        json_set(d, v, "mountPoint", json_new_bool(d, true));
    if (volume->is_missing)
        json_set(d, v, "missing", json_new_bool(d, true));
    return v;
}

static json_ref mount_item(struct json *d, const struct state_mount *m)
{
    json_ref v = json_new_object(d);

    json_set_string(d, v, "volume", m->volume);
    json_set_string(d, v, "path", m->path);
    json_set_string(d, v, "hostPath", m->host_path);
    json_set(d, v, "readOnly", json_new_bool(d, m->is_read_only));
    json_set_string(d, v, "propagation", m->propagation);
    json_set_string(d, v, "recursiveReadOnly", m->recursive_read_only);
    return v;
}

static json_ref device_item(struct json *d, const struct state_device *device)
{
    json_ref v = json_new_object(d);

    json_set_string(d, v, "path", device->path);
    json_set_string(d, v, "hostPath", device->host_path);
    json_set_string(d, v, "permissions", device->permissions);
    return v;
}

static json_ref container_item(struct json *d, const struct state_container *c)
{
    json_ref v = json_new_object(d), mounts = json_new_array(d), devices = json_new_array(d);

    json_set_string(d, v, "name", c->name);
    json_set_string(d, v, "kind", c->kind);
    for (uint32_t i = 0; i < c->mounts_count; i++)
        json_append(d, mounts, mount_item(d, &c->mounts[i]));
    json_set(d, v, "mounts", mounts);
    for (uint32_t i = 0; i < c->devices_count; i++)
        json_append(d, devices, device_item(d, &c->devices[i]));
    json_set(d, v, "devices", devices);
    return v;
}

void pod_state_mark(struct pod_state *s, bool is_ready, enum hook_state hook)
{
    s->hook = hook;
    json_set(&s->doc, s->root, "ready", json_new_bool(&s->doc, is_ready));
    json_set_string(&s->doc, s->root, "hook", hook_state_names[hook]);
}

int pod_state_build(struct pod_state *s, const struct state_parts *p, enum hook_state hook, struct error *err)
{
    struct json *d = &s->doc;
    json_ref volumes, containers, groups;
    int r;

    pod_state_clear(s);
    s->root = json_new_object(d);
    json_set(d, s->root, "pod", pod_member(d, p->pod));
    pod_state_mark(s, /* is_ready= */ true, hook);
    if (p->boot_id[0])
        json_set_string(d, s->root, "bootID", p->boot_id);
    volumes = json_new_array(d);
    for (uint32_t i = 0; i < p->volumes_count; i++)
        json_append(d, volumes, volume_item(d, &p->volumes[i]));
    json_set(d, s->root, "volumes", volumes);
    containers = json_new_array(d);
    for (uint32_t i = 0; i < p->containers_count; i++)
        json_append(d, containers, container_item(d, &p->containers[i]));
    json_set(d, s->root, "containers", containers);
    groups = json_new_array(d);
    for (uint32_t i = 0; i < p->groups_count; i++)
        json_append(d, groups, json_new_int(d, p->groups[i]));
    json_set(d, s->root, "supplementalGroups", groups);
    r = json_check(d, err);
    if (r < 0)
        pod_state_clear(s);
    return r;
}

void pod_state_write(const struct pod_state *s, struct buf *out)
{
    json_write_pretty(&s->doc, s->root, out);
    buf_add_char(out, '\n');
}

/* --- Reading --- */

int pod_state_parse(struct pod_state *s, struct str text, struct error *err)
{
    json_ref root = 0;
    int r, hook;

    pod_state_clear(s);
    r = json_parse(&s->doc, text, &root, err);
    if (r < 0)
        return r;
    hook = name_index(json_get_text(&s->doc, root, "hook"), hook_state_names, HOOK_STATE_COUNT, -1);
    if (hook < 0) {
        pod_state_clear(s);
        return error_set(err, ERR_INVALID, "unknown or missing hook state");
    }
    s->root = root;
    s->hook = (enum hook_state)hook;
    return 0;
}

bool pod_state_says_ready(const struct pod_state *s)
{
    return json_type(&s->doc, json_get(&s->doc, s->root, "ready")) == JSON_TRUE;
}

bool pod_state_is_of_boot(const struct pod_state *s, const char *boot_id)
{
    return boot_id[0] && json_is_string(&s->doc, json_get(&s->doc, s->root, "bootID"), boot_id);
}

bool pod_state_is_of_earlier_boot(const struct pod_state *s, const char *boot_id)
{
    struct str written = json_get_text(&s->doc, s->root, "bootID"); /* "": written by an older agent */

    return written.len > 0 && boot_id[0] && !str_is(written, boot_id);
}

/* --- Files --- */

static int path_in(const char *dir, const char *name, char ret[PATH_MAX], struct error *err)
{
    int n = snprintf(ret, PATH_MAX, "%s/%s", dir, name);

    return n < 0 || n >= PATH_MAX ? error_set(err, ERR_TOO_LARGE, "path '%s/%s' is too long", dir, name) : 0;
}

int state_file_write(const char *pod_dir, struct str state, const struct object *pod, struct error *err)
{
    char path[PATH_MAX];
    int r = host_make_path(pod_dir, POD_DIR_MODE, err);

    if (r == 0 && pod) {
        r = path_in(pod_dir, STATE_POD_NAME, path, err);
        if (r == 0)
            r = io_replace_file(path, pod->text.s, pod->text.len, STATE_FILE_MODE, err);
    }
    if (r == 0)
        r = path_in(pod_dir, STATE_FILE_NAME, path, err);
    if (r == 0)
        r = io_replace_file(path, state.s, state.len, STATE_FILE_MODE, err);
    return r;
}

/* The directory is not trusted: symbolic links are not followed, and a FIFO does not block. */
static int read_in(const char *pod_dir, const char *name, size_t bytes_max, struct buf *ret,
                   struct error *err)
{
    _cleanup_(fd_closep) int fd = host_open_dir(AT_FDCWD, pod_dir, HOST_OPEN_ANY_MOUNT);

    if (fd < 0)
        return error_set_errno(err, -fd, "cannot open directory '%s'", pod_dir);
    return host_read_below(fd, name, bytes_max, ret, err);
}

static int read_pod(const char *pod_dir, struct object **ret, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(POD_BYTES_MAX);
    _cleanup_(json_done_p) struct json scratch;
    int r;

    json_init(&scratch, POD_BYTES_MAX);
    r = read_in(pod_dir, STATE_POD_NAME, POD_BYTES_MAX, &text, err);
    if (r == 0)
        r = object_decode(&pod_kind, buf_str(&text), &scratch, ret, err);
    return r;
}

/* --- Jobs --- */

struct file_job {
    struct job job;
    char dir[PATH_MAX];
    bool is_write;
    bool may_remove;    /* instead of writing */
    char *state;        /* to be written, or that was read; NULL: unreadable */
    struct object *pod; /* that was read */
    struct error state_error;
};

/* The text of the state file, "" when it is missing; NULL and err when it is unreadable. */
static char *read_state_text(const char *pod_dir, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(STATE_BYTES_MAX);
    int r = read_in(pod_dir, STATE_FILE_NAME, STATE_BYTES_MAX, &text, err);
    char *copy;

    if (r == 0 && text.len == 0)
        r = error_set(err, ERR_INVALID, "state file '%s' is empty", STATE_FILE_NAME);
    if (r < 0 && r != -ERR_NOT_FOUND)
        return NULL;
    copy = r == 0 ? buf_take(&text) : strdup("");
    if (!copy)
        (void)error_no_memory(err);
    return copy;
}

/* The error is that of the write. */
static int write_or_remove(const struct file_job *file, struct error *err)
{
    int r = state_file_write(file->dir, str_of(file->state), /* pod= */ NULL, err);
    _cleanup_(fd_closep) int fd = -1;
    struct error ignored;

    if (r == 0 || !file->may_remove)
        return r;
    fd = host_open_dir(AT_FDCWD, file->dir, HOST_OPEN_ANY_MOUNT);
    return fd >= 0 && host_remove_at(fd, STATE_FILE_NAME, file->dir, /* stop= */ NULL, &ignored) == 0 ? 0 : r;
}

static int file_job_run(struct job *j, struct error *err)
{
    struct file_job *file = CONTAINER_OF(j, struct file_job, job);

    if (file->is_write)
        return write_or_remove(file, err);
    file->state = read_state_text(file->dir, &file->state_error);
    return read_pod(file->dir, &file->pod, err);
}

static void file_job_free(struct job *j)
{
    struct file_job *file = CONTAINER_OF(j, struct file_job, job);

    file->pod = object_unref(file->pod);
    free(file->state);
    free(file);
}

static const struct job_type file_job_type = { "pod state file", file_job_run, file_job_free };

static struct file_job *file_job_new(const char *pod_dir)
{
    struct file_job *file = calloc(1, sizeof *file);

    if (!file)
        return NULL;
    file->job.type = &file_job_type;
    file->job.about = file->dir;
    (void)snprintf(file->dir, sizeof file->dir, "%s",
                   pod_dir); /* fits: all directory paths have this limit */
    return file;
}

struct job *state_file_job(const char *pod_dir, char *state_take, bool may_remove)
{
    struct file_job *file = state_take ? file_job_new(pod_dir) : NULL;

    if (!file) {
        free(state_take);
        return NULL;
    }
    file->is_write = true;
    file->may_remove = may_remove;
    file->state = state_take;
    return &file->job;
}

struct job *state_file_read_job(const char *pod_dir)
{
    struct file_job *file = file_job_new(pod_dir);

    return file ? &file->job : NULL;
}

struct object *state_file_job_take_pod(struct job *j)
{
    return TAKE(CONTAINER_OF(j, struct file_job, job)->pod);
}

const char *state_file_job_text(const struct job *j, const char **ret_error)
{
    const struct file_job *file = (const struct file_job *)j;

    *ret_error = file->state_error.msg;
    return file->state;
}

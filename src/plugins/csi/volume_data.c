/* vol_data.json: what must be known about a volume after its object was deleted. The keys are those of the
 * kubelet, so that each finds what the other has left.
 *
 * The file is replaced atomically; leftover temporary files are removed with the directory. */
#include "plugins/csi/csi_int.h"

#include <stdio.h>
#include <string.h>

#include "api/json_out.h"
#include "host/dirs.h"
#include "host/mount_syscall.h"
#include "host/safe_path.h"
#include "io/file.h"
#include "io/path.h"

#define DATA_FILE "vol_data.json"
#define DATA_BYTES_MAX 65536
#define DATA_MODE 0600

static const struct {
    const char *key;
    size_t offset;
    bool is_pods; /* only in the file of a pod's volume */
} keys[] = {
    { "specVolID", offsetof(struct csi_data, spec_name), true },
    { "volumeHandle", offsetof(struct csi_data, handle), false },
    { "driverName", offsetof(struct csi_data, driver), false },
    { "nodeName", offsetof(struct csi_data, node_name), true },
    { "volumeLifecycleMode", offsetof(struct csi_data, mode), true },
    { "attachmentID", offsetof(struct csi_data, attachment), true },
    { "seLinuxMountContext", offsetof(struct csi_data, mount_context), false },
};

static const char **data_member(struct csi_data *d, size_t offset)
{
    return (const char **)(void *)((char *)d + offset);
}

static int data_path(const char *dir, char ret[PATH_MAX], struct error *err)
{
    int n = snprintf(ret, PATH_MAX, "%s/" DATA_FILE, dir);

    return n < 0 || n >= PATH_MAX ? error_set(err, ERR_INVALID, "path '%s' is too long", dir) : 0;
}

int csi_data_write(const char *dir, const struct csi_data *d, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(DATA_BYTES_MAX);
    struct csi_data copy = *d;
    char path[PATH_MAX];
    int r = data_path(dir, path, err);

    if (r < 0)
        return r;
    json_out_object(&text, NULL);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const char *value = *data_member(&copy, keys[i].offset);
        bool is_optional = keys[i].offset == offsetof(struct csi_data, mount_context);
        if (!value || (keys[i].is_pods && !d->node_name) || (is_optional && value[0] == '\0'))
            continue;
        json_out_text(&text, keys[i].key, value);
    }
    json_out_end_object(&text);
    r = buf_check(&text, DATA_FILE, err);
    return r < 0 ? r : io_replace_file(path, text.data, text.len, DATA_MODE, err);
}

int csi_data_read(const char *dir, struct arena *a, struct csi_data *ret, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(DATA_BYTES_MAX);
    _cleanup_(json_done_p) struct json d;
    struct csi_data data = { 0 };
    char path[PATH_MAX];
    json_ref root = 0;
    int r = data_path(dir, path, err);

    json_init(&d, DATA_BYTES_MAX);
    if (r == 0)
        r = io_read_file(path, DATA_BYTES_MAX, &text, err);
    if (r < 0)
        return r;
    r = json_parse(&d, buf_str(&text), &root, err);
    if (r < 0)
        return error_wrap(err, "'%s'", path);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        *data_member(&data, keys[i].offset) = arena_dup(a, json_get_text(&d, root, keys[i].key));
    r = arena_check(a, err);
    if (r < 0)
        return r;
    if (data.driver[0] == '\0' || data.handle[0] == '\0')
        return error_set(err, ERR_INVALID, "'%s' contains no driver name or no volume handle", path);
    *ret = data;
    return 0;
}

void csi_parent(const char *path, char ret[PATH_MAX])
{
    const char *slash = strrchr(path, '/');

    (void)snprintf(ret, PATH_MAX, "%.*s", (int)(slash ? slash - path : 0), path);
}

/* Removes temporary files of interrupted writes. */
static void discard_temporaries(const char *dir)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(CSI_MEMORY_BYTES_MAX);
    struct error ignored; /* the removal of the directory reports what is left */
    struct texts names = { 0 };
    char path[PATH_MAX];

    (void)host_list_dir(dir, &a, HOST_DIRS_MAX, &names, &ignored);
    for (uint32_t i = 0; i < names.count; i++)
        if (str_has_prefix(str_of(names.items[i]), IO_TMP_PREFIX) &&
            snprintf(path, sizeof path, "%s/%s", dir, names.items[i]) < (int)sizeof path)
            io_discard_file(path);
}

int csi_dir_remove(const char *dir, const char *name, struct error *err)
{
    enum host_path_state state = HOST_PATH_MISSING;
    char path[PATH_MAX], file[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", dir, name), r;

    if (n < 0 || (size_t)n >= sizeof path)
        return error_set(err, ERR_INVALID, "path '%s' is too long", dir);
    r = data_path(dir, file, err);
    if (r == 0)
        r = host_path_state(path, &state, err);
    if (r == 0 && state == HOST_PATH_CORRUPTED)
        r = error_set(err, ERR_IO, "cannot access '%s'", path);
    if (r < 0 || state == HOST_PATH_MOUNTED)
        return r;
    r = host_remove_empty_dir(path, err);
    if (r < 0)
        return r;
    io_discard_file(file);
    discard_temporaries(dir);
    return host_remove_empty_dir(dir, err);
}

int csi_dir_undo(const char *dir, const char *name, int r, struct error *err)
{
    struct error ignored = { 0 };

    if (csi_dir_remove(dir, name, &ignored) == 0)
        return r;
    return -(int)(err->code = ERR_INCOMPLETE);
}

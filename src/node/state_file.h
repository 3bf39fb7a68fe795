/* The pod state file, pods/UID/berth.json: the paths of the volumes for the program that starts the
 * containers, and the state of the hook. Users and programs read it (docs/node.md); the agent reads it after
 * a restart.
 *
 * `ready` is valid for one boot of the machine, `bootID`: a reboot removes the mounts and leaves the file.
 *
 * With a hook there is also pod.json: the pod as it was when the hook was called, for a teardown after the
 * server has deleted the pod. */
#ifndef BERTH_NODE_STATE_FILE_H
#define BERTH_NODE_STATE_FILE_H

#include "api/json.h"
#include "api/object.h"
#include "io/job.h"

#define STATE_FILE_NAME "berth.json"
#define STATE_POD_NAME "pod.json"
#define STATE_FILE_MODE 0640
#define STATE_BYTES_MAX ((size_t)16 << 20)

/* The state of the hook. From HOOK_SETTING_UP on a teardown is required, until it has succeeded. */
enum hook_state { HOOK_NONE, HOOK_SETTING_UP, HOOK_SET_UP, HOOK_TORN_DOWN, HOOK_STATE_COUNT };

static inline bool hook_is_owed(enum hook_state h)
{
    return h == HOOK_SETTING_UP || h == HOOK_SET_UP;
}

/* The content to write. Texts are borrowed, never NULL. */
struct state_volume {
    const char *name;   /* in the pod */
    const char *claim;  /* "" for none */
    const char *volume; /* the PersistentVolume; "" for none */
    const char *plugin;
    const char *path;
    bool is_read_only;
    bool is_block;
    bool is_mount_point; /* path is one, below the node's root */
    bool is_missing;     /* a hostPath without a type that does not exist: the container runtime creates it */
};

struct state_mount {
    const char *volume;
    const char *path; /* in the container */
    const char *host_path;
    const char *propagation;         /* "private", "rslave", "rshared" */
    const char *recursive_read_only; /* "Disabled", "IfPossible", "Enabled" */
    bool is_read_only;
};

struct state_device {
    const char *path;
    const char *host_path;
    const char *permissions; /* "mrw" or "r" */
};

struct state_container {
    const char *name;
    const char *kind; /* "init", "regular", "ephemeral" */
    struct state_mount *mounts;
    struct state_device *devices;
    uint32_t mounts_count;
    uint32_t devices_count;
};

struct state_parts {
    const struct object *pod;
    const char *boot_id; /* mounts, and processes started by the hook, belong to this boot; "": unknown */
    struct state_volume *volumes;
    struct state_container *containers;
    int64_t *groups; /* in addition to the containers' own */
    uint32_t volumes_count;
    uint32_t containers_count;
    uint32_t groups_count;
};

/* The file in memory. */
struct pod_state {
    struct json doc;
    json_ref root; /* 0: no file */
    enum hook_state hook;
};

void pod_state_init(struct pod_state *s);
void pod_state_done(struct pod_state *s);

/* Both replace the content of s; after a failure it is empty. */
int pod_state_build(struct pod_state *s, const struct state_parts *p, enum hook_state hook,
                    struct error *err);
int pod_state_parse(struct pod_state *s, struct str text, struct error *err);
void pod_state_mark(struct pod_state *s, bool is_ready, enum hook_state hook);
bool pod_state_says_ready(const struct pod_state *s);
/* False also for a file of an older agent, which does not name the boot, and for an unknown boot_id. */
bool pod_state_is_of_boot(const struct pod_state *s, const char *boot_id);
/* The machine has booted since the file was written: processes started by the hook no longer run. */
bool pod_state_is_of_earlier_boot(const struct pod_state *s, const char *boot_id);
/* Indented, with a final newline. */
void pod_state_write(const struct pod_state *s, struct buf *out);

/* --- Files: on a worker --- */

/* Writes pod.json if pod is not NULL, then the state file, into the pod's directory, which is created if
 * missing. */
int state_file_write(const char *pod_dir, struct str state, const struct object *pod, struct error *err);
/* The same for the state only, as a job that takes ownership of the text. may_remove: when it cannot be
 * written, the old file is removed instead, which also works on a full disk. NULL when out of memory. */
struct job *state_file_job(const char *pod_dir, char *state_take, bool may_remove);
/* Reads both files. The job's result is that of pod.json. For its done callback: the pod, owned by the
 * caller, and the text of the state file, "" when it is missing, or NULL and the reason when it is
 * unreadable. */
struct job *state_file_read_job(const char *pod_dir);
struct object *state_file_job_take_pod(struct job *j);
const char *state_file_job_text(const struct job *j, const char **ret_error);

#endif

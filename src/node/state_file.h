/* The state file of a pod, pods/UID/berth.json: what whoever starts the containers needs to know of their
 * volumes, and how far the hook has come. People and programs read it (docs/node.md); the agent reads it
 * after a restart.
 *
 * Beside it, where there is a hook, is pod.json: the pod as it was when the hook was called, for a teardown
 * that comes when nobody else has the pod any more. */
#ifndef BERTH_NODE_STATE_FILE_H
#define BERTH_NODE_STATE_FILE_H

#include "api/json.h"
#include "api/object.h"
#include "io/job.h"

#define STATE_FILE_NAME "berth.json"
#define STATE_POD_NAME "pod.json"
#define STATE_FILE_MODE 0640
#define STATE_BYTES_MAX ((size_t)16 << 20)

/* How far the hook has come. Until it is torn down again, a teardown is owed from HOOK_SETTING_UP on. */
enum hook_state { HOOK_NONE, HOOK_SETTING_UP, HOOK_SET_UP, HOOK_TORN_DOWN, HOOK_STATE_COUNT };

static inline bool hook_is_owed(enum hook_state h)
{
    return h == HOOK_SETTING_UP || h == HOOK_SET_UP;
}

/* What is written. Texts are borrowed, never NULL. */
struct state_volume {
    const char *name;   /* in the pod */
    const char *claim;  /* "" for none */
    const char *volume; /* the PersistentVolume; "" for none */
    const char *plugin;
    const char *path;
    bool is_read_only;
    bool is_block;
    bool is_missing; /* a hostPath without a type, where nothing is: whoever starts the containers makes it */
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
    struct state_volume *volumes;
    struct state_container *containers;
    int64_t *groups; /* beside the containers' own */
    uint32_t volumes_count;
    uint32_t containers_count;
    uint32_t groups_count;
};

/* The file in memory. */
struct pod_state {
    struct json doc;
    json_ref root; /* 0: there is none */
    enum hook_state hook;
};

void pod_state_init(struct pod_state *s);
void pod_state_done(struct pod_state *s);

/* Both replace what s was, on failure by nothing. */
int pod_state_build(struct pod_state *s, const struct state_parts *p, enum hook_state hook,
                    struct error *err);
int pod_state_parse(struct pod_state *s, struct str text, struct error *err);
void pod_state_mark(struct pod_state *s, bool is_ready, enum hook_state hook);
/* Indented, with a line end. */
void pod_state_write(const struct pod_state *s, struct buf *out);

/* --- Files: on a worker --- */

/* Writes the state into the pod's directory, which is made if it is missing, and in front of it the pod if it
 * is not NULL. */
int state_file_write(const char *pod_dir, struct str state, const struct object *pod, struct error *err);
/* The same for the state only, as a job: takes the text. NULL without memory. */
struct job *state_file_job(const char *pod_dir, char *state_take);
/* Reads both files. r is the pod's; both results are for its done: the pod, the caller's once, and the
 * text of the state file, "" when there is none, or NULL and why it cannot be read. */
struct job *state_file_read_job(const char *pod_dir);
struct object *state_file_job_take_pod(struct job *j);
const char *state_file_job_text(const struct job *j, const char **ret_error);

#endif

/* FlexVolume: drivers that are executables. One driver is a plugin; its slots run the executable.
 *
 * The protocol: DRIVER COMMAND ARGUMENT…, one of the arguments a flat JSON object that describes the volume;
 * the answer is one JSON object on standard output and standard error together, at most
 * FLEX_ANSWER_BYTES_MAX. A driver says "Not supported" once a command: it is remembered for as long as the
 * plugin lives, and what stands for the command is done without asking. A driver that is replaced is a new
 * plugin.
 *
 * The name of a volume is always the spec's, without waiting. `getvolumename` is called before a volume is
 * attached or its device mounted: its answer does not count, but its failure does.
 *
 * Arguments can hold secrets: no error shows them, nor what a driver prints beside its answer. */
#ifndef BERTH_PLUGINS_FLEX_DRIVER_H
#define BERTH_PLUGINS_FLEX_DRIVER_H

#include <limits.h>
#include <stdatomic.h>

#include "plugins/plugin.h"

/* A call that takes longer is ended, with all that the driver started for it. waitforattach has the limit
 * that its caller gives. */
#define FLEX_INIT_LIMIT_NS (30 * NS_PER_S)
#define FLEX_CALL_LIMIT_NS (120 * NS_PER_S)
#define FLEX_ANSWER_BYTES_MAX ((size_t)64 << 10)
/* The kernel takes no longer argument than 128 KiB with its end. */
#define FLEX_JSON_BYTES_MAX ((size_t)(128 << 10) - 1)
#define FLEX_ARGS_MAX 5

enum flex_command {
    FLEX_INIT,
    FLEX_GET_VOLUME_NAME,
    FLEX_ATTACH,
    FLEX_DETACH,
    FLEX_WAIT_FOR_ATTACH,
    FLEX_IS_ATTACHED,
    FLEX_MOUNT_DEVICE,
    FLEX_UNMOUNT_DEVICE,
    FLEX_MOUNT,
    FLEX_UNMOUNT,
    FLEX_EXPAND_VOLUME,
    FLEX_EXPAND_FS,
    FLEX_COMMAND_COUNT,
};

extern const char *const flex_command_names[]; /* "waitforattach" */

struct flex_capabilities {
    bool attaches;
    bool relabels;
    bool has_metrics;
    bool sets_group; /* the group of the files may be changed after a mount */
    bool needs_fs_resize;
    uint32_t volumes_max; /* on a node; 0: no limit */
};

/* What a driver may leave out. */
#define FLEX_CAPABILITIES_DEFAULT \
    ((struct flex_capabilities){  \
        .attaches = true, .relabels = true, .sets_group = true, .needs_fs_resize = true })

struct flex_driver {
    struct volume_plugin plugin;
    struct expand_table expand;
    struct flex_capabilities can;
    atomic_uint unsupported; /* a bit a command; workers set it */
    const char *executable;
    char texts[]; /* the name and the executable's path */
};

static inline struct flex_driver *flex_driver_of(const struct volume_plugin *p)
{
    return (struct flex_driver *)(uintptr_t)p; /* its first member */
}

/* Asks the executable DIR/DIR_NAME/DRIVER what it can do, and makes a plugin of it: "vendor~driver" is the
 * plugin vendor/driver, whose executable is `driver`. Blocks. The plugin has one reference. */
int flex_driver_new(const char *dir, const char *dir_name, const struct host_tools *tools,
                    const host_stop *stop, struct flex_driver **ret, struct error *err);
/* For a plugin that nobody has a reference to but the caller, on any thread. Takes NULL. */
struct flex_driver *flex_driver_free(struct flex_driver *d);

/* --- Answers: pure --- */

struct flex_answer {
    char device[PATH_MAX];
    bool is_attached;
    struct flex_capabilities can;
};

/* 0 for a success. ERR_BAD_REQUEST: no answer at all. ERR_UNSUPPORTED, ERR_IO: `COMMAND command failed,
 * status: …, reason: …`. Keys are known in any case; unknown ones are passed over, wrong types are not. */
int flex_answer_read(enum flex_command command, struct str text, struct flex_answer *ret, struct error *err);

/* --- Calls: blocking --- */

struct flex_call {
    enum flex_command command;
    const char *args[FLEX_ARGS_MAX + 1]; /* ends with NULL */
    uint64_t limit_ns;                   /* 0: FLEX_CALL_LIMIT_NS */
};

/* As flex_answer_read(), besides: ERR_UNSUPPORTED without running anything when the driver said so before,
 * ERR_TIMEOUT `timeout`, ERR_CANCELLED, ERR_UNAVAILABLE when the executable could not be started. A call that
 * exits with anything but 0 has failed whatever it said. */
int flex_run(struct flex_driver *d, const struct volume_env *env, const struct flex_call *c,
             struct flex_answer *ret, struct error *err);

/* The volume as an argument. q: of a mount, which adds pod, group and secret; NULL for other commands. */
int flex_volume_json(const struct volume_spec *s, const struct set_up_request *q, struct buf *ret,
                     struct error *err);

bool flex_is_read_only(const struct volume_spec *s);

/* --- Tables --- */

int flex_check_name(const struct volume_plugin *self, const struct volume_env *env,
                    const struct volume_spec *s, struct error *err);
extern const struct pod_table flex_pod_table;
extern const struct device_table flex_device_table;
extern const struct attach_table flex_attach_table;

int flex_device_path(const struct volume_plugin *self, const struct volume_env *env,
                     const struct volume_spec *s, char ret[PATH_MAX], struct error *err);
int flex_reconstruct_device(const struct volume_plugin *self, const struct volume_env *env,
                            const char *mount_path, struct object **ret, struct error *err);
int flex_expand(const struct volume_plugin *self, const struct volume_env *env,
                const struct expand_request *q, uint64_t *ret_bytes, struct error *err);
int flex_expand_on_node(const struct volume_plugin *self, const struct volume_env *env,
                        const struct expand_request *q, bool *ret_done, struct error *err);

#endif

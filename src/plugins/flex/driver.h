/* FlexVolume: drivers that are executables. A driver is a plugin; its slots run the executable.
 *
 * Protocol: DRIVER COMMAND ARGUMENT…, where one argument is a flat JSON object that describes the volume. The
 * response is one JSON object on standard output and standard error together, at most FLEX_ANSWER_BYTES_MAX.
 * A "Not supported" is remembered per command for the lifetime of the plugin, and the default is used without
 * calling the driver. A replaced driver is a new plugin.
 *
 * The name of a volume is always the one of its spec. `getvolumename` is called before a volume is attached
 * or its device is mounted: its response is ignored, its failure is not.
 *
 * Arguments can contain secrets: no error includes them, nor what a driver prints besides its response. */
#ifndef BERTH_PLUGINS_FLEX_DRIVER_H
#define BERTH_PLUGINS_FLEX_DRIVER_H

#include <limits.h>
#include <stdatomic.h>

#include "plugins/plugin.h"

/* A longer call is killed, with all processes that it started. The limit of waitforattach is set by its
 * caller. */
#define FLEX_INIT_LIMIT_NS (30 * NS_PER_S)
#define FLEX_CALL_LIMIT_NS (120 * NS_PER_S)
#define FLEX_ANSWER_BYTES_MAX ((size_t)64 << 10)
/* The kernel limits an argument to 128 KiB with its NUL. */
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
    bool sets_group; /* fsGroup may be applied after a mount */
    bool needs_fs_resize;
    uint32_t volumes_max; /* per node; 0: no limit */
};

/* For capabilities that a driver does not report. */
#define FLEX_CAPABILITIES_DEFAULT \
    ((struct flex_capabilities){  \
        .attaches = true, .relabels = true, .sets_group = true, .needs_fs_resize = true })

struct flex_driver {
    struct volume_plugin plugin;
    struct expand_table expand;
    struct flex_capabilities can;
    atomic_uint unsupported; /* one bit per command; set by workers */
    const char *executable;
    char texts[]; /* the name and the executable's path */
};

static inline struct flex_driver *flex_driver_of(const struct volume_plugin *p)
{
    return (struct flex_driver *)(uintptr_t)p; /* its first member */
}

/* Runs `init` of the executable DIR/DIR_NAME/DRIVER and creates its plugin: "vendor~driver" is the plugin
 * vendor/driver with the executable `driver`. Blocking. The plugin has one reference. */
int flex_driver_new(const char *dir, const char *dir_name, const struct host_tools *tools,
                    const host_stop *stop, struct flex_driver **ret, struct error *err);
/* For a plugin without other references, on any thread. Accepts NULL. */
struct flex_driver *flex_driver_free(struct flex_driver *d);

/* --- Responses: pure --- */

struct flex_answer {
    char device[PATH_MAX];
    bool is_attached;
    struct flex_capabilities can;
};

/* 0 for success. ERR_BAD_REQUEST: not a valid response. ERR_UNSUPPORTED, ERR_IO: `COMMAND command failed,
 * status: …, reason: …`. Keys are case-insensitive; unknown ones are ignored, wrong types are errors. */
int flex_answer_read(enum flex_command command, struct str text, struct flex_answer *ret, struct error *err);

/* --- Calls: blocking --- */

struct flex_call {
    enum flex_command command;
    const char *args[FLEX_ARGS_MAX + 1]; /* ends with NULL */
    const struct volume_spec *spec;      /* replaces the argument flex_json; NULL: there is none */
    uint64_t limit_ns;                   /* 0: FLEX_CALL_LIMIT_NS */
};

/* Placeholder: the call's volume as JSON. */
extern const char flex_json[];

/* Like flex_answer_read(), and: ERR_UNSUPPORTED without running anything if the driver said so before,
 * ERR_UNCERTAIN for an executable that was killed (`timeout`: at its limit), ERR_UNAVAILABLE for one that was
 * not started. A nonzero exit status is a failure, whatever the response is. */
int flex_run(struct flex_driver *d, const struct volume_env *env, const struct flex_call *c,
             struct flex_answer *ret, struct error *err);
/* The same for an optional command: *ret_has is false if the driver does not have it, and ret is unchanged.
 */
int flex_try(const struct volume_plugin *self, const struct volume_env *env, const struct flex_call *c,
             struct flex_answer *ret, bool *ret_has, struct error *err);

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

/* Internals of the CSI plugin: calls, messages, data files. */
#ifndef BERTH_PLUGINS_CSI_CSI_INT_H
#define BERTH_PLUGINS_CSI_CSI_INT_H

#include <rpc/proto/csi.pb-c.h>
#include <rpc/proto/registration.pb-c.h>

#include "plugins/csi/csi_plugin.h"
#include "rpc/message.h"

#define CSI_DIR_MODE 0750
#define CSI_MEMORY_BYTES_MAX ((size_t)4 << 20) /* for the texts of one request */

/* --- Calls (csi_call.c) --- */

enum csi_method {
    CSI_NODE_STAGE,
    CSI_NODE_UNSTAGE,
    CSI_NODE_PUBLISH,
    CSI_NODE_UNPUBLISH,
    CSI_NODE_STATS,
    CSI_NODE_EXPAND,
    CSI_NODE_CAPABILITIES,
    CSI_NODE_INFO,
    CSI_IDENTITY_INFO,
    CSI_REGISTRATION_INFO,
    CSI_REGISTRATION_NOTIFY,
    CSI_METHOD_COUNT,
};

struct csi_conn {
    struct csi_endpoint endpoint;
    struct rpc_client *rpc;
    uint64_t limit_ns;
    const host_stop *stop;
    const char *driver;    /* borrowed */
    bool is_migrated;      /* of a volume of a migrated plugin, for metrics */
    unsigned capabilities; /* 1 << CSI__V1__NODE_SERVICE_CAPABILITY__RPC__TYPE__*, after csi_capabilities() */
};

/* Finds the driver without connecting. ERR_UNAVAILABLE: not registered. */
int csi_conn_of(const struct volume_plugin *self, const struct volume_env *env, const char *driver,
                struct csi_conn *ret, struct error *err);
/* Queries the capabilities of the driver. Any failure is ERR_UNAVAILABLE: nothing was started. */
int csi_capabilities(struct csi_conn *c, struct error *err);
/* Both. */
int csi_conn_open(const struct volume_plugin *self, const struct volume_env *env, const char *driver,
                  struct csi_conn *ret, struct error *err);
static inline bool csi_can(const struct csi_conn *c, Csi__V1__NodeServiceCapability__RPC__Type type)
{
    return c->capabilities >> type & 1;
}

/* On a worker. *ret: the response, of the method's type, for rpc_message_free(); ret may be NULL. A call that
 * may have taken effect, or may still, is ERR_UNCERTAIN (rpc/rpc.h), and so is a response that cannot be
 * decoded. */
int csi_call(struct csi_conn *c, enum csi_method m, const ProtobufCMessage *request, ProtobufCMessage **ret,
             struct error *err);
/* On the loop: starts the call; csi_answer_read() decodes its response. */
int csi_call_start(struct rpc_client *rpc, enum csi_method m, const char *socket, uint64_t limit_ns,
                   const ProtobufCMessage *request, struct rpc_call *c, struct error *err);
/* Decodes the response of a driver. Pure. */
int csi_answer_read(enum csi_method m, struct str text, ProtobufCMessage **ret, struct error *err);

/* Marks an error as one of a call that was never started. */
int csi_transient(struct error *err);
/* --- Messages (messages.c): in the arena; check the arena before the call --- */

struct csi_pairs {
    Csi__V1__Pair **items;
    size_t count;
    size_t room;
};

/* Copies base, with room for `more` pairs. */
struct csi_pairs csi_pairs_of(struct arena *a, struct kvs base, size_t more);
/* Replaces the pair with that key, or adds it. */
void csi_pairs_set(struct arena *a, struct csi_pairs *p, const char *key, const char *value);

struct csi_secrets {
    Csi__V1__Secret **items;
    size_t count;
};

/* The values of a Secret. ERR_INVALID: a value is not text; the error names its key only. */
struct secret;
int csi_secret_messages(struct arena *a, const struct secret *secret, struct csi_secrets *ret,
                        struct error *err);
/* ERR_INVALID: a value is not text. what: the name of the reference, `NodeStageSecretRef`; for a secret that
 * could not be fetched: `fetching WHAT NS/NAME failed: …`, ERR_UNAVAILABLE. more: room for further secrets.
 */
int csi_secrets_of(struct arena *a, const struct csi_request *q, const struct volume_spec *s,
                   enum csi_secret which, const char *what, size_t more, struct csi_secrets *ret,
                   struct error *err);

/* The publish context from the VolumeAttachment. ERR_UNAVAILABLE. */
int csi_publish_context(const struct csi_request *q, const struct volume_spec *s, struct kvs *ret,
                        struct error *err);

/* The requested access mode and type. fs_group: -1 for none. */
Csi__V1__VolumeCapability *csi_capability_of(struct arena *a, const struct csi_conn *c,
                                             const struct volume_spec *s, bool is_block, int64_t fs_group,
                                             const char *context);

/* The NodeStageVolume request without its path (device.c); everything that can fail does so before anything
 * is created. Without the capability only the attachment is checked. */
int csi_stage_message(struct arena *a, const struct csi_conn *c, const struct volume_spec *s,
                      const struct csi_request *q, bool is_block, Csi__V1__NodeStageVolumeRequest *m,
                      struct error *err);

/* The parameters of a publish (csi_mount.c). */
struct csi_publish {
    const struct volume_spec *spec;
    const struct pod *pod;
    const struct csi_request *csi;
    bool is_block;
    int64_t fs_group; /* -1 for none */
    const char *handle;
    const char *target;
    const char *stage_path; /* NULL: not sent to the driver */
    struct arena arena;     /* for the message */
};
/* The NodePublishVolume request. Raw block volumes get no tokens. */
int csi_publish_message(struct csi_publish *publish, const struct csi_conn *c,
                        Csi__V1__NodePublishVolumeRequest *m, struct error *err);

/* --- Data files (volume_data.c) --- */

struct csi_data {
    const char *spec_name;
    const char *handle;
    const char *driver;
    const char *node_name;
    const char *mode; /* "Persistent", "Ephemeral" */
    const char *attachment;
    const char *mount_context; /* "" for none */
};

#define CSI_MODE_PERSISTENT "Persistent"
#define CSI_MODE_EPHEMERAL "Ephemeral"

/* Writes DIR/vol_data.json. With a node name it is the file of a pod's volume, else of a staged device, which
 * has fewer members. */
int csi_data_write(const char *dir, const struct csi_data *d, struct error *err);
/* For the volume of a pod (csi_mount.c). */
int csi_pod_data_write(const struct volume_env *env, const struct volume_spec *s, const char *handle,
                       const char *mount_context, const char *dir, struct error *err);
/* End what a data file describes; unstaging does nothing for a driver that cannot stage. */
int csi_unstage(const struct volume_plugin *self, const struct volume_env *env, const struct csi_data *d,
                const char *path, struct error *err);
int csi_unpublish(const struct volume_plugin *self, const struct volume_env *env, const struct csi_data *d,
                  const char *target, struct error *err);
/* ERR_NOT_FOUND. Texts in a. */
int csi_data_read(const char *dir, struct arena *a, struct csi_data *ret, struct error *err);

/* Removes DIR/NAME, on which nothing is mounted, the data file and DIR: only empty directories. A missing
 * file is not an error. If something is mounted, nothing is removed. */
int csi_dir_remove(const char *dir, const char *name, struct error *err);
/* The same after a failed call; returns r and err of the call. ERR_INCOMPLETE: everything still exists and
 * must be removed later. */
int csi_dir_undo(const char *dir, const char *name, int r, struct error *err);

/* --- Paths --- */

/* The volume handle; for an inline volume it is derived from the pod and the volume name. */
int csi_handle(const struct volume_spec *s, const char *pod_uid, char *ret, size_t size, struct error *err);
#define CSI_HANDLE_BYTES 4096

int csi_stage_path(const char *root, const char *driver, const char *handle, char ret[PATH_MAX],
                   struct error *err);
/* The path without its last component. */
void csi_parent(const char *path, char ret[PATH_MAX]);

/* --- Tables of the plugin --- */

extern const struct device_table csi_device_table;
extern const struct pod_table csi_pod_table;
extern const struct block_table csi_block_table;

int csi_expand_on_node(const struct volume_plugin *self, const struct volume_env *env,
                       const struct expand_request *q, bool *ret_done, struct error *err);
int csi_usage(const struct volume_plugin *self, const struct volume_env *env, const char *path,
              struct host_usage *ret, struct error *err);
int csi_block_data_dir(const char *root, const char *name, char ret[PATH_MAX], struct error *err);
/* Volumes found without a pod: by staging path, and a raw device by its name. */
int csi_reconstruct_staged(const struct volume_plugin *self, const struct volume_env *env,
                           const char *mount_path, struct object **ret, struct error *err);
int csi_reconstruct_block(const struct volume_plugin *self, const struct volume_env *env, const char *name,
                          struct object **ret, struct error *err);

#endif

/* What the files of the plugin share: calls, messages, data files. */
#ifndef BERTH_PLUGINS_CSI_CSI_INT_H
#define BERTH_PLUGINS_CSI_CSI_INT_H

#include <rpc/proto/csi.pb-c.h>
#include <rpc/proto/registration.pb-c.h>

#include "plugins/csi/plugin.h"
#include "rpc/message.h"

#define CSI_DIR_MODE 0750
#define CSI_MEMORY_BYTES_MAX ((size_t)4 << 20) /* of one request's texts */

/* --- Calls (call.c) --- */

enum csi_method {
    CSI_NODE_STAGE,
    CSI_NODE_UNSTAGE,
    CSI_NODE_PUBLISH,
    CSI_NODE_UNPUBLISH,
    CSI_NODE_STATS,
    CSI_NODE_EXPAND,
    CSI_NODE_CAPABILITIES,
    CSI_NODE_INFO,
    CSI_REGISTRATION_INFO,
    CSI_REGISTRATION_NOTIFY,
    CSI_METHOD_COUNT,
};

struct csi_conn {
    struct csi_endpoint endpoint;
    struct rpc_client *rpc;
    uint64_t limit_ns;
    const host_stop *stop;
    enum rpc_code code; /* of the last call */
};

/* Finds the driver; connects nowhere yet. ERR_UNAVAILABLE: not registered. */
int csi_conn_of(const struct volume_plugin *self, const struct volume_env *env, const char *driver,
                struct csi_conn *ret, struct error *err);

/* On a worker. *ret: the answer, of the method's type, for rpc_message_free(); ret NULL: of no interest. A
 * call that may have taken effect, or may yet, is ERR_UNCERTAIN (rpc/rpc.h), as is an answer that cannot be
 * read. */
int csi_call(struct csi_conn *c, enum csi_method m, const ProtobufCMessage *request, ProtobufCMessage **ret,
             struct error *err);
/* On the loop: begins it; the answer is for csi_answer_read(). */
int csi_call_start(struct rpc_client *rpc, enum csi_method m, const char *socket, uint64_t limit_ns,
                   const ProtobufCMessage *request, struct rpc_call *c, struct error *err);
/* What a driver sent, as a message. Pure. */
int csi_answer_read(enum csi_method m, struct str text, ProtobufCMessage **ret, struct error *err);

/* Bits 1 << CSI__V1__NODE_SERVICE_CAPABILITY__RPC__TYPE__*. A failure is ERR_UNAVAILABLE: nothing has begun.
 */
int csi_capabilities(struct csi_conn *c, unsigned *ret, struct error *err);
static inline bool csi_can(unsigned capabilities, Csi__V1__NodeServiceCapability__RPC__Type type)
{
    return capabilities >> type & 1;
}

/* It never began: says so, and nothing else. */
int csi_transient(struct error *err);
/* --- Messages (messages.c): in the arena, whose failure is looked at before the call --- */

struct csi_pairs {
    Csi__V1__Pair **items;
    size_t count;
    size_t room;
};

/* All of base, and room for `more`. */
struct csi_pairs csi_pairs_of(struct arena *a, struct kvs base, size_t more);
/* In place of one with that key. */
void csi_pairs_set(struct arena *a, struct csi_pairs *p, const char *key, const char *value);

struct csi_secrets {
    Csi__V1__Secret **items;
    size_t count;
};

/* ERR_INVALID: a value is no text. what: how the reference is called, `NodeStageSecretRef`; a secret that
 * could not be had is `fetching WHAT NS/NAME failed: …`, ERR_UNAVAILABLE. more: room for as many besides. */
int csi_secrets_of(struct arena *a, const struct csi_request *q, const struct volume_spec *s,
                   enum csi_secret which, const char *what, size_t more, struct csi_secrets *ret,
                   struct error *err);

/* What the attachment says for the driver. ERR_UNAVAILABLE. */
int csi_publish_context(const struct csi_request *q, const struct volume_spec *s, struct kvs *ret,
                        struct error *err);

/* What the volume is to be used as. fs_group: -1 for none. */
Csi__V1__VolumeCapability *csi_capability_of(struct arena *a, const struct volume_spec *s, bool is_block,
                                             unsigned capabilities, int64_t fs_group, const char *context);

/* Of a stage, but for the path (device.c): what is missing is found out before anything is made. Without the
 * capability no more than the attachment is looked at. */
int csi_stage_message(struct arena *a, const struct volume_spec *s, const struct csi_request *q,
                      bool is_block, unsigned capabilities, Csi__V1__NodeStageVolumeRequest *m,
                      struct error *err);
int csi_unstage(struct csi_conn *c, const char *handle, const char *path, struct error *err);
int csi_unpublish(struct csi_conn *c, const char *handle, const char *target, struct error *err);

/* Who the pod is: CSI_POD_KEYS more (mount.c). */
#define CSI_POD_KEYS 5
void csi_add_pod_info(struct arena *a, const struct pod *pod, bool is_ephemeral, struct csi_pairs *context);

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

/* DIR/vol_data.json. With a node name it is a pod's, else a device's, which has less to say. */
int csi_data_write(const char *dir, const struct csi_data *d, struct error *err);
/* ERR_NOT_FOUND. Texts in a. */
int csi_data_read(const char *dir, struct arena *a, struct csi_data *ret, struct error *err);

/* Removes DIR/NAME, which nothing is mounted on, the data file, and DIR: empty directories alone. What is not
 * there is done. When something is mounted nothing happens. */
int csi_dir_remove(const char *dir, const char *name, struct error *err);

/* --- Paths --- */

/* The driver's name for the volume: of a pod's own one, made from the pod and the volume's name. */
int csi_handle(const struct volume_spec *s, const char *pod_uid, char *ret, size_t size, struct error *err);
#define CSI_HANDLE_BYTES 4096

int csi_stage_path(const char *root, const char *driver, const char *handle, char ret[PATH_MAX],
                   struct error *err);
/* Without the last component. */
void csi_parent(const char *path, char ret[PATH_MAX]);

/* --- The plugin's tables --- */

extern const struct device_table csi_device_table;
extern const struct pod_table csi_pod_table;
extern const struct block_table csi_block_table;

int csi_expand_on_node(const struct volume_plugin *self, const struct volume_env *env,
                       const struct expand_request *q, bool *ret_done, struct error *err);
int csi_usage(const struct volume_plugin *self, const struct volume_env *env, const char *path,
              struct host_usage *ret, struct error *err);
int csi_block_data_dir(const char *root, const char *name, char ret[PATH_MAX], struct error *err);
/* What was found without a pod: by its staging path, and a raw device by its name. */
int csi_reconstruct_staged(const struct volume_plugin *self, const struct volume_env *env,
                           const char *mount_path, struct object **ret, struct error *err);
int csi_reconstruct_block(const struct volume_plugin *self, const struct volume_env *env, const char *name,
                          struct object **ret, struct error *err);

#endif

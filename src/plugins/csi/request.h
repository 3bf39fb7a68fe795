/* Data that a CSI call needs besides the volume, and which API objects must be fetched for it. Pure.
 *
 * Slots run on worker threads and only see their arguments. So the node calls csi_needs(), fetches the
 * objects, and passes them in a csi_request. A failed fetch is passed as an error: whether it matters depends
 * on the capabilities of the driver, which the slot queries. */
#ifndef BERTH_PLUGINS_CSI_REQUEST_H
#define BERTH_PLUGINS_CSI_REQUEST_H

#include "api/csi.h"
#include "plugins/plugin.h"

#define CSI_PLUGIN "kubernetes.io/csi"
#define CSI_NAME_BYTES 72 /* "csi-" and 64 digits */

enum csi_step { CSI_STAGE, CSI_PUBLISH, CSI_EXPAND, CSI_STEP_COUNT };

enum csi_need_kind { CSI_NEED_SECRET, CSI_NEED_ATTACHMENT, CSI_NEED_TOKEN };

struct csi_need {
    enum csi_need_kind kind;
    const char *ns;             /* "" of an attachment */
    const char *name;           /* of the Secret, the VolumeAttachment, the service account */
    const char *audience;       /* of a token */
    int64_t expiration_seconds; /* of a token; 0: the server's choice */
    uint32_t index;             /* of a token: its index in csi_request.tokens */
};

/* A Secret or a VolumeAttachment at the start of the call. */
struct csi_fetched {
    const struct object *object; /* NULL: not needed, or not fetched */
    int r;                       /* 0, or why it was not fetched */
    struct error err;            /* with its text */
};

struct csi_token {
    const char *audience;
    struct str token;
    const char *expires; /* as the server returned it */
};

struct csi_request {
    const struct csi_driver *driver; /* NULL: there is no such object */
    struct csi_fetched secret;       /* for this step */
    struct csi_fetched attachment;   /* read from the server, not from a cache */
    const struct csi_token *tokens;  /* for the driver's tokenRequests, in their order */
    uint32_t tokens_count;
    struct csi_fetched token;  /* why there are none; its object is not set */
    int64_t fs_group;          /* -1 for none; the same as in a set_up_request */
    const char *mount_context; /* SELinux label for the mount; "" for none */
    bool is_reconstructed;     /* the pod's mount was found on disk and may exist */
};

/* Nothing fetched, no group, no label. */
#define CSI_REQUEST_INIT ((struct csi_request){ .fs_group = -1, .mount_context = "" })

/* Calls fn for each object that the step needs, in order. A nonzero result of fn ends the walk and is
 * returned; negative if a name cannot be built. driver: as in csi_request. is_block: raw block volumes get no
 * tokens. */
int csi_needs(enum csi_step step, const struct volume_spec *s, const struct pod *pod, const char *node_name,
              const struct csi_driver *driver, bool is_block, int (*fn)(void *ctx, const struct csi_need *n),
              void *ctx, struct error *err);

/* The name of the VolumeAttachment of a volume on a node. */
int csi_attachment_name(const char *driver, const char *handle, const char *node_name,
                        char ret[CSI_NAME_BYTES], struct error *err);

/* True if the volume is set up again at every sync of the pod. driver: NULL for none. */
bool csi_requires_remount(const struct csi_driver *driver);

#endif

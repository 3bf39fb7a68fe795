/* The resizer of a driver: expansions (csi_resizer.c) and changes of the VolumeAttributesClass
 * (csi_modifier.c), which are two queues of claims. */
#ifndef BERTH_CONTROLLERS_CSI_CSI_RESIZER_INT_H
#define BERTH_CONTROLLERS_CSI_CSI_RESIZER_INT_H

#include "api/config.h"
#include "api/volume.h"
#include "base/map.h"
#include "controllers/csi/csi_function.h"
#include "plugins/csi/csi_int.h"

#define CSI_RESIZER_MANAGER "external-resizer"
#define CSI_RESIZE_TIMEOUT_NS (10 * NS_PER_S)
#define CSI_SLOW_RETRY_NS (300 * NS_PER_S)

struct csi_modifier;

/* What was learnt of a claim's calls and is in no object. */
struct csi_resize_memory {
    bool was_final;                         /* the last failure of an expansion */
    bool was_in_use;                        /* the driver expands only volumes that are not in use */
    uint64_t infeasible_until_ns;           /* loop time: the same size is not tried before; 0: at any time */
    char message[ERROR_MSG_BYTES_MAX + 64]; /* of the last failure */
    char uid[];
};

struct csi_resizer {
    struct csi_function_options o;
    struct informer *claims, *volumes, *pods, *attributes_classes;
    struct informer_handler claims_handler, volumes_handler;
    struct controller *controller;
    struct recorder *recorder;
    char component[320];
    char queue_names[2][CSI_QUEUE_BYTES]; /* of expansions, and of changes */
    struct api api;
    struct map memory; /* csi_resize_memory by uid; of claims whose expansion has failed */
    TAILQ_HEAD(, csi_resize) resizes;
    struct csi_modifier *modifier; /* NULL: the driver cannot modify */
};

/* The claim's volume, if it is bound to the claim and belongs to the driver; NULL: nothing of ours. */
const struct volume *csi_claimed_volume(const struct csi_resizer *z, const struct claim *c);
uint64_t csi_resize_limit_ns(const struct csi_resizer *z);

/* csi_modifier.c */
int csi_modifier_new(struct csi_resizer *z, struct csi_modifier **ret, struct error *err);
void csi_modifier_start(struct csi_modifier *m);
const char *csi_modifier_check(const struct csi_modifier *m);
/* When a claim is tried next, loop time; 0: it does not wait. */
uint64_t csi_modifier_next_ns(const struct csi_modifier *m, struct str key);
struct csi_modifier *csi_modifier_free(struct csi_modifier *m);
/* The claim may have another class to apply. */
void csi_modifier_add(struct csi_modifier *m, const struct object *claim);

#endif

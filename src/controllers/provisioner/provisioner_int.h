/* What the files of a provisioner share. */
#ifndef BERTH_CONTROLLERS_PROVISIONER_PROVISIONER_INT_H
#define BERTH_CONTROLLERS_PROVISIONER_PROVISIONER_INT_H

#include <sys/queue.h>

#include "base/vec.h"
#include "controllers/provisioner/provisioner.h"
#include "io/job.h"
#include "machinery/api_write.h"

#define PROVISIONER_FIELD_MANAGER "berth-provisioner"
#define PROVISIONER_BODY_BYTES_MAX ((size_t)1 << 20)
#define PROVISIONER_KEY_BYTES_MAX 1024
#define PROVISIONER_FAILURES_MAX 15
#define PROVISIONER_SLOW_NS (1000 * NS_PER_S)

/* One claim or one volume under way. */
struct provisioner_op {
    LIST_ENTRY(provisioner_op) link;
    struct provisioner *provisioner;
    struct controller *queue;
    char *key;            /* in the queue */
    struct object *about; /* the claim or the volume that it began with */
    struct object *class; /* NULL for none */
    struct object *node;
    struct object *fresh; /* the volume to be deleted, as the server has it */
    struct api_write write;
    struct job *job;
    struct timer timer;
    struct buf body;          /* of the volume to be made */
    char name[320];           /* of the volume */
    char identity[UID_BYTES]; /* of the storage that was made; "" for none */
    unsigned tries;
    struct error failure; /* of the last try */
};

/* A claim whose provision may be going on, whatever became of the claim. */
struct in_progress {
    LIST_ENTRY(in_progress) link;
    struct object *claim;
};

/* The identity for one job, with references to the volumes. */
struct identity_check {
    struct storage_identity identity;
    VEC(struct object *) volumes;
};

struct provisioner {
    struct provisioner_options o;
    char identity[UID_BYTES]; /* of the storage, as found last; "": not yet */
    struct informer *claims_cache, *volumes_cache, *classes, *nodes;
    struct informer_handler claims_handler, volumes_handler;
    struct controller *claims, *volumes;
    struct recorder *recorder;
    struct api api;
    LIST_HEAD(, provisioner_op) ops;
    LIST_HEAD(, in_progress) in_progress; /* few */
};

/* The op is its own from here on; its end is op_end(), op_fail() or op_end_slowly(). */
struct provisioner_op *provisioner_op_new(struct provisioner *p, struct controller *queue, struct str key,
                                          const struct object *about);
void provisioner_op_end(struct provisioner_op *x);
/* Again after the key's delay; after too many failures at the next resync, unless it must go on. */
void provisioner_op_fail(struct provisioner_op *x, bool must_go_on);
void provisioner_op_end_slowly(struct provisioner_op *x);

/* On the loop, before and after a job. needs_volumes: of the job before, which failed for that. */
void identity_check_init(struct identity_check *c, const struct provisioner *p, bool needs_volumes);
void identity_check_done(struct identity_check *c);
/* The job failed only because it needs to know the volumes: it is to be repeated with them. */
bool identity_check_needs_volumes(const struct identity_check *c, int r);
/* Remembers what a job that succeeded has found. */
void provisioner_keep_identity(struct provisioner *p, const struct identity_check *c);

/* provision.c */
enum sync_result provisioner_sync_claim(void *ctx, struct str key);
struct in_progress *provisioner_in_progress(const struct provisioner *p, struct str key);
/* unprovision.c */
enum sync_result provisioner_sync_volume(void *ctx, struct str key);
bool provisioner_may_delete(const struct provisioner *p, const struct volume *v);
/* Storage of a volume that could not be saved: a job for the op; done as for any. */
void provisioner_begin_removal(struct provisioner_op *x, const struct object *volume, job_done_fn *done);
/* For the job's done callback, first of all: true when the removal was begun again and done will be called
 * again. */
bool provisioner_removal_goes_on(struct provisioner_op *op, struct job *j, int r);

#endif

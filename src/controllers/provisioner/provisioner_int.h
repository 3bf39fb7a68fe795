/* Internals of the provisioner framework. */
#ifndef BERTH_CONTROLLERS_PROVISIONER_PROVISIONER_INT_H
#define BERTH_CONTROLLERS_PROVISIONER_PROVISIONER_INT_H

#include <sys/queue.h>

#include "controllers/call_record.h"
#include "controllers/provisioner/provisioner.h"
#include "controllers/provisioner/slow_set.h"
#include "machinery/api_write.h"

#define PROVISIONER_FIELD_MANAGER "berth-provisioner"
#define PROVISIONER_BODY_BYTES_MAX ((size_t)1 << 20)
#define PROVISIONER_KEY_BYTES_MAX 1024
#define PROVISIONER_FAILURES_MAX 15

/* An operation for one claim or volume. */
struct provisioner_op {
    LIST_ENTRY(provisioner_op) link;
    struct provisioner *provisioner;
    struct controller *queue;
    char *key;            /* in the queue */
    struct object *about; /* the claim or volume it was started for */
    struct object *class; /* NULL for none */
    struct object *node;
    struct object *fresh; /* the volume to delete, as read from the server */
    struct api_write write;
    struct provision_call call;
    struct removal_call removal;
    struct call_record_write recorded;
    struct timer timer;
    struct buf body; /* of the volume to create */
    char name[320];  /* of the volume */
    unsigned tries;
    struct error failure; /* of the last try */
};

/* A claim whose storage is being made, or may have been, even if the claim no longer exists. */
struct in_progress {
    LIST_ENTRY(in_progress) link;
    struct object *claim;
    struct object *class;
    struct buf memo;   /* of the type, from the first try */
    bool is_uncertain; /* a try has ended without a known result: repeated until there is one */
};

struct provisioner {
    struct provisioner_options o;
    struct informer *claims_cache, *volumes_cache, *classes, *nodes;
    struct informer_handler claims_handler, volumes_handler, classes_handler;
    struct controller *claims, *volumes;
    struct recorder *recorder;
    struct api api;
    LIST_HEAD(, provisioner_op) ops;
    LIST_HEAD(, in_progress) in_progress; /* no more than operations and calls without a result */
    struct slow_set slow;                 /* claims that failed for good */
    struct call_record *record;           /* NULL: none */
    bool is_loaded;                       /* the record was read, or there is none */
    char queue_names[2][320];             /* of claims, and of volumes */
};

/* The operation owns its key; it ends with one of the following functions. */
struct provisioner_op *provisioner_op_new(struct provisioner *p, struct controller *queue, struct str key,
                                          const struct object *about);
void provisioner_op_end(struct provisioner_op *op);
/* Retries after the key's delay; after too many failures at the next resync, unless must_go_on. */
void provisioner_op_fail(struct provisioner_op *op, bool must_go_on);
/* Tries again at this loop time. */
void provisioner_op_end_until(struct provisioner_op *op, uint64_t until_ns);

/* provision.c */
enum sync_result provisioner_sync_claim(void *ctx, struct str key);
struct in_progress *provisioner_in_progress(const struct provisioner *p, struct str key);
/* An entry of the record: the claim is synced whether it exists or not. */
void provisioner_restore(struct provisioner *p, const char *uid, struct str value);
void in_progress_free(struct in_progress *i);
/* unprovision.c */
enum sync_result provisioner_sync_volume(void *ctx, struct str key);
bool provisioner_may_delete(const struct provisioner *p, const struct volume *v);
/* There is something to do: its storage, or its finalizer. */
bool provisioner_concerns(const struct provisioner *p, const struct volume *v);
/* Removes the storage of the volume, which may not have been saved. */
void provisioner_begin_removal(struct provisioner_op *op, const struct object *volume,
                               void (*done)(struct removal_call *c, int r, const struct error *err));

#endif

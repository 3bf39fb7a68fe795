/* Internals of the snapshot controller. */
#ifndef BERTH_CONTROLLERS_SNAPSHOT_SNAPSHOT_INT_H
#define BERTH_CONTROLLERS_SNAPSHOT_SNAPSHOT_INT_H

#include "controllers/snapshot/snapshot_controller.h"

struct snapshot_controller {
    const struct clock *clock;
    struct snapshot_caches caches;
    struct recorder *recorder;
    struct controller *snapshots;
    struct controller *contents;
    struct controller *claims;
    struct controller *groups;
    struct controller *group_contents;
    struct informer_handler snapshots_handler;
    struct informer_handler contents_handler;
    struct informer_handler classes_handler;
    struct informer_handler claims_handler;
    struct informer_handler volumes_handler;
    struct informer_handler groups_handler;
    struct informer_handler group_contents_handler;
    struct informer_handler group_classes_handler;
};

/* The next step of a snapshot. */
enum sync_result snapshot_sync(void *ctx, struct str key);
/* The finalizer of a bound content. */
enum sync_result snapshot_sync_content(void *ctx, struct str key);
bool snapshot_content_needs_guard(const struct snapshot_content *c);
/* The next step of a group snapshot. */
enum sync_result snapshot_sync_group(void *ctx, struct str key);
/* The finalizer of the content of a group snapshot. */
enum sync_result snapshot_sync_group_content(void *ctx, struct str key);
/* The finalizer of a claim: removed when no snapshot is being created from it. */
enum sync_result snapshot_sync_claim(void *ctx, struct str key);

#endif

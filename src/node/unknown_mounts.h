/* Mounts in volumes' places that belong to no volume this agent knows: left by an agent before it, whose
 * volume cannot be reconstructed (a damaged data file, a plugin that is gone, a directory that cannot be
 * read).
 *
 * Which volume it is, is not known; its plugin mostly is. So as long as such a mount is there, the volumes of
 * that plugin that the Node's status named as in use at the start stay in volumesInUse: none is detached
 * while it may be mounted. Nobody but the machine's administrator can take such a mount away; an event on
 * the Node and a condition of it say what and where. For the files of node/ alone. */
#ifndef BERTH_NODE_UNKNOWN_MOUNTS_H
#define BERTH_NODE_UNKNOWN_MOUNTS_H

#include <stdbool.h>

#include "api/node.h"
#include "base/vec.h"
#include "node/mount_look.h"

struct agent;

struct unknown_mount {
    char *path;
    char *plugin;  /* "": not known, it may be any */
    bool is_known; /* a record has it by now */
};

struct unknown_mounts {
    VEC(struct unknown_mount) all; /* by path */
    VEC(const char *) plugins;     /* of all of them, each once; texts of `all` */
    bool has_any_plugin;           /* of one the plugin is not known */
    VEC(char *) in_use; /* what the Node's status named at the start, sorted; none without unknown mounts */
    char *words;        /* for people; NULL: there are none */
};

void unknown_mounts_done(struct unknown_mounts *u);

/* Once, after what is on disk was taken into the records and before anything is done to it. False without
 * memory: nothing is known then. */
bool unknown_mounts_find(struct agent *a, const struct mount_look *k);
/* A record says that it has mounted something there. */
void unknown_mounts_claim(struct agent *a, const char *path);
/* Forgets those that are not mounted any more, or are a record's by now. */
void unknown_mounts_check(struct agent *a, const struct mount_look *k);
/* The Node as the agent before left it. False without memory. */
bool unknown_mounts_take_in_use(struct agent *a, const struct node *n);

/* The volume was in use at the start, and one of the mounts may be its. */
bool unknown_mounts_keep(const struct agent *a, const char *unique_name);
/* An event on the Node and a line in the log, if there are any. */
void unknown_mounts_report(struct agent *a, const struct object *node);

#endif

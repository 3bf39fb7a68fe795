/* The life of a pod on this node, as far as its volumes are concerned: from the moment its volumes are
 * wanted to the one where nothing of it is left.
 *
 *   volumes   they are brought; what keeps them is told in an event when it takes too long
 *   prepare   parts of volumes (subPath) are bound, and the state file is written: pods/UID/berth.json
 *   setup     the hook starts what runs in it; without a hook nothing to do
 *   ready     the condition volumes.berth.io/ready is True
 *   teardown  the pod is being deleted, has ended or is gone: the hook ends what runs; then, and once no
 *             container is reported to run, is_over is set: the volumes may go
 *   cleanup   the volumes are gone: the directory is removed, and the pod, if it is being deleted, too
 *
 * All of it can begin anew after a crash: the state file says whether the hook was called. */
#ifndef BERTH_NODE_POD_LIFE_H
#define BERTH_NODE_POD_LIFE_H

#include "base/error.h"
#include "base/str.h"
#include "client/client.h"
#include "io/loop.h"

struct node_pod;
struct job;
struct process;

enum pod_stage {
    POD_STAGE_VOLUMES,
    POD_STAGE_PREPARE,
    POD_STAGE_SETUP,
    POD_STAGE_READY,
    POD_STAGE_TEARDOWN,
    POD_STAGE_CLEANUP,
    POD_STAGE_COUNT,
};

struct pod_life {
    enum pod_stage stage;
    bool is_over;    /* nothing runs any more: its volumes may be taken away */
    bool is_set_up;  /* the hook's setup was begun, now or before a restart: its teardown is owed */
    bool is_told;    /* the condition on the server says what it should */
    struct job *job; /* prepares, or cleans up; NULL */
    struct process *hook;
    struct client_call call;
    struct timer timer; /* of the wait for volumes, and of tries after failures */
    struct deferred look;
    unsigned failures;
    uint64_t waiting_ns;  /* since when the volumes are waited for */
    struct error trouble; /* what the last try ended with */
};

void pod_life_init(struct node_pod *p);
/* Ends what it has under way and tells nobody. */
void pod_life_done(struct node_pod *p);
/* Something of the pod or its volumes changed: looked at once this turn is over. */
void pod_life_look(struct node_pod *p);
/* What its state file said before a restart; "" for none. */
void pod_life_restore(struct node_pod *p, struct str state);

#endif

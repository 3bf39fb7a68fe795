/* The last look at a volume before what it stands for is destroyed: at the server, not at a cache.
 *
 * The volume must still be there, the same by uid, released and to be deleted; and the claim that had it must
 * be gone, or be another by that name. Anything that cannot be learnt counts against it. */
#ifndef BERTH_CONTROLLERS_LAST_LOOK_H
#define BERTH_CONTROLLERS_LAST_LOOK_H

#include "api/volume.h"
#include "client/client.h"

struct last_look {
    /* v: the volume as the server has it, borrowed; NULL when it must be left alone, and err says why. Once,
     * on the loop; may free the look. */
    void (*done)(void *ctx, const struct volume *v, const struct error *err);
    void *ctx;

    /* The look's own. */
    struct client *client;
    struct client_call call;
    struct object *seen;  /* what was known of it at the beginning */
    struct object *fresh; /* what the server says */
};

/* The look is zeroed but for done and ctx, or has ended. */
void last_look_begin(struct last_look *l, struct client *c, const struct volume *v);
/* Not heard of again. Takes one that was never begun. */
void last_look_cancel(struct last_look *l);

/* What the look asks for: released, and to be deleted. */
bool volume_is_to_go(const struct volume *v);

#endif

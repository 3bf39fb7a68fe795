/* Who has a claim or a volume, from where it can be had, and what was last complained of, in words.
 *
 * Lists name a few and count the rest: "web-0 on n1, web-1, … (12)". Each returns how many there are. */
#ifndef BERTH_WHY_USERS_H
#define BERTH_WHY_USERS_H

#include "api/attachment.h"
#include "api/claim.h"
#include "api/pod.h"
#include "api/volume.h"
#include "why/report.h"
#include "why/world.h"

/* Pods that use the claim and have not ended, but for the one of that uid; NULL: all of them. */
size_t why_users(const struct why_world *w, const char *ns, const char *claim, const char *except_uid,
                 struct buf *out);
/* The same, of those that have a node. */
size_t why_users_placed(const struct why_world *w, const char *ns, const char *claim, const char *except_uid,
                        struct buf *out);
/* Nodes that the volume's node affinity allows. */
size_t why_reach(const struct why_world *w, const struct volume *v, struct buf *out);
/* What a volume that no node reaches needs: "a node labelled kubernetes.io/hostname=n9; the only node here is
 * n1". The volume has a node affinity, and nodes are known. */
void why_write_need(const struct why_world *w, const struct volume *v, struct buf *out);
/* What to do about that. */
void why_advise_need(struct report *r, const struct volume *v);
/* Nodes that a VolumeAttachment ties the volume to, but for that one; NULL: all of them. */
enum why_attachments { WHY_ANY, WHY_ATTACHED, WHY_TO_BE_ATTACHED };
size_t why_attached(const struct why_world *w, const struct volume *v, const char *except_node,
                    enum why_attachments which, struct buf *out);
/* The attachment of the volume to the node; NULL for none. */
const struct attachment *why_attachment(const struct why_world *w, const struct volume *v, const char *node);

/* The claim that the volume names, whatever its uid; NULL when it is not there. */
const struct claim *why_claim_of(const struct why_world *w, const struct volume *v);

/* The newest event about an object that has one of these reasons, which end with NULL. */
struct why_warning {
    struct timestamp at;
    char reason[64];
    char message[WHY_LINE_BYTES_MAX];
};
bool why_last_event(const struct why_world *w, const struct object *about, const char *const *reasons,
                    struct why_warning *ret);

/* Advises to install on that machine what a failed mount misses; false when it misses nothing. */
bool why_advise_install(struct report *r, const char *message, const char *machine);

#endif

/* Which pods use a claim, which nodes reach a volume or have it attached, and the last event about an object.
 *
 * Lists name a few and count the rest: "web-0 on n1, web-1, … (12)". Each function returns the total. */
#ifndef BERTH_WHY_USERS_H
#define BERTH_WHY_USERS_H

#include "api/attachment.h"
#include "api/claim.h"
#include "api/pod.h"
#include "api/volume.h"
#include "why/report.h"
#include "why/why_world.h"

/* Running pods that use the claim, except the one with that uid; NULL: all. is_placed: only pods with a node.
 */
size_t why_users(const struct why_world *w, const char *ns, const char *claim, const char *except_uid,
                 bool is_placed, struct buf *out);
/* Nodes that match the volume's node affinity. */
size_t why_reach(const struct why_world *w, const struct volume *v, struct buf *out);
/* What a volume needs that no node reaches: "a node labelled kubernetes.io/hostname=n9; the only node is n1".
 * The volume must have a node affinity, and nodes must be cached. */
void why_write_need(const struct why_world *w, const struct volume *v, struct buf *out);
/* Advises how to provide it. */
void why_advise_need(struct why_report *r, const struct volume *v);
/* Nodes with a VolumeAttachment for the volume, except that one; NULL: all. */
enum why_attachments { WHY_ANY, WHY_ATTACHED, WHY_TO_BE_ATTACHED };
size_t why_attached(const struct why_world *w, const struct volume *v, const char *except_node,
                    enum why_attachments which, struct buf *out);
/* The attachment of the volume to the node; NULL for none. */
const struct attachment *why_find_attachment(const struct why_world *w, const struct volume *v,
                                             const char *node);

/* The claim that the volume names, with any uid; NULL when it does not exist. */
const struct claim *why_claim_of(const struct why_world *w, const struct volume *v);

/* The newest event about an object with one of these reasons (NULL-terminated). */
struct why_warning {
    struct timestamp at;
    char reason[64];
    char message[WHY_LINE_BYTES_MAX];
};
bool why_last_event(const struct why_world *w, const struct object *about, const char *const *reasons,
                    struct why_warning *ret);

/* Advises to install what a failed mount lacks on that machine; false when it lacks nothing. */
bool why_advise_install(struct why_report *r, const char *message, const char *machine);

#endif

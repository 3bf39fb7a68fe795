/* Volumes that a node cannot mount for want of a plugin, in words: kinds that Berth has none for, FlexVolume
 * drivers that are not there. */
#ifndef BERTH_WHY_UNMOUNTABLE_H
#define BERTH_WHY_UNMOUNTABLE_H

#include "api/pod.h"
#include "api/volume.h"
#include "why/world.h"

/* Of a volume wherever it may go: the verdict where Berth's agent runs every node, a fact where it runs some.
 */
void why_unmountable_kind(const struct why_world *w, struct report *r, const struct volume *v);
/* Of a volume on that node, where it is of such a kind and Berth's agent runs the node: the cause. */
void why_unmountable_volume(const struct why_world *w, struct report *r, const struct volume *v,
                            const char *node);
/* Of the pod's own volumes on its node, the same. */
void why_unmountable_in_pod(const struct why_world *w, struct report *r, const struct pod *p);

/* The node complains that no plugin matches a volume: true when it is one of a FlexVolume driver, and told.
 * dir: where the node looks for drivers; NULL: nobody here knows. */
bool why_no_flex_driver(const struct why_world *w, struct report *r, const struct pod *p,
                        const char *complaint, const char *dir);

#endif

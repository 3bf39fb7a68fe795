/* Explains volumes that a node cannot mount because it has no plugin for them: volume types that Berth does
 * not support, and missing FlexVolume drivers. */
#ifndef BERTH_WHY_UNMOUNTABLE_H
#define BERTH_WHY_UNMOUNTABLE_H

#include "api/pod.h"
#include "api/volume.h"
#include "why/why_world.h"

/* For a volume independent of a node: the cause if Berth's agent runs every node, a fact if it runs some. */
void why_unmountable_kind(const struct why_world *w, struct why_report *r, const struct volume *v);
/* For a volume on that node: the cause if its type is not supported and Berth's agent runs the node. */
void why_unmountable_volume(const struct why_world *w, struct why_report *r, const struct volume *v,
                            const char *node);
/* The same for the pod's own volumes on its node. */
void why_unmountable_in_pod(const struct why_world *w, struct why_report *r, const struct pod *p);

/* message: the node's "no volume plugin matched" error. True when the volume uses a FlexVolume driver; the
 * cause is then in the report. dir: where the node looks for drivers; NULL: not known. */
bool why_no_flex_driver(const struct why_world *w, struct why_report *r, const struct pod *p,
                        const char *complaint, const char *dir);

#endif

/* Writers of the discovery documents, each complete and compact, without a newline. */
#ifndef BERTH_APISERVER_DISCOVERY_INT_H
#define BERTH_APISERVER_DISCOVERY_INT_H

#include "apiserver/resource.h"
#include "base/buf.h"

/* Resources of one group, or of one version of it. They are adjacent in the table. */
struct resource_span {
    const struct resource *items; /* never empty */
    size_t count;
};

/* The first group of a span of groups, or the first version of a group; the rest stays in *s. False when s is
 * empty. */
bool span_next_group(struct resource_span *s, struct resource_span *ret);
bool span_next_version(struct resource_span *s, struct resource_span *ret);

/* Legacy form. */
void discovery_write_versions(const char *address, struct buf *out);                 /* APIVersions */
void discovery_write_groups(struct resource_span groups, struct buf *out);           /* APIGroupList */
void discovery_write_group(struct resource_span group, struct buf *out);             /* APIGroup */
void discovery_write_resources(struct resource_span group_version, struct buf *out); /* APIResourceList */

/* An APIGroupDiscoveryList; `version` is "v2" or "v2beta1". */
void discovery_write_aggregated(struct resource_span groups, const char *version, struct buf *out);

#endif

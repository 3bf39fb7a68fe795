/* PartialObjectMetadata: an object's metadata and nothing else.
 *
 * Cut out of the object's text: one walk over what stands in front of metadata's end, no parsing. */
#ifndef BERTH_APISERVER_PARTIAL_H
#define BERTH_APISERVER_PARTIAL_H

#include "api/list.h"
#include "api/object.h"
#include "base/buf.h"

/* `version` is "v1" or "v1beta1", of meta.k8s.io. Compact, without a newline at the end; failures stick in
 * the buffer. */
void partial_write(const struct object *o, const char *version, struct buf *out);
/* A PartialObjectMetadataList up to its first item; LIST_WRITE_END ends it. */
void partial_write_list_begin(const struct list_meta *meta, const char *version, struct buf *out);

#endif

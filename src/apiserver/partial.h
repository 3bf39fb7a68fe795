/* PartialObjectMetadata: only the metadata of an object.
 *
 * Cut out of the object's text: one scan up to the end of metadata, no parsing. */
#ifndef BERTH_APISERVER_PARTIAL_H
#define BERTH_APISERVER_PARTIAL_H

#include "api/list.h"
#include "api/object.h"
#include "base/buf.h"

/* `version` is "v1" or "v1beta1", of meta.k8s.io. Compact, without a trailing newline; failures stick in the
 * buffer. */
void partial_write(const struct object *o, const char *version, struct buf *out);
/* A PartialObjectMetadataList up to its first item; followed by LIST_WRITE_END. */
void partial_write_list_begin(const struct list_meta *meta, const char *version, struct buf *out);

#endif

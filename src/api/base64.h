/* Standard base64 with padding, as Kubernetes writes byte fields; and the form without padding that is safe
 * in URLs, as tokens have it. */
#ifndef BERTH_API_BASE64_H
#define BERTH_API_BASE64_H

#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"

/* Appends the bytes; line ends inside the text are passed over, anything else foreign is refused with its
 * offset. */
int base64_decode(struct str text, struct buf *out, struct error *err);
void base64_encode(struct str bytes, struct buf *out);

/* Neither padding nor line ends are let in. */
int base64url_decode(struct str text, struct buf *out, struct error *err);
void base64url_encode(struct str bytes, struct buf *out);

#endif

/* Standard base64 with padding, which Kubernetes uses for byte fields, and the URL-safe form without padding,
 * which tokens use. */
#ifndef BERTH_API_BASE64_H
#define BERTH_API_BASE64_H

#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"

/* Appends the bytes. Line ends are ignored; any other foreign character is an error with its offset. */
int base64_decode(struct str text, struct buf *out, struct error *err);
void base64_encode(struct str bytes, struct buf *out);

/* Neither padding nor line ends are accepted. */
int base64url_decode(struct str text, struct buf *out, struct error *err);
void base64url_encode(struct str bytes, struct buf *out);

#endif

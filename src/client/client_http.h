/* The carrier over the network: libcurl's multi interface, driven by the loop.
 *
 * HTTP/2 where the server offers it, many requests on one connection; otherwise HTTP/1.1 with a pool of
 * connections, and one more per watch. TLS 1.2 at least. Token and certificate files are read again when they
 * may have changed, so a credential that rotates needs no restart. A dead peer is detected within 45 seconds.
 * Credentials are sent only over TLS, and never appear in a log or an error.
 *
 * All input is untrusted: answers, lines of watches and headers are bounded. */
#ifndef BERTH_CLIENT_CLIENT_HTTP_H
#define BERTH_CLIENT_CLIENT_HTTP_H

#include "base/clock.h"
#include "base/error.h"
#include "client/carrier.h"
#include "client/config.h"
#include "io/loop.h"

/* An answer may be a list of all objects; a line of a watch is one object. */
#define HTTP_CLIENT_ANSWER_BYTES_MAX ((size_t)1 << 30)
#define HTTP_CLIENT_LINE_BYTES_MAX ((size_t)8 << 20)

struct http_client_options {
    struct loop *loop;
    const struct clock *clock;
    const struct client_config *config; /* borrowed, must outlive the carrier */
    bool keeps_managed_fields;
    /* 0: the defaults above. */
    size_t answer_bytes_max;
    size_t line_bytes_max;
};

/* Reads the credentials once: a missing file or an invalid certificate is an error here. */
int http_client_new(const struct http_client_options *o, struct client_carrier **ret, struct error *err);

#endif

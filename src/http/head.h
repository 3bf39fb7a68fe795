/* Checks the head of a request byte by byte.
 *
 * libmicrohttpd 0.9.75, the version of Debian 12, accepts a bare LF as a line end, joins folded lines to the
 * name of their header, and ends a value at a NUL; no setting changes that. A proxy that parses the same
 * bytes differently sees other headers or another end of the request (request smuggling). So the head is
 * compared with the library's result: the library splits it in place, with NULs over line ends and colons,
 * and keeps it until the answer. Newer versions have a setting for it and another memory layout: there the
 * library is configured to be strict. */
#ifndef BERTH_HTTP_HEAD_H
#define BERTH_HTTP_HEAD_H

#include <microhttpd.h>
#include <stdbool.h>

/* Whether the library refuses such heads itself, with MHD_OPTION_STRICT_FOR_CLIENT. */
bool http_head_library_is_strict(void);

/* Whether every line of the head ends in CRLF and begins with its own name, and no value contains a control
 * character. method and version are the library's texts. Cost: one pass over the head. */
bool http_head_is_clean(struct MHD_Connection *mhd, const char *method, const char *version);

#endif

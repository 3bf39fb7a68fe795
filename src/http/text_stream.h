/* A complete text as a stream: for answers that are long but produced at once. */
#ifndef BERTH_HTTP_TEXT_STREAM_H
#define BERTH_HTTP_TEXT_STREAM_H

#include <stddef.h>

#include "http/stream.h"

/* Takes ownership of text, which came from malloc, also on failure (NULL: out of memory). */
struct stream *text_stream_new_take(char *text, size_t len);

#endif

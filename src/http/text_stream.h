/* A text that is there already, as a stream: for answers that are long but made at once. */
#ifndef BERTH_HTTP_TEXT_STREAM_H
#define BERTH_HTTP_TEXT_STREAM_H

#include <stddef.h>

#include "http/stream.h"

/* Takes text, which came from malloc, on failure (NULL: no memory) too. */
struct stream *text_stream_new_take(char *text, size_t len);

#endif

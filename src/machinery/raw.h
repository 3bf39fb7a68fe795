/* A member's text, read off an object's canonical text: no blanks between tokens, well-formed, as every
 * object of ours has it. For who wants a few bytes of an object and would parse all of it for them: a walk
 * takes a seventh of that, and nothing is allocated. */
#ifndef BERTH_MACHINERY_RAW_H
#define BERTH_MACHINERY_RAW_H

#include "base/str.h"

/* The value at the end of the path, in its own spelling; empty when there is none.
 *
 *     raw_get(o->text, "spec", "accessModes") */
#define raw_get(object, ...) raw_path((object), (const char *const[]){ __VA_ARGS__, NULL })
struct str raw_path(struct str object, const char *const *keys);

#endif

/* A section of the configuration file being read: values of several types, with errors that name their place.
 *
 * Unknown keys are errors. The first error sticks in the section; later reads return defaults. Texts are kept
 * in the arena. */
#ifndef BERTH_DAEMON_SETTINGS_SECTION_H
#define BERTH_DAEMON_SETTINGS_SECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "api/json.h"
#include "api/kv.h"
#include "api/object.h"
#include "base/arena.h"
#include "base/error.h"

struct section {
    const struct json *d;
    json_ref at;
    struct arena *arena;
    const char *place; /* in the arena */
    struct error *err;
    int r;
};

/* Sets the error `PLACE.KEY: what`, unless there is one. */
void section_fail(struct section *s, const char *key, const char *what);
/* A copy in the arena; "" without memory. */
const char *section_keep(struct section *s, struct str text);
/* The map at `at`, a member of `up`; index: in a list, -1 for none. */
void section_enter(struct section *s, const struct section *up, json_ref at, const char *key, int index);
/* keys: terminated by NULL. Any other key is an error. */
void section_check_keys(struct section *s, const char *const *keys);
const char *section_read_text(struct section *s, const char *key, const char *fallback);
bool section_read_bool(struct section *s, const char *key, bool fallback);
/* 1 to `most`; 0: absent. */
unsigned section_read_number(struct section *s, const char *key, unsigned most);
struct texts section_read_texts(struct section *s, const char *key);
struct kvs section_read_pairs(struct section *s, const char *key);
/* An absolute path, cleaned. */
const char *section_clean_path(struct section *s, const char *key, const char *given);
/* "1h30m", "5m", "90s": at least a second. */
uint64_t section_read_duration(struct section *s, const char *key, uint64_t fallback_ns);

#endif

/* Default values: helpers for set_defaults() of the kinds. Failures are kept in the document. */
#ifndef BERTH_API_DEFAULTS_H
#define BERTH_API_DEFAULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "api/json.h"
#include "api/times.h"

/* Set the member if it is absent. */
void default_text(struct json *d, json_ref object, const char *key, const char *text);
void default_bool(struct json *d, json_ref object, const char *key, bool value);
void default_int(struct json *d, json_ref object, const char *key, int64_t value);

/* Sets the member to a time in whole seconds, replacing an existing value. */
void set_time(struct json *d, json_ref object, const char *key, struct timestamp t);

#endif

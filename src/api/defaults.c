/* Sets members of JSON objects that the client has not set. Each call costs one member lookup. */
#include "api/defaults.h"

void default_text(struct json *d, json_ref object, const char *key, const char *text)
{
    if (!json_get(d, object, key))
        json_set_string(d, object, key, text);
}

void default_bool(struct json *d, json_ref object, const char *key, bool value)
{
    if (!json_get(d, object, key))
        json_set(d, object, key, json_new_bool(d, value));
}

void default_int(struct json *d, json_ref object, const char *key, int64_t value)
{
    if (!json_get(d, object, key))
        json_set(d, object, key, json_new_int(d, value));
}

void set_time(struct json *d, json_ref object, const char *key, struct timestamp t)
{
    struct buf text = BUF_INIT(64);

    timestamp_format(t, &text);
    json_set(d, object, key, json_new_string(d, buf_str(&text)));
    buf_done(&text);
}

#include "machinery/event_body.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/names.h"
#include "api/uid.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

const char *event_namespace(const struct object *about)
{
    return about->ns[0] != '\0' ? about->ns : "default";
}

void event_name(const char *object_name, int64_t unix_ns, struct rng *rng, char ret[EVENT_NAME_BYTES])
{
    uint8_t random[UID_RANDOM_BYTES];
    int len = snprintf(ret, EVENT_NAME_BYTES, "%s.%" PRIx64, object_name, (uint64_t)unix_ns);

    if (len > 0 && len < EVENT_NAME_BYTES && name_is_valid(NAME_DNS_SUBDOMAIN, str_of(ret)))
        return;
    rng_bytes(rng, random, sizeof random);
    uid_make(random, ret);
}

/* Every character that is none becomes U+FFFD. */
static void add_clean(struct str text, struct buf *out)
{
    while (text.len) {
        size_t taken = str_utf8_first(text);
        struct str c = { text.s, taken };

        if (taken == 0 || text.s[0] == '\0') {
            taken = 1;
            c = STR_LIT(REPLACEMENT);
        }
        buf_add_str(out, c);
        text.s += taken;
        text.len -= taken;
    }
}

void event_message(struct str text, size_t bytes_max, struct buf *out)
{
    _cleanup_(buf_done_p) struct buf clean = BUF_INIT(text.len * (sizeof REPLACEMENT - 1));

    add_clean(text, &clean);
    buf_add_ends(out, buf_str(&clean), bytes_max);
}

void event_key_text(struct str text, struct buf *out)
{
    buf_add_str(out, text);
    buf_add_char(out, '\0'); /* which is in none of the texts */
}

/* The kind stands for its apiVersion too: Berth knows one of each. */
void event_key_object(const struct object *o, struct buf *out)
{
    event_key_text(str_of(o->kind->group), out);
    event_key_text(str_of(o->kind->name), out);
    event_key_text(str_of(o->ns), out);
    event_key_text(str_of(o->name), out);
    event_key_text(str_of(o->uid), out);
}

/* --- JSON --- */

static void write_member(const char *key, struct str value, struct buf *out)
{
    buf_addf(out, ",\"%s\":", key);
    json_write_string(out, value);
}

static void write_time(const char *key, int64_t real_ns, struct buf *out)
{
    buf_addf(out, ",\"%s\":\"", key);
    timestamp_format(timestamp_of_ns(real_ns), out);
    buf_add_char(out, '"');
}

static void write_micro_time(const char *key, int64_t real_ns, struct buf *out)
{
    buf_addf(out, ",\"%s\":\"", key);
    timestamp_format_micro(timestamp_of_ns(real_ns), out);
    buf_add_char(out, '"');
}

static void write_reference(const char *key, const struct object *o, struct buf *out)
{
    buf_addf(out, ",\"%s\":{\"kind\":\"%s\"", key, o->kind->name);
    if (o->ns[0] != '\0')
        write_member("namespace", str_of(o->ns), out);
    write_member("name", str_of(o->name), out);
    if (o->uid[0] != '\0')
        write_member("uid", str_of(o->uid), out);
    buf_add_cstr(out, ",\"apiVersion\":\"");
    kind_api_version(o->kind, out);
    buf_add_char(out, '"');
    if (o->revision > 0)
        buf_addf(out, ",\"resourceVersion\":\"%" PRId64 "\"", o->revision);
    buf_add_char(out, '}');
}

static void write_head(const char *api_version, const struct event_body *b, struct buf *out)
{
    buf_addf(out, "{\"kind\":\"Event\",\"apiVersion\":\"%s\",\"metadata\":{\"name\":\"%s\"", api_version,
             b->name);
    write_member("namespace", str_of(event_namespace(b->about)), out);
    buf_add_char(out, '}');
}

void event_write_core(const struct event_body *b, struct buf *out)
{
    write_head("v1", b, out);
    write_reference("involvedObject", b->about, out);
    write_member("reason", str_of(b->reason), out);
    write_member("message", b->message, out);
    buf_add_cstr(out, ",\"source\":{\"component\":");
    json_write_string(out, str_of(b->component));
    if (b->host[0] != '\0')
        write_member("host", str_of(b->host), out);
    buf_add_char(out, '}');
    write_time("firstTimestamp", b->first_real_ns, out);
    write_time("lastTimestamp", b->last_real_ns, out);
    buf_addf(out, ",\"count\":%" PRId32 ",\"type\":\"%s\",\"eventTime\":null", b->count, b->type);
    write_member("reportingComponent", str_of(b->component), out);
    write_member("reportingInstance", str_of(b->host), out);
    buf_add_char(out, '}');
}

void event_write_core_patch(const struct event_body *b, struct buf *out)
{
    buf_addf(out, "{\"count\":%" PRId32, b->count);
    write_time("lastTimestamp", b->last_real_ns, out);
    write_member("message", b->message, out);
    buf_add_char(out, '}');
}

/* "<component>-<host>", as long as it may be. */
static void write_instance(const struct event_body *b, struct buf *out)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT((size_t)1 << 16);
    _cleanup_(buf_done_p) struct buf cut = BUF_INIT(EVENT_INSTANCE_BYTES_MAX);

    buf_addf(&text, "%s%s%s", b->component, b->host[0] != '\0' ? "-" : "", b->host);
    event_message(buf_str(&text), EVENT_INSTANCE_BYTES_MAX, &cut);
    write_member("reportingInstance", buf_str(&cut), out);
}

void event_write_v1_open(const struct event_body *b, struct buf *out)
{
    write_head("events.k8s.io/v1", b, out);
    write_micro_time("eventTime", b->first_real_ns, out);
    write_member("reportingController", str_of(b->component), out);
    write_instance(b, out);
    write_member("action", str_of(b->action), out);
    write_member("reason", str_of(b->reason), out);
    write_reference("regarding", b->about, out);
    if (b->related)
        write_reference("related", b->related, out);
    write_member("note", b->message, out);
    write_member("type", str_of(b->type), out);
}

void event_write_series(int32_t count, int64_t last_real_ns, struct buf *out)
{
    buf_addf(out, "\"series\":{\"count\":%" PRId32, count);
    write_micro_time("lastObservedTime", last_real_ns, out);
    buf_add_char(out, '}');
}

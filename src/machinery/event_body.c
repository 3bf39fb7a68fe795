/* Names, messages and JSON bodies of events. Nothing here keeps state; failures are kept in the output
 * buffer. */
#include "machinery/event_body.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/json_out.h"
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

/* Replaces every invalid character by U+FFFD. */
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
    buf_add_char(out, '\0'); /* occurs in none of the texts */
}

/* The kind implies its apiVersion: Berth has one version of each. */
void event_key_object(const struct object *o, struct buf *out)
{
    event_key_text(str_of(o->kind->group), out);
    event_key_text(str_of(o->kind->name), out);
    event_key_text(str_of(o->ns), out);
    event_key_text(str_of(o->name), out);
    event_key_text(str_of(o->uid), out);
}

/* --- JSON --- */

static void write_reference(const char *key, const struct object *o, struct buf *out)
{
    json_out_object(out, key);
    json_out_text(out, "kind", o->kind->name);
    if (o->ns[0] != '\0')
        json_out_text(out, "namespace", o->ns);
    json_out_text(out, "name", o->name);
    if (o->uid[0] != '\0')
        json_out_text(out, "uid", o->uid);
    kind_write_api_version(o->kind, out);
    if (o->revision > 0)
        json_out_textf(out, "resourceVersion", "%" PRId64, o->revision);
    json_out_end_object(out);
}

static void write_head(const char *api_version, const struct event_body *b, struct buf *out)
{
    json_out_object(out, NULL);
    json_out_text(out, "kind", "Event");
    json_out_text(out, "apiVersion", api_version);
    json_out_object(out, "metadata");
    json_out_text(out, "name", b->name);
    json_out_text(out, "namespace", event_namespace(b->about));
    json_out_end_object(out);
}

void event_write_core(const struct event_body *b, struct buf *out)
{
    write_head("v1", b, out);
    write_reference("involvedObject", b->about, out);
    json_out_text(out, "reason", b->reason);
    json_out_str(out, "message", b->message);
    json_out_object(out, "source");
    json_out_text(out, "component", b->component);
    if (b->host[0] != '\0')
        json_out_text(out, "host", b->host);
    json_out_end_object(out);
    json_out_time(out, "firstTimestamp", timestamp_of_ns(b->first_real_ns));
    json_out_time(out, "lastTimestamp", timestamp_of_ns(b->last_real_ns));
    json_out_int(out, "count", b->count);
    json_out_text(out, "type", b->type);
    json_out_null(out, "eventTime");
    json_out_text(out, "reportingComponent", b->component);
    json_out_text(out, "reportingInstance", b->host);
    json_out_end_object(out);
}

void event_write_core_patch(const struct event_body *b, struct buf *out)
{
    json_out_object(out, NULL);
    json_out_int(out, "count", b->count);
    json_out_time(out, "lastTimestamp", timestamp_of_ns(b->last_real_ns));
    json_out_str(out, "message", b->message);
    json_out_end_object(out);
}

/* "<component>-<host>", cut to the maximum length. */
static void write_instance(const struct event_body *b, struct buf *out)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT((size_t)1 << 16);
    _cleanup_(buf_done_p) struct buf cut = BUF_INIT(EVENT_INSTANCE_BYTES_MAX);

    buf_addf(&text, "%s%s%s", b->component, b->host[0] != '\0' ? "-" : "", b->host);
    event_message(buf_str(&text), EVENT_INSTANCE_BYTES_MAX, &cut);
    json_out_str(out, "reportingInstance", buf_str(&cut));
}

void event_write_v1_open(const struct event_body *b, struct buf *out)
{
    write_head("events.k8s.io/v1", b, out);
    json_out_time_micro(out, "eventTime", timestamp_of_ns(b->first_real_ns));
    json_out_text(out, "reportingController", b->component);
    write_instance(b, out);
    json_out_text(out, "action", b->action);
    json_out_text(out, "reason", b->reason);
    write_reference("regarding", b->about, out);
    if (b->related)
        write_reference("related", b->related, out);
    json_out_str(out, "note", b->message);
    json_out_text(out, "type", b->type);
}

void event_write_series(int32_t count, int64_t last_real_ns, struct buf *out)
{
    json_out_object(out, "series");
    json_out_int(out, "count", count);
    json_out_time_micro(out, "lastObservedTime", timestamp_of_ns(last_real_ns));
    json_out_end_object(out);
}

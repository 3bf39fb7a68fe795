#include "machinery/lease_record.h"

#include <inttypes.h>
#include <string.h>

#include "base/mutant.h"
#include "machinery/informer.h"

static int64_t bounded(int64_t n)
{
    return n < 0 ? 0 : n > INT32_MAX ? INT32_MAX : n;
}

struct lease_record lease_record_of(const struct lease *l)
{
    return (struct lease_record){ .holder = l->holder,
                                  .duration_seconds = bounded(l->duration_seconds),
                                  .transitions = bounded(l->transitions),
                                  .acquired = l->acquired,
                                  .renewed = l->renewed };
}

bool lease_record_is_same(const struct lease *a, const struct lease *b)
{
    return strcmp(a->obj.uid, b->obj.uid) == 0 && strcmp(a->holder, b->holder) == 0 &&
           a->duration_seconds == b->duration_seconds && a->transitions == b->transitions &&
           timestamp_cmp(a->acquired, b->acquired) == 0 && timestamp_cmp(a->renewed, b->renewed) == 0;
}

static void write_spec(const struct lease_record *r, struct buf *out)
{
    buf_add_cstr(out, "\"spec\":{\"holderIdentity\":");
    json_write_string(out, str_of(r->holder));
    buf_addf(out, ",\"leaseDurationSeconds\":%" PRId64 ",\"acquireTime\":\"", r->duration_seconds);
    timestamp_format_micro(r->acquired, out);
    buf_add_cstr(out, "\",\"renewTime\":\"");
    timestamp_format_micro(r->renewed, out);
    buf_addf(out, "\",\"leaseTransitions\":%" PRId64 "}", r->transitions);
}

void lease_record_write(const struct lease_record *r, const char *ns, const char *name, struct buf *out)
{
    buf_add_cstr(out, "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\","
                      "\"metadata\":{\"name\":");
    json_write_string(out, str_of(name));
    buf_add_cstr(out, ",\"namespace\":");
    json_write_string(out, str_of(ns));
    buf_add_cstr(out, "},");
    write_spec(r, out);
    buf_add_char(out, '}');
}

void lease_record_write_patch(const struct lease_record *r, const struct lease *seen, struct buf *out)
{
    buf_add_cstr(out, "{\"metadata\":{\"uid\":");
    json_write_string(out, str_of(seen->obj.uid));
    if (!MUTANT("leader-writes-over-others")) {
        buf_add_cstr(out, ",\"resourceVersion\":");
        json_write_string(out, object_version(&seen->obj));
    }
    buf_add_cstr(out, "},");
    write_spec(r, out);
    buf_add_char(out, '}');
}

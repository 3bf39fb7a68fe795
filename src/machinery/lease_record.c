#include "machinery/lease_record.h"

#include <string.h>

#include "api/json_out.h"
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
    json_out_object(out, "spec");
    json_out_text(out, "holderIdentity", r->holder);
    json_out_int(out, "leaseDurationSeconds", r->duration_seconds);
    json_out_time_micro(out, "acquireTime", r->acquired);
    json_out_time_micro(out, "renewTime", r->renewed);
    json_out_int(out, "leaseTransitions", r->transitions);
    json_out_end_object(out);
}

void lease_record_write(const struct lease_record *r, const char *ns, const char *name, struct buf *out)
{
    json_out_object(out, NULL);
    json_out_text(out, "apiVersion", "coordination.k8s.io/v1");
    json_out_text(out, "kind", "Lease");
    json_out_object(out, "metadata");
    json_out_text(out, "name", name);
    json_out_text(out, "namespace", ns);
    json_out_end_object(out);
    write_spec(r, out);
    json_out_end_object(out);
}

void lease_record_write_patch(const struct lease_record *r, const struct lease *seen, struct buf *out)
{
    json_out_object(out, NULL);
    json_out_object(out, "metadata");
    json_out_text(out, "uid", seen->obj.uid);
    if (!MUTANT("leader-writes-over-others"))
        json_out_str(out, "resourceVersion", object_version(&seen->obj));
    json_out_end_object(out);
    write_spec(r, out);
    json_out_end_object(out);
}

/* The durable record of calls that may have created storage: written before the first call, removed when its
 * end is known. After a crash the holder of the lease reads it and brings each call to its end, whether or
 * not the claim still exists.
 *
 * One ConfigMap per provisioner (`berth-csi-DRIVER[-NODE]`, in the namespace of leases), kept by the holder
 * of the lease. A key is a claim's uid; the value is JSON, without secrets: the claim as it was, the request.
 * Changes of one turn of the loop, and those that arrive while a write is in flight, are one merge patch.
 * The number of entries is bounded by the calls in flight. */
#ifndef BERTH_CONTROLLERS_CALL_RECORD_H
#define BERTH_CONTROLLERS_CALL_RECORD_H

#include "machinery/component_deps.h"

struct call_record;

#define CALL_RECORD_VALUE_BYTES_MAX ((size_t)64 << 10)
#define CALL_RECORD_BYTES_MAX ((size_t)1 << 20) /* of the ConfigMap */

struct call_record_options {
    struct component_deps part;
    const char *ns;
    const char *name;      /* of the ConfigMap */
    const char *node_name; /* in its annotation ANN_RECORD_NODE; NULL: none */
    /* The entries have been read: each was reported by on_entry() before. */
    void (*on_loaded)(void *ctx);
    void (*on_entry)(void *ctx, const char *uid, struct str value);
    void *ctx;
};

int call_record_new(const struct call_record_options *o, struct call_record **ret, struct error *err);
/* Writes that were sent may still take effect; waiting ones are dropped without a callback. Accepts NULL. */
struct call_record *call_record_free(struct call_record *r);
DEFINE_CLEANUP(struct call_record, call_record_free)
/* Reads the entries, with retries until it succeeds. */
void call_record_start(struct call_record *r);

/* A change that its owner waits for; embedded, zeroed before its first use. */
struct call_record_write {
    /* Once, on the loop, when the change is durable. */
    void (*done)(struct call_record_write *w);
    TAILQ_ENTRY(call_record_write) link;
    bool is_active;
};
/* value: copied. Failures are retried until the write succeeds. ERR_TOO_LARGE: too many calls are recorded:
 * try again later. */
int call_record_put(struct call_record *r, const char *uid, struct str value, struct call_record_write *w,
                    struct error *err);
void call_record_cancel(struct call_record *r, struct call_record_write *w);
/* Nobody waits for it; a repeated call is harmless. */
void call_record_remove(struct call_record *r, const char *uid);

#endif

/* Status of a Berth server: where it listens, which parts run in it, how many objects are pending. `berth
 * serve` prints it when it is ready and serves it at /status; `berth status` reads that and prints the same
 * lines. */
#ifndef BERTH_DAEMON_SERVER_STATUS_H
#define BERTH_DAEMON_SERVER_STATUS_H

#include <stdbool.h>
#include <stddef.h>

#include "api/claim.h"
#include "api/json.h"
#include "api/pod.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"

#define SERVER_STATUS_NAMES_MAX 64

struct server_status_names {
    struct str items[SERVER_STATUS_NAMES_MAX];
    size_t count;
};

/* Texts are borrowed; empty when unknown. */
struct server_status {
    struct str version;
    struct str url;
    struct str data;
    struct str kubeconfig;
    struct str node; /* empty: no node agent */
    struct str user; /* user of the process */
    bool may_mount;
    struct server_status_names parts; /* "controllers", "scheduler", "node" */
    struct server_status_names provisioners;
    /* Pending objects; filled in by the caller that has the caches. */
    bool has_counts;
    size_t claims_pending;
    size_t pods_waiting;
    struct server_status_names drivers; /* of CSI */
};

void server_status_add(struct server_status_names *names, struct str name);
bool server_status_has_part(const struct server_status *s, const char *part);

/* The claim is Pending; the pod waits for its volumes. */
bool server_status_claim_waits(const struct claim *c);
bool server_status_pod_waits(const struct pod *p);

/* Everything except counts and drivers: as members of an object, and as the object's text. */
void server_status_fill_json(const struct server_status *s, struct json *d, json_ref v);
void server_status_write_json(const struct server_status *s, struct buf *out);
/* Reads what server_status_fill_json() wrote; texts stay in the document. ERR_BAD_REQUEST when it is not a
 * status. */
int server_status_read(const struct json *d, json_ref v, struct server_status *ret, struct error *err);

/* Lines of "  node          vm; mounts volumes". */
void server_status_write_text(const struct server_status *s, struct buf *out);

#endif

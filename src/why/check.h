/* What the files of `berth check` share: the inventory that the rules read, and the findings.
 *
 * A rule is a function over the inventory that adds findings in any order. A rule is skipped when a list that
 * it needs is not available. Rules make no requests; the only system access is to test whether a path exists
 * on this machine. */
#ifndef BERTH_WHY_CHECK_H
#define BERTH_WHY_CHECK_H

#include "base/arena.h"
#include "why/causes.h"
#include "why/inventory.h"
#include "why/usage.h"

enum severity {
    SEVERITY_ERROR,   /* data is lost or cannot be reached */
    SEVERITY_WARNING, /* something waits, fills up or is left over */
    SEVERITY_HINT,    /* possibly intended */
    SEVERITY_COUNT,
};

extern const char *const severity_names[];

struct check_finding {
    enum severity severity;
    const char *rule; /* code for scripts: "claim-lost" */
    enum kind kind;
    const char *ns;   /* "" at cluster scope */
    const char *name; /* "": about the kind as a whole */
    const char *text;
    const char *advice;
};

struct checkup {
    const struct inventory *all;
    const struct usages *usages;
    const char *ns; /* only claims and pods of this namespace; NULL: all */
    struct timestamp now;
    int64_t stuck_seconds;       /* report objects that wait longer than this */
    const struct causes *causes; /* why something waits, as in `berth why`; NULL: not available */
    const char *const
        *provisioners; /* provisioners of the server's process, NULL at the end; NULL: not known */
    /* Results: */
    struct arena texts;
    VEC(struct check_finding) findings;
    size_t counts[SEVERITY_COUNT];
    size_t waiting_claims, waiting_pods; /* not late yet: counted, no findings */
    bool is_out_of_memory;
    VEC(const struct object *) hosts; /* check_volumes.c: nodes by host name */
};

void checkup_done(struct checkup *checkup);
/* Runs every rule and sorts the findings: by severity, then rule and object. */
int checkup_run(struct checkup *checkup, struct error *err);
/* Findings and counts as `berth check -o json` prints them; 0 when d has failed. */
json_ref checkup_as_json(const struct checkup *checkup, struct json *d);
/* The object as the user types it: "pvc/db -n shop". */
void finding_write_object(const struct check_finding *f, struct buf *out);

/* --- For the rules --- */

/* advice: NULL refers to `berth why` for the object. */
void check_find(struct checkup *checkup, enum severity severity, const char *rule, const struct object *about,
                const char *advice, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* For a finding about a kind as a whole, or about an object that does not exist. */
void check_find_at(struct checkup *checkup, struct check_finding where, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Seconds since t; 0 when t is not set or in the future. */
int64_t check_age(const struct checkup *checkup, struct timestamp t);
/* Older than stuck_seconds. */
bool check_is_late(const struct checkup *checkup, struct timestamp since);
/* "12m", allocated in the checkup. */
const char *check_since(struct checkup *checkup, struct timestamp t);
/* True for the code of a cause that waiting does not resolve. */
bool check_is_permanent(const char *code);
/* Reports an object that has been Terminating for too long, with what blocks it. */
void check_deleting(struct checkup *checkup, const struct object *o);

void check_classes(struct checkup *checkup);
void check_volumes(struct checkup *checkup);
void check_claims(struct checkup *checkup);
void check_pods(struct checkup *checkup);
void check_attachments(struct checkup *checkup);
void check_nodes(struct checkup *checkup);
void check_usage(struct checkup *checkup);
void check_disks(struct checkup *checkup);
void check_csi_drivers(struct checkup *checkup);
/* check_csi.c: rules of one attachment, and of the work on a bound claim. */
void check_attachment_age(struct checkup *checkup, const struct object *o);
void check_claim_work(struct checkup *checkup, const struct claim *c);

#endif

/* What the files of `berth check` share: the objects that are looked at, and what is found.
 *
 * Rules are functions over the inventory; each adds findings, in any order. A rule says nothing where a list
 * it needs could not be had. Nothing here asks anybody anything but whether a path on this machine exists. */
#ifndef BERTH_WHY_CHECK_H
#define BERTH_WHY_CHECK_H

#include "base/arena.h"
#include "why/causes.h"
#include "why/inventory.h"
#include "why/usage.h"

enum severity {
    SEVERITY_ERROR,   /* data cannot be reached, or is gone */
    SEVERITY_WARNING, /* something waits, fills up or is left over */
    SEVERITY_HINT,    /* it may be meant so */
    SEVERITY_COUNT,
};

extern const char *const severity_names[];

struct finding {
    enum severity severity;
    const char *rule; /* a word for scripts: "claim-lost" */
    enum kind kind;
    const char *ns;   /* "" at cluster scope */
    const char *name; /* "": of all of the kind together */
    const char *text;
    const char *advice;
};

struct checkup {
    const struct inventory *all;
    const struct usages *usages;
    const char *ns; /* claims and pods of this namespace alone; NULL: all */
    struct timestamp now;
    int64_t stuck_seconds;       /* longer is too long */
    const struct causes *causes; /* why something waits, as `berth why` says; NULL: nobody explains */
    const char *const
        *provisioners; /* that run in the server's process; they end with NULL. NULL: none is known */
    /* What was found: */
    struct arena texts;
    VEC(struct finding) findings;
    size_t counts[SEVERITY_COUNT];
    size_t waiting_claims, waiting_pods; /* not for too long: no findings */
    bool is_out_of_memory;
    VEC(const struct object *) hosts; /* check_volumes.c: nodes by their host's name */
};

void checkup_done(struct checkup *x);
/* Runs every rule; what was found is sorted: the worst first, then by rule and object. */
int checkup_run(struct checkup *x, struct error *err);
/* The findings and their numbers, as `berth check -o json` prints them; 0 when d has failed. */
json_ref checkup_as_json(const struct checkup *x, struct json *d);
/* The object as it is typed: "pvc/db -n shop". */
void finding_write_object(const struct finding *f, struct buf *out);

/* --- For the rules --- */

/* advice: NULL for `berth why` about the object. */
void check_find(struct checkup *x, enum severity severity, const char *rule, const struct object *about,
                const char *advice, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* About a kind as a whole, or an object that is not there. */
void check_find_at(struct checkup *x, struct finding where, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Seconds since then; 0 when there is no time, or it lies ahead. */
int64_t check_age(const struct checkup *x, struct timestamp t);
/* For longer than may be waited. */
bool check_is_late(const struct checkup *x, struct timestamp since);
/* "12m": for a text, in storage of the checkup's. */
const char *check_since(struct checkup *x, struct timestamp t);
/* What will not come right by waiting: somebody has to do something. Of a cause's code. */
bool check_is_permanent(const char *code);
/* Being deleted for too long, and why. */
void check_deleting(struct checkup *x, const struct object *o);

void check_classes(struct checkup *x);
void check_volumes(struct checkup *x);
void check_claims(struct checkup *x);
void check_pods(struct checkup *x);
void check_attachments(struct checkup *x);
void check_nodes(struct checkup *x);
void check_usage(struct checkup *x);
void check_disks(struct checkup *x);

#endif

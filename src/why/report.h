/* One explanation: why an object is in its state, for users and for scripts.
 *
 * A report is an object in a JSON document, built member by member; nested reports (a pod's volumes) are
 * objects in the same document. The text form is made from that document (text.h), so that a report from a
 * server and a local one look the same:
 *
 *   kind, namespace, name, state     the object, and its state in a word or two
 *   cause, sentence                  the result: a code for scripts, and a sentence for users
 *   facts[]                          other relevant facts
 *   candidates{total, groups[{reason, count, examples[{name, text}]}]}
 *   operations[{name, state, failures, retryInSeconds, message}]
 *   events[{type, reason, message, count, age, over}]
 *   parts[]                          nested reports
 *   next, advice[]                   the next step; what the user can do
 *
 * The first cause is the result: checks run in the order in which the components decide, and later causes
 * become facts. Everything is bounded: the length of a line, examples, parts and their depth, and the whole
 * by the document's bytes_max. Building stops at the first failure, which json_check() returns. */
#ifndef BERTH_WHY_REPORT_H
#define BERTH_WHY_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/json.h"

/* Limit for a report and its document. */
#define WHY_BYTES_MAX ((size_t)256 << 20)
#define WHY_LINE_BYTES_MAX (ERROR_MSG_BYTES_MAX + 1024) /* an error and the text around it */
/* Up to this many candidates are listed; of more, a few per reason. */
#define WHY_FEW 20
#define WHY_EXAMPLES 5
#define WHY_GROUPS_MAX 64
#define WHY_PARTS_MAX 64
#define WHY_DEPTH_MAX 4
/* The cause of an object that needs no action. */
#define WHY_NOTHING "none"

struct report_group {
    const char *reason;
    json_ref json;
    json_ref examples;
    size_t count;
    size_t shown;
};

struct why_report {
    struct json *d; /* borrowed */
    json_ref json;
    json_ref facts, candidates, operations, events, parts, advice;
    struct report_group groups[WHY_GROUPS_MAX];
    size_t groups_count;
    size_t total; /* number of candidates */
    unsigned depth;
    bool shows_all;
    bool has_cause;
};

/* kind is the API's ("PersistentVolumeClaim"), ns "" at cluster scope. Texts are copied, here and below. */
void report_begin(struct why_report *r, struct json *d, const char *kind, const char *ns, const char *name,
                  bool shows_all);
/* Begins a report inside r, to be filled and ended like any other. False when the limit is reached: then it
 * was not begun. */
bool report_begin_part(struct why_report *r, struct why_report *part, const char *kind, const char *ns,
                       const char *name);
/* The last call: truncates candidates to examples, and sets WHY_NOTHING if there is no cause. */
void report_end(struct why_report *r);

/* "Pending", "Bound to pv-1". */
void report_state(struct why_report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The first one is the result; later ones become facts. */
void report_cause(struct why_report *r, const char *cause, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
bool report_has_cause(const struct why_report *r);
/* The text after `MountVolume.SetUp failed for volume "v" : `, or the whole message. */
struct str report_detail(struct str message);

/* "" before there is a cause. Borrowed from the document. */
struct str report_cause_code(const struct why_report *r);
struct str report_sentence(const struct why_report *r);
void report_fact(struct why_report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void report_next(struct why_report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A full sentence, with the command if there is one. */
void report_advise(struct why_report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Adds the advice of another report of the same document; 0 for none. */
void report_advise_as(struct why_report *r, json_ref advice);

/* Counts a candidate that was refused for a reason (a literal). True when it is to be shown: call
 * report_example() next. Most candidates are only counted, so that no text is built for them. */
bool report_count(struct why_report *r, const char *reason);
void report_example(struct why_report *r, const char *reason, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Moves candidates that were counted in another report of the same document into r. is_copied: that report
 * has already given them to one that is kept. */
void report_take_candidates(struct why_report *r, const struct why_report *from, bool is_copied);

/* True when the text is in the NULL-terminated list. list may be NULL. */
bool why_is_one_of(const char *const *list, const char *text);

/* An operation for the object that is running or was tried. */
struct report_operation {
    const char *name; /* "provision" */
    bool is_running;
    unsigned failures;     /* consecutive */
    int64_t retry_seconds; /* until the next retry; negative: none is scheduled */
    const char *message;   /* of the last failure; "" for none */
};
void report_operation(struct why_report *r, const struct report_operation *o);

/* Oldest first. */
struct report_event {
    const char *type;
    const char *reason;
    const char *message;
    int64_t count;
    const char *age; /* "5m" */
    bool is_over;    /* it no longer applies */
};
void report_event(struct why_report *r, const struct report_event *e);

#endif

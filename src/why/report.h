/* One explanation: why an object is as it is, for people and for scripts.
 *
 * A report is an object in a JSON document, built member by member; reports inside it (a pod's volumes) are
 * objects in the same document. Its text for people is made from that document (text.h), so that a report
 * from a server and one made here look the same:
 *
 *   kind, namespace, name, state     what it is about, and its state in a word or two
 *   cause, sentence                  the verdict: a word for scripts, and the words for people
 *   facts[]                          what else is true and of use
 *   candidates{total, groups[{reason, count, examples[{name, text}]}]}
 *   operations[{name, state, failures, retryInSeconds, message}]
 *   events[{type, reason, message, count, age, over}]
 *   parts[]                          reports of the same shape
 *   next, advice[]                   which step comes next; what the person can do
 *
 * The first cause is the verdict: rules are asked in the order in which they decide, and whatever is found
 * wrong afterwards becomes a fact. Everything is bounded: the length of a line, examples, parts and their
 * depth, and the whole by the document's bytes_max. Building sticks at the first failure; json_check() tells.
 */
#ifndef BERTH_WHY_REPORT_H
#define BERTH_WHY_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/json.h"

/* Of a report and its document. */
#define WHY_BYTES_MAX ((size_t)256 << 20)
#define WHY_LINE_BYTES_MAX (ERROR_MSG_BYTES_MAX + 1024) /* an error and the words around it */
/* So many candidates are shown one by one; of more, a few of each reason. */
#define WHY_FEW 20
#define WHY_EXAMPLES 5
#define WHY_GROUPS_MAX 64
#define WHY_PARTS_MAX 64
#define WHY_DEPTH_MAX 4
/* Causes of what needs no help. */
#define WHY_NOTHING "none"

struct report_group {
    const char *reason;
    json_ref json;
    json_ref examples;
    size_t count;
    size_t shown;
};

struct report {
    struct json *d; /* borrowed */
    json_ref json;
    json_ref facts, candidates, operations, events, parts, advice;
    struct report_group groups[WHY_GROUPS_MAX];
    size_t groups_count;
    size_t total; /* candidates */
    unsigned depth;
    bool shows_all;
    bool has_cause;
};

/* kind is the API's ("PersistentVolumeClaim"), ns "" at cluster scope. Texts are copied, here and below. */
void report_begin(struct report *r, struct json *d, const char *kind, const char *ns, const char *name,
                  bool shows_all);
/* A report inside r, to be filled and ended like any other. False when there are enough: then it was not
 * begun. */
bool report_begin_part(struct report *r, struct report *part, const char *kind, const char *ns,
                       const char *name);
/* The last call: candidates are cut to examples, and what has no cause has nothing wrong. */
void report_end(struct report *r);

/* "Pending", "Bound to pv-1". */
void report_state(struct report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The first is the verdict; later ones are facts. */
void report_cause(struct report *r, const char *cause, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
bool report_has_cause(const struct report *r);
/* The words behind `MountVolume.SetUp failed for volume "v" : `, or the whole message. */
struct str report_detail(struct str message);

/* "" before there is one. Borrowed from the document. */
struct str report_cause_code(const struct report *r);
struct str report_sentence(const struct report *r);
void report_fact(struct report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void report_next(struct report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A whole sentence, with the command where there is one. */
void report_advise(struct report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* What another report of the same document advises; 0 for none. */
void report_advise_as(struct report *r, json_ref advice);

/* A candidate that was refused for a reason (a literal). True when its text is wanted: report_example() is
 * next. Most of many are only counted, so that their words cost nothing. */
bool report_count(struct report *r, const char *reason);
void report_example(struct report *r, const char *reason, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Gives r the candidates that were counted in another report of the same document. is_copied: that report has
 * given them to one that is kept. */
void report_take_candidates(struct report *r, const struct report *from, bool is_copied);

/* What is being done for the object, or was tried. */
struct report_operation {
    const char *name; /* "provision" */
    bool is_running;
    unsigned failures;     /* in a row */
    int64_t retry_seconds; /* until the next try; negative: none is planned */
    const char *message;   /* the last failure's; "" for none */
};
void report_operation(struct report *r, const struct report_operation *o);

/* Oldest first. */
struct report_event {
    const char *type;
    const char *reason;
    const char *message;
    int64_t count;
    const char *age; /* "5m" */
    bool is_over;    /* it says nothing about the present */
};
void report_event(struct report *r, const struct report_event *e);

#endif

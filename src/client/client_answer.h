/* Decodes a server's answer: status, headers and body in, objects or an error out. */
#ifndef BERTH_CLIENT_CLIENT_ANSWER_H
#define BERTH_CLIENT_CLIENT_ANSWER_H

#include "base/arena.h"
#include "base/vec.h"
#include "client/client.h"

/* The answer as received. */
struct raw_answer {
    int http_status;
    struct str body;
    int64_t retry_after_seconds; /* -1 for none */
};

/* An answer and its memory. Zeroed before use. */
struct read_answer {
    struct client_answer answer;
    struct status_info status; /* target of answer.status, if it is set */
    struct arena arena;        /* owns its texts, and the list's */
    VEC(struct object *) items;
};

struct answer_reader {
    struct json *scratch;
    bool keeps_managed_fields; /* otherwise objects are decoded without: they are large and not used */
};

/* Never fails: what cannot be parsed is an answer with an error. A refusal without a Status gets one derived
 * from its HTTP status, with up to 2 KiB of the body; see the rules in client_answer.c. */
void answer_read(const struct answer_reader *reader, const struct client_request *q,
                 const struct raw_answer *raw, struct read_answer *ret);
void read_answer_done(struct read_answer *a);

/* One line of a watch: {"type": …, "object": …}. Always calls fn. */
void answer_read_event(const struct answer_reader *reader, const struct client_request *q, struct str line,
                       client_event_fn *fn, void *ctx);

#endif

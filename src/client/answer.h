/* From what a server answered to an answer of ours: status, headers and body in, objects or an error out. */
#ifndef BERTH_CLIENT_ANSWER_H
#define BERTH_CLIENT_ANSWER_H

#include "base/arena.h"
#include "base/vec.h"
#include "client/client.h"

/* What came back. */
struct raw_answer {
    int http_status;
    struct str body;
    int64_t retry_after_seconds; /* -1 for none */
};

/* An answer and what it stands on. Zeroed before use. */
struct read_answer {
    struct client_answer answer;
    struct status_info status; /* what answer.status points to, if it does */
    struct arena arena;        /* of its texts, and the list's */
    VEC(struct object *) items;
};

struct answer_reader {
    struct json *scratch;
    bool keeps_managed_fields; /* else objects are made without: nobody here reads them, and they are large */
};

/* Never fails: what cannot be read is an answer with an error. A refusal without a Status gets one made up
 * from its HTTP status, with up to 2 KiB of the body; see the rules in answer.c. */
void answer_read(const struct answer_reader *reader, const struct client_request *q,
                 const struct raw_answer *raw, struct read_answer *ret);
void read_answer_done(struct read_answer *a);

/* One line of a watch: {"type": …, "object": …}. fn gets it, always. */
void answer_read_event(const struct answer_reader *reader, const struct client_request *q, struct str line,
                       client_event_fn *fn, void *ctx);

#endif

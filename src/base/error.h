/* Errors: a code to decide on and a sentence to read, kept on the caller's stack.
 *
 * Functions that can fail return 0 or a negative `-ERR_*`, take `struct error *err` as their last parameter
 * (never NULL, untouched on success), and leave their outputs alone when they fail. Each level prefixes what
 * only it knows. */
#ifndef BERTH_BASE_ERROR_H
#define BERTH_BASE_ERROR_H

#include <stdbool.h>

enum err {
    ERR_NONE,
    ERR_NO_MEMORY,
    ERR_BAD_REQUEST, /* not understood: syntax, encoding, wrong type */
    ERR_INVALID,     /* understood and refused: a rule of the field or object */
    ERR_NOT_FOUND,
    ERR_EXISTS,
    ERR_CONFLICT,     /* somebody else changed it first */
    ERR_GONE,         /* a revision that history no longer holds */
    ERR_UNAUTHORIZED, /* nobody knows who is asking */
    ERR_DENIED,
    ERR_TOO_LARGE,
    ERR_TIMEOUT,
    ERR_UNCERTAIN, /* no answer, or none that says so: it may have happened, or may yet */
    ERR_UNAVAILABLE,
    ERR_UNSUPPORTED,
    ERR_BUSY,
    ERR_CANCELLED,
    ERR_IO,
    ERR_INTERNAL,
    ERR_OP_PENDING, /* expected: the operation for this key still runs */
    ERR_BACKOFF,    /* expected: the operation for this key waits for its next try */
    ERR_COUNT,
};

/* Room for what a command said and for the names and paths around it. An error is for the stack and for work
 * under way: what is kept for long keeps a copy of the message. */
#define ERROR_MSG_BYTES_MAX 4096

struct error {
    enum err code;
    char msg[ERROR_MSG_BYTES_MAX];
};

/* Replaces what e says, which may be among the arguments. A message too long for the buffer is cut at a
 * character boundary. Returns -code. */
int error_set(struct error *e, enum err code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Puts "fmt: " in front of the message. Returns the same -code. */
int error_wrap(struct error *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Like error_set(), with errnum's text behind the message, and the code that fits errnum. */
int error_set_errno(struct error *e, int errnum, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

int error_no_memory(struct error *e);

/* Hands on an error of a call whose failure may also be no failure: err stays untouched until it is one. */
int error_pass(struct error *err, const struct error *from);

/* The short name of a code, for logs: "not-found". */
const char *error_name(enum err code);

/* True for outcomes that are no failure: still running, still backing off. Takes the negative value. */
bool error_is_expected(int r);

#endif

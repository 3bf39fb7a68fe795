/* Errors: a code for decisions and a message for readers, kept on the caller's stack.
 *
 * Functions that can fail return 0 or a negative `-ERR_*`, take `struct error *err` as their last parameter
 * (never NULL, untouched on success), and do not change their outputs when they fail. Each caller prefixes
 * the details that only it has. */
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
    ERR_CONFLICT,     /* changed by another writer first */
    ERR_GONE,         /* a revision older than the history */
    ERR_UNAUTHORIZED, /* no or wrong credentials */
    ERR_DENIED,
    ERR_TOO_LARGE,
    ERR_TIMEOUT,
    ERR_UNCERTAIN,  /* no answer, or an inconclusive one: the change may have been applied, or may be later */
    ERR_INCOMPLETE, /* partly done and ended: finished changes stay */
    ERR_UNAVAILABLE,
    ERR_UNSUPPORTED,
    ERR_BUSY,
    ERR_CANCELLED,
    ERR_IO,
    ERR_INTERNAL,
    ERR_OP_PENDING, /* expected: the operation for this key still runs */
    ERR_BACKOFF,    /* expected: the operation for this key is in backoff */
    ERR_COUNT,
};

/* Large enough for the output of a command, with names and paths. Errors live on the stack and in running
 * operations; state that lives longer keeps a copy of the message. */
#define ERROR_MSG_BYTES_MAX 4096

struct error {
    enum err code;
    char msg[ERROR_MSG_BYTES_MAX];
};

/* A code without a message. For functions that run often: an initializer clears the whole message. */
static inline void error_init(struct error *e, enum err code)
{
    e->code = code;
    e->msg[0] = '\0';
}

/* Replaces the message, which may itself be among the arguments. A message that is too long for the buffer is
 * cut at a character boundary. Returns -code. */
int error_set(struct error *e, enum err code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Prefixes the message with "fmt: ". Returns the same -code. */
int error_wrap(struct error *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Like error_set(), but appends the text of errnum to the message and derives the code from errnum. */
int error_set_errno(struct error *e, int errnum, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

int error_no_memory(struct error *e);

/* Copies the error of a call whose failure is not always an error of the caller: err stays untouched until
 * then. */
int error_pass(struct error *err, const struct error *from);

/* The short name of a code, for logs: "not-found". */
const char *error_name(enum err code);

/* True for outcomes that are not errors: operation still running, operation in backoff. Takes the negative
 * value. */
bool error_is_expected(int r);

#endif

/* Formatting of errors. Nothing here allocates, so "out of memory" can be reported too. Messages that do not
 * fit the buffer are cut at a character boundary. */
#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

static const char *const error_names[] = {
    [ERR_NONE] = "none",
    [ERR_NO_MEMORY] = "no-memory",
    [ERR_BAD_REQUEST] = "bad-request",
    [ERR_INVALID] = "invalid",
    [ERR_NOT_FOUND] = "not-found",
    [ERR_EXISTS] = "exists",
    [ERR_CONFLICT] = "conflict",
    [ERR_GONE] = "gone",
    [ERR_UNAUTHORIZED] = "unauthorized",
    [ERR_DENIED] = "denied",
    [ERR_TOO_LARGE] = "too-large",
    [ERR_TIMEOUT] = "timeout",
    [ERR_UNCERTAIN] = "uncertain",
    [ERR_INCOMPLETE] = "incomplete",
    [ERR_UNAVAILABLE] = "unavailable",
    [ERR_UNSUPPORTED] = "unsupported",
    [ERR_BUSY] = "busy",
    [ERR_CANCELLED] = "cancelled",
    [ERR_IO] = "io",
    [ERR_INTERNAL] = "internal",
    [ERR_OP_PENDING] = "op-pending",
    [ERR_BACKOFF] = "backoff",
};
static_assert(ARRAY_LEN(error_names) == ERR_COUNT, "name every error");

/* A message that filled the buffer may end inside a multi-byte character: removes the incomplete character.
 */
static void error_trim_utf8(char *msg)
{
    size_t len = strlen(msg);
    size_t back = 0;

    while (back < len && back < 3 && ((unsigned char)msg[len - 1 - back] & 0xC0) == 0x80)
        back++;
    if (back == len)
        return;
    unsigned char lead = (unsigned char)msg[len - 1 - back];
    size_t want = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
    if (back < want)
        msg[len - 1 - back] = '\0';
}

__attribute__((format(printf, 2, 0))) static void error_format(struct error *e, const char *fmt, va_list args)
{
    char text[sizeof e->msg]; /* e->msg may be among the arguments */
    int n = vsnprintf(text, sizeof text, fmt, args);

    if (n < 0)
        text[0] = '\0';
    else if ((size_t)n >= sizeof text)
        error_trim_utf8(text);
    memcpy(e->msg, text, strlen(text) + 1);
}

int error_set(struct error *e, enum err code, const char *fmt, ...)
{
    va_list args;

    assert(code > ERR_NONE);
    assert(code < ERR_COUNT);
    e->code = code;
    va_start(args, fmt);
    error_format(e, fmt, args);
    va_end(args);
    return -(int)code;
}

int error_wrap(struct error *e, const char *fmt, ...)
{
    struct error outer;
    size_t len;
    va_list args;

    assert(e->code > ERR_NONE);
    va_start(args, fmt);
    error_format(&outer, fmt, args);
    va_end(args);
    len = strlen(outer.msg);
    int n = snprintf(outer.msg + len, sizeof outer.msg - len, ": %s", e->msg);
    if (n < 0 || (size_t)n >= sizeof outer.msg - len)
        error_trim_utf8(outer.msg);
    memcpy(e->msg, outer.msg, sizeof e->msg);
    return -(int)e->code;
}

static enum err error_code_of_errno(int errnum)
{
    switch (errnum) {
    case ENOMEM:
        return ERR_NO_MEMORY;
    case ENOENT:
        return ERR_NOT_FOUND;
    case EEXIST:
        return ERR_EXISTS;
    case EACCES:
    case EPERM:
        return ERR_DENIED;
    case ETIMEDOUT:
        return ERR_TIMEOUT;
    case EBUSY:
        return ERR_BUSY;
    case ENOSYS:
    case EOPNOTSUPP:
        return ERR_UNSUPPORTED;
    case ECANCELED:
        return ERR_CANCELLED;
    default:
        return ERR_IO;
    }
}

int error_set_errno(struct error *e, int errnum, const char *fmt, ...)
{
    char text[128];
    va_list args;

    e->code = error_code_of_errno(errnum);
    va_start(args, fmt);
    error_format(e, fmt, args);
    va_end(args);
    size_t len = strlen(e->msg);
    (void)snprintf(e->msg + len, sizeof e->msg - len, ": %s",
                   strerror_r(errnum, text, sizeof text)); /* truncation is acceptable */
    return -(int)e->code;
}

int error_no_memory(struct error *e)
{
    return error_set(e, ERR_NO_MEMORY, "out of memory");
}

int error_pass(struct error *err, const struct error *from)
{
    *err = *from;
    return -(int)from->code;
}

const char *error_name(enum err code)
{
    assert(code < ERR_COUNT);
    return error_names[code];
}

bool error_is_expected(int r)
{
    return r == -ERR_OP_PENDING || r == -ERR_BACKOFF;
}

/* Collects errors in a fixed buffer; nothing is allocated. */
#include "client/error_list.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void error_list_add(struct error_list *c, const char *fmt, ...)
{
    const char *separator = c->count++ > 0 ? ", " : "";
    size_t len = strlen(c->text);
    va_list args;

    (void)snprintf(c->text + len, sizeof c->text - len, "%s", separator);
    len = strlen(c->text);
    va_start(args, fmt);
    (void)vsnprintf(c->text + len, sizeof c->text - len, fmt, args);
    va_end(args);
}

int error_list_check(const struct error_list *c, const char *prefix, struct error *err)
{
    if (c->count == 0)
        return 0;
    if (c->count == 1)
        return error_set(err, ERR_INVALID, "%s%s", prefix, c->text);
    return error_set(err, ERR_INVALID, "%s[%s]", prefix, c->text);
}

#include "sim/rule.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* "pod p1 of 0a1b-2c" -> "pod # of #" */
static void generalize(const char *text, char *ret, size_t bytes)
{
    static const char blanks[] = " ,;:@'\"()";
    size_t at = 0;

    while (*text && at + 1 < bytes) {
        size_t len = strcspn(text, blanks), digits = strcspn(text, "0123456789");
        struct str word = digits < len ? STR_LIT("#") : (struct str){ text, len };

        at += (size_t)snprintf(ret + at, bytes - at, "%.*s", STR_ARG(word));
        text += len;
        if (*text && at + 1 < bytes)
            ret[at++] = *text++;
    }
    ret[at < bytes ? at : bytes - 1] = '\0';
}

/* What ": %s" at the end of the format stood for; NULL: it has none. */
static const char *tail_of(const char *fmt, const char *text)
{
    if (strcmp(fmt, "%s") == 0)
        return text;
    if (!str_has_suffix(str_of(fmt), ": %s"))
        return NULL;
    /* As many colons stand before it in the message as in the format: names have none. */
    for (const char *c = fmt; (c = strstr(c, ": ")); c += 2) {
        text = strstr(text, ": ");
        if (!text)
            return NULL;
        text += 2;
    }
    return text;
}

void rule_of_failure(const char *fmt, const char *text, char *ret, size_t bytes)
{
    const char *tail = tail_of(fmt, text);
    size_t at = (size_t)snprintf(ret, bytes, "%s", fmt);

    if (!tail || at >= bytes)
        return;
    at -= strlen("%s");
    generalize(tail, ret + at, bytes - at);
}

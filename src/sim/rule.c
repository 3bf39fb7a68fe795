/* The identity of an invariant, computed from the message of its violation.
 *
 * Names and numbers of a message come from its format, so the format is the identity. Where the format ends
 * with ": %s", the text behind it comes from elsewhere: words with a digit are masked there, because names of
 * objects have digits in every scenario. */
#include "sim/rule.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* "pod p1 of 0a1b-2c" -> "pod # of #" */
static void rule_mask_numbers(const char *text, char *ret, size_t bytes)
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

/* The text that ": %s" at the end of the format was replaced by; NULL if the format does not end with it. */
static const char *find_tail(const char *fmt, const char *text)
{
    if (strcmp(fmt, "%s") == 0)
        return text;
    if (!str_has_suffix(str_of(fmt), ": %s"))
        return NULL;
    /* Names have no colons: the message has as many before that text as the format. */
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
    const char *tail = find_tail(fmt, text);
    size_t at = (size_t)snprintf(ret, bytes, "%s", fmt);

    if (!tail || at >= bytes)
        return;
    at -= strlen("%s");
    rule_mask_numbers(tail, ret + at, bytes - at);
}

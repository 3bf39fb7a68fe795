/* Reads one member from the canonical JSON text of an object without parsing all of it.
 *
 * The text is trusted: well-formed, without blanks between tokens. Nothing is allocated. */
#include "machinery/json_peek.h"

#include <stdbool.h>
#include <string.h>

/* A place in a canonical text: no blanks between tokens, well-formed. */
struct walk {
    const char *at;
    const char *end;
};

static void walk_step(struct walk *w)
{
    w->at += w->at < w->end;
}

/* A quote after an odd number of backslashes belongs to the string. */
static bool is_escaped(const char *quote, const char *from)
{
    const char *at = quote;

    while (at > from && at[-1] == '\\')
        at--;
    return (quote - at) % 2 != 0;
}

/* Skips a string and returns the text between its quotes, with escapes. */
static struct str walk_string(struct walk *w)
{
    const char *from = ++w->at, *quote = from;

    while ((quote = memchr(quote, '"', (size_t)(w->end - quote))) && is_escaped(quote, from))
        quote++;
    w->at = quote ? quote + 1 : w->end;
    return (struct str){ from, quote ? (size_t)(quote - from) : 0 };
}

/* Skips any value. */
static void walk_value(struct walk *w)
{
    size_t depth = 0;

    while (w->at < w->end) {
        char c = *w->at;

        if (depth == 0 && (c == ',' || c == '}' || c == ']'))
            return;
        if (c == '"') {
            (void)walk_string(w);
            continue;
        }
        if (c == '{' || c == '[')
            depth++;
        else if (c == '}' || c == ']')
            depth--;
        w->at++;
    }
}

/* From the brace of an object to the value of a member; false if it does not exist. */
static bool walk_to_member(struct walk *w, const char *key)
{
    if (w->at >= w->end || *w->at != '{')
        return false;
    w->at++;
    while (w->at < w->end && *w->at == '"') {
        struct str name = walk_string(w);

        walk_step(w); /* the colon */
        if (str_is(name, key))
            return true;
        walk_value(w);
        walk_step(w); /* the comma */
    }
    return false;
}

struct str json_peek_path(struct str object, const char *const *keys)
{
    struct walk w = { object.s, object.s + object.len };
    const char *from;

    for (; *keys; keys++)
        if (!walk_to_member(&w, *keys))
            return STR_LIT("");
    from = w.at;
    walk_value(&w);
    return (struct str){ from, (size_t)(w.at - from) };
}

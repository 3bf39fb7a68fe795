/* Versions of objects: opaque to all but this file.
 *
 * A version is read off the object's canonical text instead of its int64_t view: other servers may have
 * longer numbers, or no numbers. `kind`, `apiVersion` and a few short members stand before it, so that the
 * walk is some hundred bytes long. */
#include "machinery/informer.h"

#include <assert.h>

/* A place in a canonical text: no blanks between tokens, well-formed. */
struct walk {
    const char *at;
    const char *end;
};

/* Steps over a string and returns what is between its quotes, escapes and all. */
static struct str walk_string(struct walk *w)
{
    const char *from = ++w->at;

    while (w->at < w->end && *w->at != '"')
        w->at += *w->at == '\\' ? 2 : 1;
    if (w->at >= w->end)
        return (struct str){ from, 0 };
    return (struct str){ from, (size_t)(w->at++ - from) };
}

/* Steps over any value. */
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

/* From the brace of an object to the value of its member; false when there is none. */
static bool walk_to_member(struct walk *w, const char *key)
{
    if (w->at >= w->end || *w->at != '{')
        return false;
    w->at++;
    while (w->at < w->end && *w->at == '"') {
        struct str name = walk_string(w);

        w->at++; /* the colon */
        if (str_is(name, key))
            return true;
        walk_value(w);
        w->at++; /* the comma */
    }
    return false;
}

struct str object_version(const struct object *o)
{
    struct walk w = { o->text.s, o->text.s + o->text.len };

    if (!walk_to_member(&w, "metadata") || !walk_to_member(&w, "resourceVersion") || w.at >= w.end ||
        *w.at != '"')
        return STR_LIT("");
    return walk_string(&w);
}

static bool version_is_number(struct str v)
{
    if (v.len == 0 || (v.s[0] == '0' && v.len > 1))
        return false;
    for (size_t i = 0; i < v.len; i++)
        if (v.s[i] < '0' || v.s[i] > '9')
            return false;
    return true;
}

int version_cmp(struct str a, struct str b)
{
    int c;

    if (str_eq(a, b))
        return 0;
    if (!version_is_number(a) || !version_is_number(b))
        return VERSION_UNORDERED;
    if (a.len != b.len)
        return a.len < b.len ? -1 : 1;
    c = memcmp(a.s, b.s, a.len);
    assert(c != 0);
    return c < 0 ? -1 : 1;
}

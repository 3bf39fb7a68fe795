/* resourceVersions of objects: opaque to all other files.
 *
 * A version is read from the object's canonical text instead of its int64_t field, because other servers may
 * have longer numbers or no numbers. Only `kind`, `apiVersion` and a few short members precede it, so that a
 * lookup reads about a hundred bytes. */
#include "machinery/informer.h"

#include <assert.h>

#include "machinery/json_peek.h"

struct str object_version(const struct object *o)
{
    struct str raw = json_peek(o->text, "metadata", "resourceVersion");

    if (raw.len < 2 || raw.s[0] != '"')
        return STR_LIT("");
    return (struct str){ raw.s + 1, raw.len - 2 };
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

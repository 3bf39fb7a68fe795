/* Versions of objects: opaque to all but this file.
 *
 * A version is read off the object's canonical text instead of its int64_t view: other servers may have
 * longer numbers, or no numbers. `kind`, `apiVersion` and a few short members stand before it, so that the
 * walk is some hundred bytes long. */
#include "machinery/informer.h"

#include <assert.h>

#include "machinery/raw.h"

struct str object_version(const struct object *o)
{
    struct str raw = raw_get(o->text, "metadata", "resourceVersion");

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

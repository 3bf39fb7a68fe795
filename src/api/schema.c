#include "api/schema.h"

const struct field *schema_field(const struct schema *s, struct str name)
{
    for (const struct field *f = s->fields; f->name && name.len; f++)
        if (f->name[0] == name.s[0] && str_is(name, f->name))
            return f;
    return NULL;
}

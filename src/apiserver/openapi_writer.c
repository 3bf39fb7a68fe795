/* The words of OpenAPI documents: references to schemas and names of kinds. */
#include "apiserver/openapi_int.h"

#include <stdio.h>

void writer_open_schema(struct writer *w, const char *package, const char *name, const char *suffix)
{
    char key[OPENAPI_NAME_BYTES_MAX];

    (void)snprintf(key, sizeof key, "%s.%s%s", package, name, suffix); /* names in the tables are shorter */
    json_out_object(w->out, key);
}

void writer_ref(struct writer *w, const char *package, const char *name, const char *suffix)
{
    json_out_textf(w->out, "$ref", "#/%s/%s.%s%s",
                   w->dialect == OPENAPI_V3 ? "components/schemas" : "definitions", package, name, suffix);
}

void writer_gvk(struct writer *w, const char *key, const char *group, const char *version, const char *kind,
                const char *suffix)
{
    json_out_object(w->out, key);
    json_out_text(w->out, "group", group);
    json_out_text(w->out, "version", version);
    json_out_textf(w->out, "kind", "%s%s", kind, suffix);
    json_out_end_object(w->out);
}

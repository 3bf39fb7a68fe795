/* Compares the head of a request, as received, with the headers that the library parsed from it. Reads only
 * within the head, in one pass. */
#include "http/head.h"

#include <string.h>

/* The first version in which MHD_OPTION_STRICT_FOR_CLIENT refuses such heads. */
#define STRICT_LIBRARY "0.9.76"

struct head_walk {
    const char *at;  /* after the last valid line; NULL: a line was invalid */
    const char *end; /* of the head, after its empty line */
};

bool http_head_library_is_strict(void)
{
    return strverscmp(MHD_get_version(), STRICT_LIBRARY) >= 0;
}

/* Skips the CR and LF at `at`, which the library has replaced by NULs; NULL when there are none. */
static const char *skip_line_end(const char *at, const char *end)
{
    return end - at >= 2 && at[0] == '\0' && at[1] == '\0' ? at + 2 : NULL;
}

static bool value_is_clean(const char *value, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (((unsigned char)value[i] < ' ' && value[i] != '\t') || value[i] == 0x7f)
            return false;
    return true;
}

/* The line must begin where the last one ended. Nothing is read outside the head. */
static const char *walk_line(const struct head_walk *w, const char *name, size_t name_len, const char *value,
                             size_t value_len)
{
    const char *at = w->at;

    if (name != at || (size_t)(w->end - at) <= name_len)
        return NULL;
    at += name_len + 1; /* and the colon */
    while (at < w->end && (*at == ' ' || *at == '\t'))
        at++;
    if (value != at || (size_t)(w->end - at) < value_len || !value_is_clean(value, value_len))
        return NULL;
    return skip_line_end(at + value_len, w->end);
}

static enum MHD_Result visit_line(void *ctx, enum MHD_ValueKind kind, const char *name, size_t name_len,
                                  const char *value, size_t value_len)
{
    struct head_walk *w = ctx;

    (void)kind;
    w->at = walk_line(w, name, name_len, value, value_len);
    return w->at ? MHD_YES : MHD_NO;
}

bool http_head_is_clean(struct MHD_Connection *mhd, const char *method, const char *version)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    struct head_walk w = { .end = method + info->header_size };

    if (http_head_library_is_strict())
        return true;
    w.at = skip_line_end(version + strlen(version), w.end);
    if (w.at)
        (void)MHD_get_connection_values_n(mhd, MHD_HEADER_KIND, visit_line, &w);
    return w.at && skip_line_end(w.at, w.end) == w.end;
}

/* Writes PartialObjectMetadata by cutting the metadata out of an object's text, without parsing it. */
#include "apiserver/partial.h"

#include "api/json_out.h"

#include <string.h>

/* The scanner assumes valid JSON, which an object's text is, and only finds where values end. It never reads
 * past the text, whatever it contains. */

/* The end of the string that begins at `at`: after the first quote that is not escaped. Most of a text is in
 * strings, so memchr() skips them; each run of backslashes is counted once. */
static size_t string_end(struct str t, size_t at)
{
    const char *first = t.s + at + 1, *end = t.s + t.len, *from = first;

    while (from < end) {
        const char *quote = memchr(from, '"', (size_t)(end - from)), *run = quote;

        if (!quote)
            break;
        while (run > first && run[-1] == '\\')
            run--;
        if ((quote - run) % 2 == 0)
            return (size_t)(quote - t.s) + 1;
        from = quote + 1;
    }
    return t.len;
}

/* The end of the value that begins at `at`: the comma or bracket after it. */
static size_t value_end(struct str t, size_t at)
{
    size_t depth = 0;

    while (at < t.len) {
        switch (t.s[at]) {
        case '"':
            at = string_end(t, at);
            continue;
        case '{':
        case '[':
            depth++;
            break;
        case '}':
        case ']':
            if (depth == 0)
                return at;
            depth--;
            break;
        case ',':
            if (depth == 0)
                return at;
            break;
        default:
            break;
        }
        at++;
    }
    return t.len;
}

/* The text of metadata; it follows kind and apiVersion, or is first if those are missing. */
static struct str metadata_of(struct str t)
{
    static const char key[] = "\"metadata\"";
    size_t at = 1;

    while (at < t.len && t.s[at] == '"') {
        size_t key_end = string_end(t, at), end = value_end(t, key_end + 1);

        if (key_end >= t.len)
            break;
        if (str_eq((struct str){ t.s + at, key_end - at }, STR_LIT(key)))
            return (struct str){ t.s + key_end + 1, end - key_end - 1 };
        at = end + 1;
    }
    return STR_LIT("{}");
}

void partial_write(const struct object *o, const char *version, struct buf *out)
{
    json_out_object(out, NULL);
    json_out_text(out, "kind", "PartialObjectMetadata");
    json_out_textf(out, "apiVersion", "meta.k8s.io/%s", version);
    json_out_raw(out, "metadata", metadata_of(o->text));
    json_out_end_object(out);
}

void partial_write_list_begin(const struct list_meta *meta, const char *version, struct buf *out)
{
    json_out_object(out, NULL);
    json_out_text(out, "kind", "PartialObjectMetadataList");
    json_out_textf(out, "apiVersion", "meta.k8s.io/%s", version);
    list_write_meta(meta, out);
    json_out_array(out, "items");
}

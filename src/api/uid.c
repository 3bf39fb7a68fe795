/* Creates and parses uids, resource versions and generated names. Pure: the caller passes the random bytes.
 */
#include "api/uid.h"

#include <assert.h>
#include <stdio.h>

#include "api/quote.h"

#define GENERATED_PREFIX_BYTES_MAX 58

static_assert(GENERATED_NAME_BYTES == GENERATED_PREFIX_BYTES_MAX + NAME_SUFFIX_CHARS + 1,
              "prefix, suffix, NUL");

/* True if a uid has a dash at this position. */
static bool uid_has_dash(size_t at)
{
    return at == 8 || at == 13 || at == 18 || at == 23;
}

void uid_make(const uint8_t random[UID_RANDOM_BYTES], char ret[UID_BYTES])
{
    static const char hex[] = "0123456789abcdef";
    uint8_t bytes[UID_RANDOM_BYTES];
    size_t nibble = 0;

    memcpy(bytes, random, sizeof bytes);
    bytes[6] = (uint8_t)((bytes[6] & 0x0F) | 0x40); /* version 4: random */
    bytes[8] = (uint8_t)((bytes[8] & 0x3F) | 0x80); /* the variant of RFC 4122 */
    for (size_t at = 0; at < UID_BYTES - 1; at++) {
        if (uid_has_dash(at)) {
            ret[at] = '-';
            continue;
        }
        uint8_t byte = bytes[nibble / 2];
        ret[at] = hex[nibble % 2 ? byte & 0x0F : byte >> 4];
        nibble++;
    }
    ret[UID_BYTES - 1] = '\0';
}

bool uid_is_valid(struct str uid)
{
    if (uid.len != UID_BYTES - 1)
        return false;
    for (size_t at = 0; at < uid.len; at++) {
        char c = uid.s[at];
        bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        if (uid_has_dash(at) ? c != '-' : !hex)
            return false;
    }
    return true;
}

int resource_version_parse(struct str text, int64_t *ret, struct error *err)
{
    char quoted[ERROR_MSG_BYTES_MAX];
    uint64_t value = 0;
    bool digits = true;

    if (text.len == 0) {
        *ret = RESOURCE_VERSION_UNSET;
        return 0;
    }
    if (str_to_uint64(text, &value) && value <= INT64_MAX) {
        *ret = (int64_t)value;
        return 0;
    }
    for (size_t i = 0; i < text.len; i++)
        digits = digits && text.s[i] >= '0' && text.s[i] <= '9';
    quote_text(quoted, sizeof quoted, text);
    return error_set(err, ERR_BAD_REQUEST,
                     "resourceVersion: Invalid value: %s: strconv.ParseUint: parsing %s: %s", quoted, quoted,
                     digits ? "value out of range" : "invalid syntax");
}

void resource_version_format(int64_t revision, char ret[RESOURCE_VERSION_BYTES])
{
    assert(revision > 0);
    (void)snprintf(ret, RESOURCE_VERSION_BYTES, "%lld", (long long)revision); /* at most 19 digits */
}

void generate_name(struct str prefix, uint64_t random, char ret[GENERATED_NAME_BYTES])
{
    static const char alphabet[] = "bcdfghjklmnpqrstvwxz2456789";
    size_t at = prefix.len < GENERATED_PREFIX_BYTES_MAX ? prefix.len : GENERATED_PREFIX_BYTES_MAX;

    if (at)
        memcpy(ret, prefix.s, at);
    for (size_t end = at + NAME_SUFFIX_CHARS; at < end; at++) {
        ret[at] = alphabet[random % (sizeof alphabet - 1)];
        random /= sizeof alphabet - 1;
    }
    ret[at] = '\0';
}

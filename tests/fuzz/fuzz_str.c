/* base/str.h on any bytes: what the functions say of a text must agree with what a second, slower reading
 * says. */
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/str.h"

/* A number that is accepted is the number that its digits spell, and prints back as itself without leading
 * zeros; one that is refused leaves the output alone. */
static void check_numbers(struct str s)
{
    char text[64], printed[64];
    int64_t value = 42;
    bool plain = s.len > 0 && s.len < sizeof text;

    if (!str_to_int64(s, &value)) {
        FUZZ_CHECK(value == 42);
        return;
    }
    if (!plain)
        return; /* hundreds of leading zeros: valid, and too long to say it again */
    memcpy(text, s.s, s.len);
    text[s.len] = '\0';
    errno = 0;
    FUZZ_CHECK(strtoll(text, NULL, 10) == value);
    FUZZ_CHECK(errno == 0);
    snprintf(printed, sizeof printed, "%" PRId64, value);
    FUZZ_CHECK(str_to_int64(str_of(printed), &value));
    FUZZ_CHECK(strtoll(text, NULL, 10) == value);
}

/* The parts and the separators between them are the whole text, in order, and no part holds a separator. */
static void check_split(struct str s, char sep)
{
    struct str rest = s;
    size_t at = 0;

    while (rest.s) {
        struct str part = str_next(&rest, sep);
        FUZZ_CHECK(part.s == s.s + at);
        FUZZ_CHECK(part.len == 0 || !memchr(part.s, sep, part.len));
        at += part.len;
        if (rest.s)
            FUZZ_CHECK(s.s[at++] == sep);
    }
    FUZZ_CHECK(at == s.len);
}

/* Decodes one character the long way round: 0 when there is none, else its length. */
static size_t utf8_decode(const unsigned char *s, size_t len)
{
    static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t n = s[0] < 0x80 ? 1 : (s[0] >> 5) == 6 ? 2 : (s[0] >> 4) == 14 ? 3 : (s[0] >> 3) == 30 ? 4 : 0;
    uint32_t point;

    if (n == 0 || n > len)
        return 0;
    if (n == 1)
        return 1;
    point = s[0] & (0x7Fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((s[i] >> 6) != 2)
            return 0;
        point = point << 6 | (s[i] & 0x3Fu);
    }
    if (point < smallest[n] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF))
        return 0;
    return n;
}

static void check_utf8(struct str s)
{
    size_t at = 0;

    while (at < s.len) {
        size_t n = utf8_decode((const unsigned char *)s.s + at, s.len - at);
        if (n == 0)
            break;
        at += n;
    }
    FUZZ_CHECK(str_is_utf8(s) == (at == s.len));
}

static void check_trim(struct str s)
{
    struct str trimmed = str_trim(s);

    FUZZ_CHECK(trimmed.len <= s.len);
    FUZZ_CHECK(str_eq(str_trim(trimmed), trimmed));
    FUZZ_CHECK((str_cmp(trimmed, s) == 0) == (trimmed.len == s.len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str s = { (const char *)data, size };

    check_numbers(s);
    check_utf8(s);
    check_trim(s);
    check_split(s, ',');
    check_split(s, size ? (char)data[size - 1] : '\0');
    return 0;
}

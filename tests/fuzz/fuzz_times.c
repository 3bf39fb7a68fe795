/* Times on any bytes: one that parses is written in the form of the API, and that text is the same second
 * (the same microsecond) again. */
#include "tests/fuzz/fuzz.h"

#include "api/times.h"
#include "base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(64), micro = BUF_INIT(64), age = BUF_INIT(64),
                                     again = BUF_INIT(64);
    struct timestamp t, from_text, from_micro;
    struct error err;

    if (timestamp_parse((struct str){ size ? (const char *)data : "", size }, &t, &err) < 0) {
        FUZZ_CHECK(err.code == ERR_BAD_REQUEST);
        return 0;
    }
    FUZZ_CHECK(t.nanos >= 0);
    FUZZ_CHECK(t.nanos < 1000000000);
    timestamp_format(t, &text);
    FUZZ_CHECK(!text.failed);
    FUZZ_CHECK(text.len == sizeof "2006-01-02T15:04:05Z" - 1);
    timestamp_format_micro(t, &micro);
    FUZZ_CHECK(!micro.failed);
    FUZZ_CHECK(micro.len == sizeof "2006-01-02T15:04:05.000000Z" - 1);
    FUZZ_CHECK(timestamp_parse(buf_str(&text), &from_text, &err) == 0);
    FUZZ_CHECK(from_text.seconds == t.seconds);
    FUZZ_CHECK(timestamp_parse(buf_str(&micro), &from_micro, &err) == 0);
    FUZZ_CHECK(from_micro.seconds == t.seconds);
    FUZZ_CHECK(from_micro.nanos == t.nanos / 1000 * 1000);
    FUZZ_CHECK(timestamp_cmp(from_text, from_micro) <= 0);
    FUZZ_CHECK(timestamp_cmp(from_micro, t) <= 0);
    timestamp_format_micro(from_micro, &again);
    FUZZ_CHECK(!again.failed);
    FUZZ_CHECK(str_eq(buf_str(&micro), buf_str(&again)));
    timestamp_age(t, (struct timestamp){ 1714557600, 500000000 }, &age);
    FUZZ_CHECK(!age.failed);
    FUZZ_CHECK(age.len > 0);
    return 0;
}

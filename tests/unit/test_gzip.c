#include "tests/unit/test.h"

#include <zlib.h>

#include "base/buf.h"
#include "base/rng.h"
#include "http/gzip.h"
#include "http/text_stream.h"

#define TEXT_MAX ((size_t)16 << 20)

TEST(accept_encoding_is_understood)
{
    static const struct {
        const char *value;
        bool is_accepted;
    } rows[] = {
        { "gzip", true },
        { "gzip, deflate, br", true },
        { "deflate,gzip", true },
        { " br ; q=1.0 , gzip ; q=0.5", true },
        { "gzip;q=0.001", true },
        { "gzip;q=1", true },
        { "gzip;x=0", true },
        { "gzip;q=0, gzip", true },
        { "", false },
        { ",", false },
        { "identity", false },
        { "gzip;q=0", false },
        { "gzip;q=0.000", false },
        { "gzip; Q = 0.0", false },
        { "gzip;x=1;q=0", false },
        { "xgzip", false },
        { "gzipx", false },
        { "*", false },
        { "deflate;gzip", false },
        { ";gzip", false },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (gzip_is_accepted(str_of(rows[i].value)) != rows[i].is_accepted)
            fail_msg("'%s': expected %d", rows[i].value, rows[i].is_accepted);
    assert_false(gzip_is_accepted((struct str){ NULL, 0 }));
}

static void pack(const struct buf *text, size_t room, struct buf *ret)
{
    struct stream *z;
    char *copy = malloc(text->len + 1);
    char to[70000];
    ssize_t n;

    assert_non_null(copy);
    memcpy(copy, buf_cstr(text), text->len);
    z = gzip_stream_new_take(text_stream_new_take(copy, text->len));
    assert_non_null(z);
    while ((n = z->pull(z, to, room)) > 0) {
        assert_true((size_t)n <= room);
        buf_add(ret, to, (size_t)n);
    }
    assert_int_equal(n, -1);
    assert_int_equal(z->pull(z, to, room), -1); /* the end stays the end */
    z->close(z);
}

static void unpack(const struct buf *packed, struct buf *ret)
{
    z_stream s = { 0 };
    char to[65536];
    int r = Z_OK;

    assert_int_equal(inflateInit2(&s, 15 + 16), Z_OK);
    s.next_in = (Bytef *)packed->data;
    s.avail_in = (unsigned)packed->len;
    while (r == Z_OK) {
        s.next_out = (Bytef *)to;
        s.avail_out = sizeof to;
        r = inflate(&s, Z_NO_FLUSH);
        buf_add(ret, to, sizeof to - s.avail_out);
    }
    assert_int_equal(r, Z_STREAM_END);
    assert_int_equal(s.avail_in, 0);
    assert_int_equal(inflateEnd(&s), Z_OK);
}

static void check(const struct buf *text, size_t room, size_t packed_max)
{
    struct buf packed = BUF_INIT(TEXT_MAX);
    struct buf back = BUF_INIT(TEXT_MAX);

    pack(text, room, &packed);
    assert_true(packed.len <= packed_max);
    unpack(&packed, &back);
    assert_int_equal(back.failed, ERR_NONE);
    assert_true(str_eq(buf_str(text), buf_str(&back)));
    buf_done(&packed);
    buf_done(&back);
}

TEST(what_was_packed_unpacks)
{
    static const size_t rooms[] = { 1, 7, 1000, 70000 };
    struct buf text = BUF_INIT(TEXT_MAX);

    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        buf_clear(&text);
        check(&text, rooms[i], 20);
        buf_add_cstr(&text, "x");
        check(&text, rooms[i], 30);
        for (unsigned n = 0; n < 20000; n++)
            buf_addf(&text, "{\"name\":\"claim-%u\",\"phase\":\"Bound\"}", n);
        check(&text, rooms[i], text.len / 5);
    }
    buf_done(&text);
}

TEST(what_does_not_shrink_unpacks_too)
{
    struct buf text = BUF_INIT(TEXT_MAX);
    struct rng rng;

    rng_init(&rng, 7);
    for (unsigned n = 0; n < 100000; n++) {
        uint64_t v = rng_u64(&rng);
        buf_add(&text, &v, sizeof v);
    }
    check(&text, 70000, text.len + text.len / 100);
    buf_done(&text);
}

TEST(an_unfinished_one_is_released)
{
    struct stream *z = gzip_stream_new_take(text_stream_new_take(calloc(1, 1000000), 1000000));
    char to[16];

    assert_non_null(z);
    assert_true(z->held(z) >= 1000000);
    assert_true(z->pull(z, to, sizeof to) > 0);
    z->close(z);
}

TEST_MAIN()

/* Which Kubernetes a server says it is. */
#include "tests/unit/test.h"

#include "base/cleanup.h"
#include "machinery/server_version.h"

TEST(versions_that_are_read)
{
    static const struct {
        const char *text;
        int major, minor;
        bool streams_lists;
        bool has_unused, is_berth;
    } rows[] = {
        { "{\"major\":\"1\",\"minor\":\"34\",\"gitVersion\":\"v1.34.0\"}", 1, 34, true },
        { "{\"major\":\"1\",\"minor\":\"33\"}", 1, 33, false },
        { "{\"major\":\"1\",\"minor\":\"34+\"}", 1, 34, true },
        { "{\"minor\":\"27-eks\",\"major\":\"1\"}", 1, 27, false },
        { "{\"major\":\"2\",\"minor\":\"0\"}", 2, 0, true, true },
        { "{\"major\":\"0\",\"minor\":\"99\"}", 0, 99, false },
        { "{\"major\":\"1\",\"minor\":\"123456789012345\"}", 1, 123456, true, true },
        { "{\"major\":\"1\",\"minor\":\"36\",\"gitVersion\":\"v1.36.4\"}", 1, 36, true },
        { "{\"major\":\"1\",\"minor\":\"37+\",\"gitVersion\":\"v1.37.0\"}", 1, 37, true, true },
        { "{\"major\":\"1\",\"minor\":\"36\",\"gitVersion\":\"v1.36.4+berth.0.1.0\"}", 1, 36, true, true,
          true },
        { "{\"major\":\"1\",\"minor\":\"30\",\"gitVersion\":\"v1.30.1+k3s1\"}", 1, 30, false },
        { "{\"major\":\"1\",\"minor\":\"30\",\"gitVersion\":{}}", 1, 30, false },
    };
    struct error err = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct server_version v = { 0 };

        ASSERT_OK(server_version_read(str_of(rows[i].text), &v, &err));
        ASSERT_INT(rows[i].major, v.major);
        ASSERT_INT(rows[i].minor, v.minor);
        ASSERT_INT(rows[i].streams_lists, server_version_streams_lists(&v));
        ASSERT_INT(rows[i].has_unused, server_version_has_unused(&v));
        ASSERT_INT(rows[i].is_berth, v.is_berth);
    }
}

TEST(our_own)
{
    struct server_version v = server_version_own(), unknown = { 0 };

    ASSERT_INT(1, v.major);
    assert_true(v.is_berth && server_version_has_unused(&v) && server_version_streams_lists(&v));
    assert_false(server_version_has_unused(&unknown));
}

TEST(texts_that_are_no_version)
{
    static const char *const rows[] = {
        "",
        "ok",
        "<html>",
        "[]",
        "{}",
        "null",
        "{\"major\":\"1\"}",
        "{\"minor\":\"34\"}",
        "{\"major\":1,\"minor\":34}x",
        "{\"major\":\"\",\"minor\":\"34\"}",
        "{\"major\":\"v1\",\"minor\":\"34\"}",
        "{\"major\":\"1\",\"minor\":\"-34\"}",
        "{\"major\":{},\"minor\":[]}",
    };
    struct error err = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct server_version v = { 7, 7, false };

        ASSERT_ERR(ERR_BAD_REQUEST, server_version_read(str_of(rows[i]), &v, &err));
        ASSERT_INT(7, v.major);
        ASSERT_INT(7, v.minor);
    }
}

TEST_MAIN()

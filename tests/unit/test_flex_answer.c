/* What drivers print: every field and default, and all that is no answer. */
#include "tests/unit/test.h"

#include "base/cleanup.h"
#include "plugins/flex/driver.h"

static struct error err;

static int read_answer(enum flex_command command, const char *text, struct flex_answer *ret)
{
    memset(ret, 0x5A, sizeof *ret);
    return flex_answer_read(command, str_of(text), ret, &err);
}

static bool can_the_same(const struct flex_capabilities *a, const struct flex_capabilities *b)
{
    return a->attaches == b->attaches && a->relabels == b->relabels && a->has_metrics == b->has_metrics &&
           a->sets_group == b->sets_group && a->needs_fs_resize == b->needs_fs_resize &&
           a->volumes_max == b->volumes_max;
}

/* plugins-48: what a driver leaves out has its default. */
TEST(flex_capabilities_have_defaults)
{
    static const struct {
        const char *answer;
        struct flex_capabilities can;
    } rows[] = {
        { "{\"status\":\"Success\"}", { true, true, false, true, true } },
        { "{\"status\":\"Success\",\"capabilities\":null}", { true, true, false, true, true } },
        { "{\"status\":\"Success\",\"capabilities\":{}}", { true, true, false, true, true } },
        { "{\"status\":\"Success\",\"capabilities\":{\"attach\":false}}",
          { false, true, false, true, true } },
        { "{\"status\":\"Success\",\"capabilities\":{\"selinuxRelabel\":false,\"supportsMetrics\":true,"
          "\"fsGroup\":false,\"requiresFSResize\":false}}",
          { true, false, true, false, false } },
        { "{\"Status\":\"Success\",\"CAPABILITIES\":{\"ATTACH\":false,\"SELinuxRelabel\":false}}",
          { false, false, false, true, true } },
        { "{\"status\":\"Success\",\"capabilities\":{\"attach\":null,\"other\":7}}",
          { true, true, false, true, true } },
        { "{\"status\":\"Success\",\"capabilities\":{\"attach\":false,\"Attach\":true}}",
          { true, true, false, true, true } },
        { "{\"status\":\"Success\",\"capabilities\":{\"maxVolumesPerNode\":8}}",
          { true, true, false, true, true, 8 } },
        { "{\"status\":\"Success\",\"capabilities\":{\"maxVolumesPerNode\":0}}",
          { true, true, false, true, true, 0 } },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct flex_answer a;
        ASSERT_OK(read_answer(FLEX_INIT, rows[i].answer, &a));
        if (!can_the_same(&a.can, &rows[i].can))
            fail_msg("row %zu: other capabilities than expected", i);
    }
}

TEST(flex_answers_hold_what_commands_use)
{
    struct flex_answer a;

    ASSERT_OK(read_answer(FLEX_ATTACH,
                          " {\"status\":\"Success\",\"device\":\"/dev/sdx\",\"volumeName\":\"v\","
                          "\"volumeNewSize\":9007199254740993,\"unknown\":[1,{}]}\n",
                          &a));
    ASSERT_STR("/dev/sdx", a.device);
    assert_false(a.is_attached);
    ASSERT_OK(
        read_answer(FLEX_IS_ATTACHED, "{\"status\":\"Success\",\"Attached\":true,\"device\":null}", &a));
    ASSERT_STR("", a.device);
    assert_true(a.is_attached);
    ASSERT_OK(read_answer(FLEX_ATTACH, "{\"DEVICE\":\"a\",\"status\":\"Success\",\"device\":\"b\"}", &a));
    ASSERT_STR("b", a.device);
}

TEST(flex_failures_read_as_the_api_has_them)
{
    static const struct {
        enum flex_command command;
        const char *answer;
        enum err code;
        const char *text;
    } rows[] = {
        { FLEX_MOUNT, "{\"status\":\"Failure\",\"message\":\"no disk\"}", ERR_IO,
          "mount command failed, status: Failure, reason: no disk" },
        { FLEX_DETACH, "{\"status\":\"Failure\"}", ERR_IO,
          "detach command failed, status: Failure, reason: " },
        { FLEX_EXPAND_FS, "{\"status\":\"Not supported\",\"message\":\"never\"}", ERR_UNSUPPORTED,
          "expandfs command failed, status: Not supported, reason: never" },
        { FLEX_INIT, "{}", ERR_IO, "init command failed, status: , reason: " },
        { FLEX_INIT, "{\"status\":\"success\"}", ERR_IO, "init command failed, status: success, reason: " },
        { FLEX_INIT, "{\"status\":\"not supported\"}", ERR_IO,
          "init command failed, status: not supported, reason: " },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct flex_answer a;
        ASSERT_ERR(rows[i].code, read_answer(rows[i].command, rows[i].answer, &a));
        ASSERT_STR(rows[i].text, err.msg);
        ASSERT_INT(0x5A, a.device[0]); /* left alone */
    }
}

TEST(flex_refuses_what_is_no_answer)
{
    static const char *const rows[] = {
        "",
        "\n",
        "ok",
        "null",
        "[]",
        "\"Success\"",
        "{\"status\":\"Success\"",
        "{\"status\":\"Success\"}{}",
        "{\"status\":\"Success\"} done",
        "+ mount -t tmpfs\n{\"status\":\"Success\"}",
        "{\"status\":1}",
        "{\"status\":[\"Success\"]}",
        "{\"status\":\"Success\",\"message\":{}}",
        "{\"status\":\"Success\",\"device\":7}",
        "{\"status\":\"Success\",\"attached\":\"true\"}",
        "{\"status\":\"Success\",\"volumeName\":true}",
        "{\"status\":\"Success\",\"volumeNewSize\":\"1\"}",
        "{\"status\":\"Success\",\"volumeNewSize\":1.5}",
        "{\"status\":\"Success\",\"capabilities\":[]}",
        "{\"status\":\"Success\",\"capabilities\":{\"maxVolumesPerNode\":-1}}",
        "{\"status\":\"Success\",\"capabilities\":{\"maxVolumesPerNode\":\"8\"}}",
        "{\"status\":\"Success\",\"capabilities\":{\"maxVolumesPerNode\":2147483648}}",
        "{\"status\":\"Success\",\"capabilities\":{\"attach\":\"no\"}}",
        "{\"status\":\"Success\",\"device\":\"/dev/\\u0000x\"}",
        "{\"status\":\"Success\",\"device\":\"\xff\"}",
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct flex_answer a;
        int r = read_answer(FLEX_WAIT_FOR_ATTACH, rows[i], &a);
        if (r != -ERR_BAD_REQUEST)
            fail_msg("row %zu: %d, %s", i, r, err.msg);
        assert_non_null(strstr(err.msg, "waitforattach command: invalid response of driver: "));
        ASSERT_INT(0x5A, a.device[0]);
    }
}

TEST(flex_devices_fit_a_path)
{
    char text[PATH_MAX + 64];
    struct flex_answer a;

    for (int len = PATH_MAX - 1; len <= PATH_MAX; len++) {
        (void)snprintf(text, sizeof text, "{\"status\":\"Success\",\"device\":\"%0*d\"}", len, 0);
        if (len < PATH_MAX)
            ASSERT_OK(read_answer(FLEX_ATTACH, text, &a));
        else
            ASSERT_ERR(ERR_BAD_REQUEST, read_answer(FLEX_ATTACH, text, &a));
    }
}

TEST_MAIN()

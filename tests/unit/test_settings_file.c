/* Files of settings of the four programs: what each takes, and the words for what it does not. */
#include "tests/unit/test_io.h"

#include "cli/cli.h"
#include "cli/program.h"
#include "io/file.h"

const struct cli_verb *const cli_verbs[] = { NULL };

static const struct {
    const struct daemon_program *program;
    const struct cli_verb *verb;
} rows[] = {
    { &daemon_serve, &cli_verb_serve },
    { &daemon_controllers, &cli_verb_controllers },
    { &daemon_scheduler, &cli_verb_scheduler },
    { &daemon_node, &cli_verb_node },
};

/* Reads the text as a file of the row's program; the words of an error have FILE for its path. */
static int read_text(size_t row, const char *text, struct json *doc, struct daemon_settings *s,
                     char *ret_words, size_t ret_bytes)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct error err = { 0 };
    char prefix[PATH_MAX + 32];
    int r;

    put_file(in_dir(&d, "berth.conf"), text);
    json_clear(doc);
    r = program_read_file(doc, in_dir(&d, "berth.conf"), rows[row].program, rows[row].verb->flags, s, &err);
    (void)snprintf(prefix, sizeof prefix, "settings in '%s': ", in_dir(&d, "berth.conf"));
    if (r < 0)
        assert_memory_equal(err.msg, prefix, strlen(prefix));
    (void)snprintf(ret_words, ret_bytes, "%s", r < 0 ? err.msg + strlen(prefix) : "");
    return r;
}

TEST(every_program_takes_its_flags)
{
    struct json doc;
    char words[256];

    json_init(&doc, PROGRAM_FILE_BYTES_MAX);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct daemon_settings s = { .log_level = "warn" };

        ASSERT_INT(0, read_text(i, "log-level: debug\nlog-format: json\n", &doc, &s, words, sizeof words));
        ASSERT_STR("warn", s.log_level); /* the command line wins */
        ASSERT_STR("json", s.log_format);
        for (const struct flag *f = rows[i].verb->flags; f->name; f++) {
            char text[128];

            s = (struct daemon_settings){ 0 };
            (void)snprintf(text, sizeof text, "%s: true\n", f->name);
            ASSERT_INT(0, read_text(i, text, &doc, &s, words, sizeof words));
        }
    }
    json_done(&doc);
}

TEST(every_program_refuses_in_the_same_words)
{
    static const struct {
        const char *text;
        const char *words;
    } refused[] = {
        { "colour: red\n", "unknown setting 'colour'" },
        { "colour: {red: 1}\n", "unknown setting 'colour'" },
        { "colour:\n", "unknown setting 'colour'" },
        { "log-levl: info\n", "unknown setting 'log-levl': did you mean 'log-level'?" },
        { "log-level: [info]\n",
          "setting 'log-level' is not a single value: write a list as one comma-separated text" },
        { "log-level:\n", "setting 'log-level' is not a single value" },
        { "- log-level\n", "line 1: expected NAME: VALUE" },
    };
    struct json doc;
    char words[256];

    json_init(&doc, PROGRAM_FILE_BYTES_MAX);
    for (size_t i = 0; i < ARRAY_LEN(rows) * ARRAY_LEN(refused); i++) {
        struct daemon_settings s = { 0 };
        size_t row = i / ARRAY_LEN(refused), text = i % ARRAY_LEN(refused);

        assert_true(read_text(row, refused[text].text, &doc, &s, words, sizeof words) < 0);
        ASSERT_STR(refused[text].words, words);
    }
    json_done(&doc);
}

TEST(sections_of_components_that_do_not_run)
{
    struct json doc;
    char words[256];

    json_init(&doc, PROGRAM_FILE_BYTES_MAX);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct daemon_settings s = { 0 };
        bool is_taken = rows[i].program->parts & DAEMON_CONTROLLERS;
        int r = read_text(i, "provisioners: {nfsSubdir: [{name: a/b, server: s, path: /p}]}\n", &doc, &s,
                          words, sizeof words);

        ASSERT_INT(is_taken, r == 0);
        ASSERT_INT(is_taken, s.provisioners.nfs_count);
        ASSERT_STR(is_taken ? "" : "unknown setting 'provisioners'", words);
        daemon_settings_done(&s);
    }
    json_done(&doc);
}

/* --- The section csi --- */

TEST(csi_drivers)
{
    static const char text[] = "csi:\n"
                               "  controllers: 'off'\n"
                               "  drivers:\n"
                               "    a.csi: {controller: off, socket: unix:///run//a.sock, timeout: 1m30s}\n"
                               "    b.csi:\n"
                               "      endpoint: /run/b.sock\n"
                               "      immediateTopology: false\n"
                               "      strictTopology: true\n"
                               "      defaultFsType: xfs\n"
                               "      creations: 7\n";
    struct json doc;
    char words[256];

    json_init(&doc, PROGRAM_FILE_BYTES_MAX);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct daemon_settings s = { 0 };
        bool is_taken = rows[i].program->parts & (DAEMON_CSI | DAEMON_NODE);
        const struct csi_driver_settings *a = &s.csi.drivers[0], *b = &s.csi.drivers[1];

        ASSERT_INT(is_taken, read_text(i, text, &doc, &s, words, sizeof words) == 0);
        ASSERT_STR(is_taken ? "" : "unknown setting 'csi'", words);
        if (!is_taken)
            continue;
        assert_true(s.csi.is_off);
        ASSERT_INT(2, s.csi.drivers_count);
        ASSERT_STR("a.csi", a->name);
        assert_true(a->is_off);
        ASSERT_STR("/run/a.sock", a->socket);
        assert_null(a->endpoint);
        assert_int_equal(a->timeout_ns, 90 * NS_PER_S);
        assert_false(a->has_no_immediate_topology);
        assert_false(b->is_off);
        assert_true(b->has_no_immediate_topology && b->has_strict_topology);
        ASSERT_STR("xfs", b->default_fs_type);
        ASSERT_INT(7, b->creates_max);
        ASSERT_INT(1, s.csi.configured_count);
        ASSERT_STR("b.csi", s.csi.configured[0].driver);
        ASSERT_STR("/run/b.sock", s.csi.configured[0].socket);
        assert_true(csi_settings_have_sockets(&s.csi));
        daemon_settings_done(&s);
    }
    json_done(&doc);
}

TEST(csi_settings_that_are_wrong)
{
    static const struct {
        const char *text;
        const char *words;
    } refused[] = {
        { "csi: on\n", "csi: must be a map of settings" },
        { "csi: {controllers: yes}\n", "csi.controllers: must be a string" },
        { "csi: {controllers: none}\n", "csi.controllers: must be auto or off" },
        { "csi: {driver: {}}\n", "csi.driver: unknown setting" },
        { "csi: {drivers: []}\n", "csi.drivers: must be a map of settings" },
        { "csi: {drivers: {a: 1}}\n", "csi.drivers.a: must be a map of settings" },
        { "csi: {drivers: {a: {b: 1}}}\n", "csi.drivers.a.b: unknown setting" },
        { "csi: {drivers: {a: {timeout: 10}}}\n", "csi.drivers.a.timeout: must be a string" },
        { "csi: {drivers: {a: {timeout: ten}}}\n",
          "csi.drivers.a.timeout: must be a duration such as 5m or 1h30m" },
        { "csi: {drivers: {a: {socket: tcp://x}}}\n",
          "csi.drivers.a.socket: must be the URL or the path of a socket, such as unix:///csi/csi.sock" },
        { "csi: {drivers: {a: {creations: 0}}}\n",
          "csi.drivers.a.creations: must be a number from 1 to 1000" },
        { "csi: {drivers: {a: {calls: many}}}\n", "csi.drivers.a.calls: must be a number from 1 to 1000" },
        { "csi: {drivers: {a: {capacity: 1}}}\n", "csi.drivers.a.capacity: must be true or false" },
    };
    struct json doc;
    char words[256];

    json_init(&doc, PROGRAM_FILE_BYTES_MAX);
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        struct daemon_settings s = { 0 };

        assert_true(read_text(/* row= */ 0, refused[i].text, &doc, &s, words, sizeof words) < 0);
        ASSERT_STR(refused[i].words, words);
        daemon_settings_done(&s);
    }
    json_done(&doc);
}

TEST_MAIN()

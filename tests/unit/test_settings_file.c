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

TEST_MAIN()

/* What people type: types and names, flags with and without letters, spans of time; and orders for their
 * eyes. */
#include "tests/unit/test.h"

#include <stddef.h>

#include "base/cleanup.h"
#include "cli/await.h"
#include "cli/cli.h"
#include "cli/flags.h"
#include "cli/resources.h"
#include "cli/sort.h"

static struct error err;

const struct cli_verb *const cli_verbs[] = { NULL };

/* --- Types and names --- */

TEST(types)
{
    static const struct {
        const char *word;
        int kind; /* -1: none */
    } rows[] = {
        { "pv", KIND_VOLUME },
        { "PersistentVolume", KIND_VOLUME },
        { "persistentvolumes", KIND_VOLUME },
        { "PVC", KIND_CLAIM },
        { "sc", KIND_CLASS },
        { "storageclasses.storage.k8s.io", KIND_CLASS },
        { "storageclass.v1.storage.k8s.io", KIND_CLASS },
        { "events", KIND_EVENT },
        { "events.events.k8s.io", KIND_EVENT_V1 },
        { "events.v1.events.k8s.io", KIND_EVENT_V1 },
        { "pods.v1", KIND_POD },
        { "pods.v2", -1 },
        { "pods.apps", -1 },
        { "storageclasses.storage", -1 },
        { "pv.", -1 },
        { ".", -1 },
        { "", -1 },
        { "deployments", -1 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct kind_info *k = resource_type(str_of(rows[i].word));

        if ((k ? (int)k->kind : -1) != rows[i].kind)
            fail_msg("%s: %s", rows[i].word, k ? k->name : "none");
    }
}

static int read_words(struct resources *r, const char *words)
{
    static char text[256];
    char *argv[16];
    int argc = 0;
    struct str rest = str_of(words);

    *r = (struct resources){ 0 };
    (void)snprintf(text, sizeof text, "%s", words);
    while (rest.s && rest.len) {
        struct str word = str_next(&rest, ' ');

        argv[argc++] = text + (word.s - words);
        text[word.s - words + (ptrdiff_t)word.len] = '\0';
    }
    return resources_read(argc, argv, r, &err);
}

TEST(resources)
{
    static struct resources r;

    ASSERT_OK(read_words(&r, "pv"));
    ASSERT_INT(1, r.count);
    assert_null(r.items[0].name);
    assert_false(r.has_names || r.has_several_types);

    ASSERT_OK(read_words(&r, "pv a b"));
    ASSERT_INT(2, r.count);
    ASSERT_STR("b", r.items[1].name);
    assert_true(r.has_names && !r.has_several_types && !r.has_pairs);

    ASSERT_OK(read_words(&r, "pv,pvc a"));
    ASSERT_INT(2, r.count);
    ASSERT_INT(KIND_CLAIM, r.items[1].kind->kind);
    ASSERT_STR("a", r.items[1].name);
    assert_true(r.has_several_types);

    ASSERT_OK(read_words(&r, "pv/a pv/b"));
    assert_true(r.has_pairs && !r.has_several_types);
    ASSERT_OK(read_words(&r, "pv/a pvc/b"));
    assert_true(r.has_several_types);

    ASSERT_OK(read_words(&r, "all"));
    ASSERT_INT(KIND_POD, r.items[0].kind->kind);
    ASSERT_OK(read_words(&r, ""));
    ASSERT_INT(0, r.count);
}

TEST(refused_resources)
{
    static struct resources r;

    ASSERT_ERR(ERR_NOT_FOUND, read_words(&r, "nonsense"));
    ASSERT_STR("the server doesn't have a resource type \"nonsense\"", err.msg);
    ASSERT_ERR(ERR_NOT_FOUND, read_words(&r, "pv,nonsense x"));
    ASSERT_ERR(ERR_NOT_FOUND, read_words(&r, "nonsense/x"));
    ASSERT_ERR(ERR_INVALID, read_words(&r, "pv/a b"));
    ASSERT_ERR(ERR_INVALID, read_words(&r, "pv/"));
    ASSERT_ERR(ERR_INVALID, read_words(&r, "/a"));
    ASSERT_ERR(ERR_INVALID, read_words(&r, "pv/a/b"));
}

TEST(resources_are_bounded)
{
    static char *argv[RESOURCES_MAX + 2], type[] = "pv", name[] = "x";
    static struct resources r;

    argv[0] = type;
    for (size_t i = 1; i < ARRAY_LEN(argv); i++)
        argv[i] = name;
    ASSERT_OK(resources_read(RESOURCES_MAX + 1, argv, &r, &err));
    ASSERT_ERR(ERR_TOO_LARGE, resources_read(RESOURCES_MAX + 2, argv, &r, &err));
}

/* --- Flags --- */

struct settings {
    const char *ns, *output, *way, *dir;
    bool is_watch, is_everywhere;
    struct flag_values files;
};

static const struct flag flags[] = {
    FLAG_SHORT(struct settings, ns, 'n', "namespace", "NS", ""),
    FLAG_SHORT(struct settings, output, 'o', "output", "FORM", ""),
    FLAG_SHORT_ON(struct settings, is_watch, 'w', "watch", ""),
    FLAG_SHORT_ON(struct settings, is_everywhere, 'A', "all-namespaces", ""),
    FLAG_MANY(struct settings, files, 'f', "filename", "FILE", ""),
    FLAG_MAY_STAND_ALONE(struct settings, way, "dry-run", "WAY", "client", ""),
    { .name = "dir",
      .aliases = { "folder", "old-folder" },
      .type = FLAG_TEXT,
      .value = "DIR",
      .help = "",
      .offset = offsetof(struct settings, dir) },
    { 0 },
};
static const struct cli_verb verb = { .name = "verb", .flags = flags };

/* The arguments end with NULL. Returns the status; -1 - N for N arguments that are no flags. */
static int parse(struct settings *s, const char *const *words)
{
    char *argv[16] = { (char[]){ "verb" } };
    int argc = 1, args = 0, status;

    *s = (struct settings){ 0 };
    for (; words[argc - 1]; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc - 1];
    status = flags_parse(&verb, argc, argv, s, &args);
    return status == CLI_OK ? -1 - args : status;
}

#define PARSE(...) parse(&s, (const char *const[]){ __VA_ARGS__, NULL })

TEST(letters)
{
    struct settings s;

    ASSERT_INT(-2, PARSE("-n", "shop", "pv"));
    ASSERT_STR("shop", s.ns);
    ASSERT_INT(-1, PARSE("-nshop", "-o=yaml"));
    ASSERT_STR("shop", s.ns);
    ASSERT_STR("yaml", s.output);
    ASSERT_INT(-1, PARSE("-wA"));
    assert_true(s.is_watch && s.is_everywhere);
    ASSERT_INT(-1, PARSE("-wAnshop"));
    assert_true(s.is_watch && s.is_everywhere);
    ASSERT_STR("shop", s.ns);
    ASSERT_INT(-1, PARSE("-w=false", "-An", "shop"));
    assert_true(!s.is_watch && s.is_everywhere);
    ASSERT_STR("shop", s.ns);
    ASSERT_INT(-1, PARSE("-n="));
    ASSERT_STR("", s.ns);
    ASSERT_INT(-2, PARSE("--", "-w"));
    ASSERT_INT(CLI_USAGE, PARSE("-n"));
    ASSERT_INT(CLI_USAGE, PARSE("-wn"));
    ASSERT_INT(CLI_USAGE, PARSE("-x"));
    ASSERT_INT(CLI_USAGE, PARSE("-wx"));
    ASSERT_INT(CLI_USAGE, PARSE("-w=maybe"));
}

TEST(flags_that_come_several_times_or_stand_alone)
{
    struct settings s;

    ASSERT_INT(-1, PARSE("-f", "a", "--filename=b", "-fc"));
    ASSERT_INT(3, s.files.count);
    ASSERT_STR("c", s.files.items[2]);
    ASSERT_INT(-2, PARSE("--dry-run", "server"));
    ASSERT_STR("client", s.way);
    ASSERT_INT(-1, PARSE("--dry-run=server"));
    ASSERT_STR("server", s.way);
    ASSERT_INT(CLI_USAGE, PARSE("-f"));
}

/* An alias is the same flag: on the command line and in a file of settings. */
TEST(aliases)
{
    struct settings s;

    ASSERT_INT(-1, PARSE("--folder", "/a"));
    ASSERT_STR("/a", s.dir);
    ASSERT_INT(-1, PARSE("--dir=/a", "--old-folder=/b"));
    ASSERT_STR("/b", s.dir);
    ASSERT_INT(CLI_USAGE, PARSE("--folder"));
    ASSERT_INT(CLI_USAGE, PARSE("--old"));
    s = (struct settings){ 0 };
    ASSERT_OK(flags_set_default(flags, &s, "folder", "/c", &err));
    ASSERT_STR("/c", s.dir);
    ASSERT_OK(flags_set_default(flags, &s, "dir", "/d", &err)); /* it is set already */
    ASSERT_STR("/c", s.dir);
    ASSERT_ERR(ERR_INVALID, flags_set_default(flags, &s, "old-foldr", "/e", &err));
    ASSERT_STR("unknown setting 'old-foldr': did you mean 'old-folder'?", err.msg);
}

TEST(values_are_bounded)
{
    static char *argv[FLAG_VALUES_MAX + 2], name[] = "verb", flag[] = "-fx";
    static struct settings s;
    int args;

    argv[0] = name;
    for (size_t i = 1; i < ARRAY_LEN(argv); i++)
        argv[i] = flag;
    ASSERT_INT(CLI_USAGE, flags_parse(&verb, FLAG_VALUES_MAX + 2, argv, &s, &args));
    ASSERT_INT(FLAG_VALUES_MAX, s.files.count);
}

/* --- Time --- */

TEST(spans_of_time)
{
    static const struct {
        const char *text;
        int64_t ns;
    } rows[] = {
        { "0", 0 },
        { "0s", 0 },
        { "30s", INT64_C(30000000000) },
        { "1m30s", INT64_C(90000000000) },
        { "1.5s", 1500000000 },
        { "1h", INT64_C(3600000000000) },
        { "500ms", 500000000 },
        { "-1s", -1000000000 },
    };
    static const char *const refused[] = { "", "s", "30", "1x", "-", "1s2", "99999999999h", ".5s" };
    int64_t ns = 7;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ASSERT_OK(await_read_timeout(rows[i].text, &ns, &err));
        ASSERT_INT(rows[i].ns, ns);
    }
    ns = 7;
    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        ASSERT_ERR(ERR_INVALID, await_read_timeout(refused[i], &ns, &err));
    ASSERT_INT(7, ns);
}

/* --- Orders --- */

TEST(natural_order)
{
    static const char *const in_order[] = { "", "1", "2", "10", "a", "a1", "a2", "a10", "a10b", "b" };

    for (size_t i = 0; i < ARRAY_LEN(in_order); i++)
        for (size_t j = 0; j < ARRAY_LEN(in_order); j++) {
            int order = sort_compare_naturally(str_of(in_order[i]), str_of(in_order[j]));

            ASSERT_INT((i > j) - (i < j), (order > 0) - (order < 0));
        }
    ASSERT_INT(0, sort_compare_naturally(STR_LIT("a01"), STR_LIT("a1")));
}

TEST(sorted_by_a_field)
{
    static const char text[] = "[{\"n\":\"b\",\"s\":\"1Gi\"},{\"n\":\"a\",\"s\":\"512Mi\"},{\"n\":\"d\"},"
                               "{\"n\":\"c\",\"s\":\"1024Mi\"},{\"n\":\"e\"}]";
    json_ref list, items[5];
    struct json d;

    json_init(&d, 1 << 20);
    ASSERT_OK(json_parse(&d, str_of(text), &list, &err));
    for (uint32_t i = 0; i < 5; i++)
        items[i] = json_at(&d, list, i);
    ASSERT_OK(sort_objects(&d, items, 5, ".s", &err));
    /* without the field first; equal ones in the order they came */
    for (size_t i = 0; i < 5; i++)
        assert_true(json_is_string(&d, json_get(&d, items[i], "n"),
                                   (const char *const[]){ "d", "e", "a", "b", "c" }[i]));
    ASSERT_ERR(ERR_INVALID, sort_objects(&d, items, 5, ".nope", &err));
    ASSERT_STR("couldn't find any field with path \".nope\" in the list of objects", err.msg);
    ASSERT_ERR(ERR_INVALID, sort_objects(&d, items, 5, "", &err));
    json_done(&d);
}

TEST_MAIN()

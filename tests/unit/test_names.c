/* The rules for names and their sentences. */
#include "tests/unit/test.h"

#include "api/names.h"
#include "base/cleanup.h"

static struct error err;

#define SUBDOMAIN                                                                                         \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and " \
    "must "                                                                                               \
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "     \
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
#define LABEL                                                                                               \
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start " \
    "and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "  \
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
#define NAME_PART                                                                                  \
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "  \
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for " \
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
#define QUALIFIED                                                                                          \
    "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end "  \
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "         \
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and " \
    "'/'"                                                                                                  \
    " (e.g. 'example.com/MyName')"
#define LABEL_VALUE                                                                                      \
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and " \
    "must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', "   \
    "regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
#define CONFIG_KEY                                                                                       \
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or " \
    "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
#define LONG_63 "must be no more than 63 characters"
#define LONG_253 "must be no more than 253 characters"
#define FINALIZER "name is neither a standard finalizer name nor is it fully qualified"

/* One label of 63, 64 and 254 letters. */
static char a63[64], a64[65], a254[255], dotted253[254];
static char prefix253_name63[253 + 1 + 63 + 1], prefix254_name64[254 + 1 + 64 + 1], upper254[255];

__attribute__((constructor)) static void make_long_names(void)
{
    memset(a63, 'a', 63);
    memset(a64, 'a', 64);
    memset(a254, 'a', 254);
    memset(upper254, 'A', 254);
    memset(dotted253, 'a', 253);
    dotted253[100] = '.';
    snprintf(prefix253_name63, sizeof prefix253_name63, "%s/%s", dotted253, a63);
    snprintf(prefix254_name64, sizeof prefix254_name64, "%s/%s", a254, a64);
}

static const struct {
    enum name_rule rule;
    const char *value;
    const char *problems[NAME_PROBLEMS_MAX];
} rows[] = {
    { NAME_DNS_SUBDOMAIN, "a", { NULL } },
    { NAME_DNS_SUBDOMAIN, "pv-1.example.com", { NULL } },
    { NAME_DNS_SUBDOMAIN, "0", { NULL } },
    { NAME_DNS_SUBDOMAIN, dotted253, { NULL } },
    { NAME_DNS_SUBDOMAIN, "", { SUBDOMAIN } },
    { NAME_DNS_SUBDOMAIN, "A", { SUBDOMAIN } },
    { NAME_DNS_SUBDOMAIN, "a_b", { SUBDOMAIN } },
    { NAME_DNS_SUBDOMAIN, "-a", { SUBDOMAIN } },
    { NAME_DNS_SUBDOMAIN, "a-", { SUBDOMAIN } },
    { NAME_DNS_SUBDOMAIN, "a..b", { SUBDOMAIN } },
    { NAME_DNS_SUBDOMAIN, ".a", { SUBDOMAIN } },
    { NAME_DNS_SUBDOMAIN, "a.", { SUBDOMAIN } },
    { NAME_DNS_SUBDOMAIN, "a.-b", { SUBDOMAIN } },
    { NAME_DNS_SUBDOMAIN, "a\n", { SUBDOMAIN } },
    { NAME_DNS_SUBDOMAIN, "caf\xC3\xA9", { SUBDOMAIN } },
    { NAME_DNS_SUBDOMAIN, "a/b", { SUBDOMAIN } },
    { NAME_DNS_SUBDOMAIN, a254, { LONG_253 } },
    { NAME_DNS_SUBDOMAIN, upper254, { LONG_253, SUBDOMAIN } },
    { NAME_CLASS, "fast", { NULL } },
    { NAME_CLASS, "Fast", { SUBDOMAIN } },
    { NAME_DNS_LABEL, "default", { NULL } },
    { NAME_DNS_LABEL, a63, { NULL } },
    { NAME_DNS_LABEL, "", { LABEL } },
    { NAME_DNS_LABEL, "a.b", { "must not contain dots" } },
    { NAME_DNS_LABEL, "a.b.", { LABEL } },
    { NAME_DNS_LABEL, "Default", { LABEL } },
    { NAME_DNS_LABEL, a64, { LONG_63 } },
    { NAME_DNS_LABEL, dotted253, { LONG_63, "must not contain dots" } },
    { NAME_DNS_LABEL, upper254, { LONG_63, LABEL } },
    { NAME_QUALIFIED, "app", { NULL } },
    { NAME_QUALIFIED, "example.com/My_name.1", { NULL } },
    { NAME_QUALIFIED, a63, { NULL } },
    { NAME_QUALIFIED, "in", { NULL } },
    { NAME_QUALIFIED, "", { "name part must be non-empty", NAME_PART } },
    { NAME_QUALIFIED, "/", { "prefix part must be non-empty", "name part must be non-empty", NAME_PART } },
    { NAME_QUALIFIED, "/a", { "prefix part must be non-empty" } },
    { NAME_QUALIFIED, "a/", { "name part must be non-empty", NAME_PART } },
    { NAME_QUALIFIED, "a/b/c", { QUALIFIED } },
    { NAME_QUALIFIED, "a//", { QUALIFIED } },
    { NAME_QUALIFIED, "Example.com/a", { "prefix part " SUBDOMAIN } },
    { NAME_QUALIFIED, "_x/_y", { "prefix part " SUBDOMAIN, NAME_PART } },
    { NAME_QUALIFIED, a64, { "name part " LONG_63 } },
    { NAME_QUALIFIED, "-a", { NAME_PART } },
    { NAME_QUALIFIED, "a b", { NAME_PART } },
    { NAME_QUALIFIED, prefix253_name63, { NULL } },
    { NAME_QUALIFIED, prefix254_name64, { "prefix part " LONG_253, "name part " LONG_63 } },
    { NAME_QUALIFIED_ANY_CASE, "Example.com/Name", { NULL } },
    { NAME_QUALIFIED_ANY_CASE, "Example_com/Name", { "prefix part " SUBDOMAIN } },
    { NAME_QUALIFIED_ANY_CASE, "kubernetes.io/no-provisioner", { NULL } },
    { NAME_QUALIFIED_ANY_CASE, "a/b/c", { QUALIFIED } },
    { NAME_LABEL_VALUE, "", { NULL } },
    { NAME_LABEL_VALUE, "My_value-1.x", { NULL } },
    { NAME_LABEL_VALUE, a63, { NULL } },
    { NAME_LABEL_VALUE, a64, { LONG_63 } },
    { NAME_LABEL_VALUE, "-5", { LABEL_VALUE } },
    { NAME_LABEL_VALUE, "a/b", { LABEL_VALUE } },
    { NAME_LABEL_VALUE, "a ", { LABEL_VALUE } },
    { NAME_CONFIG_KEY, "key.name", { NULL } },
    { NAME_CONFIG_KEY, ".hidden", { NULL } },
    { NAME_CONFIG_KEY, "-", { NULL } },
    { NAME_CONFIG_KEY, "a..b", { NULL } },
    { NAME_CONFIG_KEY, "", { CONFIG_KEY } },
    { NAME_CONFIG_KEY, "a/b", { CONFIG_KEY } },
    { NAME_CONFIG_KEY, ".", { "must not be '.'" } },
    { NAME_CONFIG_KEY, "..", { "must not be '..'" } },
    { NAME_CONFIG_KEY, "..data", { "must not start with '..'" } },
    { NAME_CONFIG_KEY, "../x", { CONFIG_KEY, "must not start with '..'" } },
    { NAME_CONFIG_KEY, a254, { LONG_253 } },
    { NAME_CSI_DRIVER, "hostpath.csi.k8s.io", { NULL } },
    { NAME_CSI_DRIVER, "HostPath.CSI.k8s.io", { NULL } },
    { NAME_CSI_DRIVER, a63, { NULL } },
    { NAME_CSI_DRIVER, "", { "" } },
    { NAME_CSI_DRIVER, a64, { "may not be more than 63 bytes" } },
    { NAME_CSI_DRIVER, "a_b", { SUBDOMAIN } },
    { NAME_CSI_DRIVER, "a/b", { SUBDOMAIN } },
    { NAME_CSI_DRIVER, upper254, { "may not be more than 63 bytes", LONG_253 } },
    { NAME_FINALIZER, "kubernetes.io/pv-protection", { NULL } },
    { NAME_FINALIZER, "kubernetes", { NULL } },
    { NAME_FINALIZER, "orphan", { NULL } },
    { NAME_FINALIZER, "foregroundDeletion", { NULL } },
    { NAME_FINALIZER, "mine", { FINALIZER } },
    { NAME_FINALIZER, "", { "name part must be non-empty", NAME_PART, FINALIZER } },
    { NAME_FINALIZER, "a/b/c", { QUALIFIED } },
};

TEST(names_follow_their_rules)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct name_problems p;
        size_t want = 0;

        while (want < NAME_PROBLEMS_MAX && rows[i].problems[want])
            want++;
        if (name_check(rows[i].rule, str_of(rows[i].value), &p) != (want == 0) || p.count != want)
            fail_msg("rule %d, '%s': %zu problems, expected %zu", rows[i].rule, rows[i].value, p.count, want);
        for (size_t n = 0; n < want; n++)
            ASSERT_STR(rows[i].problems[n], p.items[n].detail);
        ASSERT_INT(want == 0, name_is_valid(rows[i].rule, str_of(rows[i].value)));
    }
}

/* The whole alphabet at each place of a short name, against the regular expressions written out. */
TEST(names_take_exactly_their_alphabet)
{
    for (int c = 0; c < 256; c++) {
        char inner[] = { 'a', (char)c, 'b' }, edge[] = { (char)c, 'b' };
        struct str at_inner = { inner, sizeof inner }, at_edge = { edge, sizeof edge };
        bool lower = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'),
             alnum = lower || (c >= 'A' && c <= 'Z');

        ASSERT_INT(lower || c == '-' || c == '.', name_is_valid(NAME_DNS_SUBDOMAIN, at_inner));
        ASSERT_INT(lower, name_is_valid(NAME_DNS_SUBDOMAIN, at_edge));
        ASSERT_INT(lower || c == '-', name_is_valid(NAME_DNS_LABEL, at_inner));
        ASSERT_INT(alnum || c == '-' || c == '.', name_is_valid(NAME_CSI_DRIVER, at_inner));
        ASSERT_INT(alnum || c == '-' || c == '.' || c == '_', name_is_valid(NAME_LABEL_VALUE, at_inner));
        ASSERT_INT(alnum, name_is_valid(NAME_LABEL_VALUE, at_edge));
        ASSERT_INT(alnum || c == '-' || c == '.' || c == '_' || c == '/',
                   name_is_valid(NAME_QUALIFIED, at_inner));
        ASSERT_INT(alnum || c == '-' || c == '.' || c == '_', name_is_valid(NAME_CONFIG_KEY, at_inner));
    }
}

TEST(names_problem_types)
{
    struct name_problems p;

    name_check(NAME_CSI_DRIVER, STR_LIT(""), &p);
    ASSERT_INT(NAME_REQUIRED, p.items[0].type);
    name_check(NAME_CSI_DRIVER, str_of(a64), &p);
    ASSERT_INT(NAME_TOO_LONG, p.items[0].type);
    name_check(NAME_DNS_LABEL, str_of(a64), &p);
    ASSERT_INT(NAME_INVALID, p.items[0].type);
}

TEST(names_prefixes_may_end_in_a_dash)
{
    static const struct {
        enum name_rule rule;
        const char *value;
        bool ok;
    } prefixes[] = {
        { NAME_DNS_SUBDOMAIN, "web-", true },  { NAME_DNS_SUBDOMAIN, "web", true },
        { NAME_DNS_SUBDOMAIN, "web--", true }, { NAME_DNS_SUBDOMAIN, "web.-", true },
        { NAME_DNS_SUBDOMAIN, "w-", true },    { NAME_DNS_SUBDOMAIN, "", false },
        { NAME_DNS_SUBDOMAIN, "-", false },    { NAME_DNS_SUBDOMAIN, "-web-", false },
        { NAME_DNS_SUBDOMAIN, "web.", false }, { NAME_DNS_SUBDOMAIN, "Web-", false },
        { NAME_DNS_LABEL, "web-", true },      { NAME_DNS_LABEL, "we.b-", false },
    };
    struct name_problems p;
    char text[300];

    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
        if (name_check_prefix(prefixes[i].rule, str_of(prefixes[i].value), &p) != prefixes[i].ok)
            fail_msg("'%s'", prefixes[i].value);
    memset(text, 'a', sizeof text);
    text[252] = '-';
    assert_true(name_check_prefix(NAME_DNS_SUBDOMAIN, (struct str){ text, 253 }, &p));
    text[252] = 'a';
    text[253] = '-';
    assert_false(name_check_prefix(NAME_DNS_SUBDOMAIN, (struct str){ text, 254 }, &p));
    ASSERT_INT(1, p.count);
    ASSERT_STR(LONG_253, p.items[0].detail);
    text[253] = 'a';
    text[299] = '-';
    assert_false(name_check_prefix(NAME_DNS_SUBDOMAIN, (struct str){ text, 300 }, &p));
    ASSERT_STR(LONG_253, p.items[0].detail);
}

TEST(names_problems_are_joined)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(4096);
    struct name_problems p;

    name_check(NAME_QUALIFIED, STR_LIT("/a b"), &p);
    name_problems_join(&p, &out);
    ASSERT_OK(buf_check(&out, "problems", &err));
    ASSERT_STR("prefix part must be non-empty; " NAME_PART, buf_cstr(&out));
}

TEST(paths_with_a_step_back)
{
    assert_true(path_has_backstep(STR_LIT("..")));
    assert_true(path_has_backstep(STR_LIT("/a/../b")));
    assert_true(path_has_backstep(STR_LIT("a/..")));
    assert_false(path_has_backstep(STR_LIT("")));
    assert_false(path_has_backstep(STR_LIT("/a/..b/c..")));
    assert_false(path_has_backstep(STR_LIT("/a/.../b")));
}

TEST_MAIN()

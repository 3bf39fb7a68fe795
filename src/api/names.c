/* Validates names, keys and label values with hand-written matchers instead of regular expressions: one pass
 * per rule, without allocation. The error texts are those of Kubernetes, which quote the regular expressions.
 */
#include "api/names.h"

#include <assert.h>

#include "base/cleanup.h"

#define DNS_SUBDOMAIN_BYTES_MAX 253
#define DNS_LABEL_BYTES_MAX 63
#define QUALIFIED_NAME_BYTES_MAX 63
#define LABEL_VALUE_BYTES_MAX 63
#define CSI_DRIVER_BYTES_MAX 63

/* Error texts; the double spaces before "or" are those of the API. */
#define TEXT_TOO_LONG_63 "must be no more than 63 characters"
#define TEXT_TOO_LONG_253 "must be no more than 253 characters"
#define TEXT_EMPTY "must be non-empty"
#define TEXT_SUBDOMAIN                                                                                    \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and " \
    "must start "                                                                                         \
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "           \
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
#define TEXT_LABEL                                                                                          \
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start " \
    "and end "                                                                                              \
    "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "          \
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
#define TEXT_NAME                                                                                        \
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "          \
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " \
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
#define TEXT_VALUE                                                                                         \
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and "   \
    "must start "                                                                                          \
    "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for " \
    "validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
#define TEXT_CONFIG_KEY                                                                                  \
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or " \
    "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"

static void problem_add(struct name_problems *p, enum name_problem_type type, const char *detail)
{
    assert(p->count < NAME_PROBLEMS_MAX);
    p->items[p->count++] = (struct name_problem){ type, detail };
}

static bool is_lower_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_alnum(char c)
{
    return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z');
}

/* [a-z0-9]([-a-z0-9]*[a-z0-9])?, with any_case also capitals. */
static bool matches_dns_label(struct str s, bool any_case)
{
    bool (*is_inner)(char) = any_case ? is_alnum : is_lower_or_digit;

    if (s.len == 0 || !is_inner(s.s[0]) || !is_inner(s.s[s.len - 1]))
        return false;
    for (size_t i = 0; i < s.len; i++)
        if (!is_inner(s.s[i]) && s.s[i] != '-')
            return false;
    return true;
}

/* Labels of any length, separated by dots. */
static bool matches_dns_subdomain(struct str s, bool any_case)
{
    if (s.len == 0)
        return false;
    while (s.s)
        if (!matches_dns_label(str_next(&s, '.'), any_case))
            return false;
    return true;
}

/* ([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9] */
static bool matches_name(struct str s)
{
    if (s.len == 0 || !is_alnum(s.s[0]) || !is_alnum(s.s[s.len - 1]))
        return false;
    for (size_t i = 0; i < s.len; i++)
        if (!is_alnum(s.s[i]) && s.s[i] != '-' && s.s[i] != '_' && s.s[i] != '.')
            return false;
    return true;
}

static bool matches_config_key(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!is_alnum(s.s[i]) && s.s[i] != '-' && s.s[i] != '_' && s.s[i] != '.')
            return false;
    return s.len > 0;
}

static void check_dns_subdomain(struct str value, struct name_problems *p)
{
    if (value.len > DNS_SUBDOMAIN_BYTES_MAX)
        problem_add(p, NAME_INVALID, TEXT_TOO_LONG_253);
    if (!matches_dns_subdomain(value, /* any_case= */ false))
        problem_add(p, NAME_INVALID, TEXT_SUBDOMAIN);
}

static void check_dns_label(struct str value, struct name_problems *p)
{
    if (value.len > DNS_LABEL_BYTES_MAX)
        problem_add(p, NAME_INVALID, TEXT_TOO_LONG_63);
    if (matches_dns_label(value, /* any_case= */ false))
        return;
    /* a subdomain that is not a label contains dots */
    problem_add(p, NAME_INVALID, matches_dns_subdomain(value, false) ? "must not contain dots" : TEXT_LABEL);
}

static void check_qualified_prefix(struct str prefix, bool any_case, struct name_problems *p)
{
    if (prefix.len == 0) {
        problem_add(p, NAME_INVALID, "prefix part " TEXT_EMPTY);
        return;
    }
    if (prefix.len > DNS_SUBDOMAIN_BYTES_MAX)
        problem_add(p, NAME_INVALID, "prefix part " TEXT_TOO_LONG_253);
    if (!matches_dns_subdomain(prefix, any_case))
        problem_add(p, NAME_INVALID, "prefix part " TEXT_SUBDOMAIN);
}

static void check_qualified_case(struct str value, bool any_case, struct name_problems *p)
{
    struct str name = value, prefix = str_next(&name, '/');

    if (!name.s)
        name = prefix;
    else if (name.len && memchr(name.s, '/', name.len)) {
        problem_add(p, NAME_INVALID,
                    "a valid label key " TEXT_NAME
                    " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')");
        return;
    } else {
        check_qualified_prefix(prefix, any_case, p);
    }
    if (name.len == 0)
        problem_add(p, NAME_INVALID, "name part " TEXT_EMPTY);
    else if (name.len > QUALIFIED_NAME_BYTES_MAX)
        problem_add(p, NAME_INVALID, "name part " TEXT_TOO_LONG_63);
    if (!matches_name(name))
        problem_add(p, NAME_INVALID, "name part " TEXT_NAME);
}

static void check_qualified(struct str value, struct name_problems *p)
{
    check_qualified_case(value, /* any_case= */ false, p);
}

static void check_qualified_any_case(struct str value, struct name_problems *p)
{
    check_qualified_case(value, /* any_case= */ true, p);
}

static void check_label_value(struct str value, struct name_problems *p)
{
    if (value.len > LABEL_VALUE_BYTES_MAX)
        problem_add(p, NAME_INVALID, TEXT_TOO_LONG_63);
    if (value.len && !matches_name(value))
        problem_add(p, NAME_INVALID, TEXT_VALUE);
}

/* Keys become file names in a volume: no path may leave it. */
static void check_config_key(struct str value, struct name_problems *p)
{
    if (value.len > DNS_SUBDOMAIN_BYTES_MAX)
        problem_add(p, NAME_INVALID, TEXT_TOO_LONG_253);
    if (!matches_config_key(value))
        problem_add(p, NAME_INVALID, TEXT_CONFIG_KEY);
    if (str_is(value, "."))
        problem_add(p, NAME_INVALID, "must not be '.'");
    else if (str_is(value, ".."))
        problem_add(p, NAME_INVALID, "must not be '..'");
    else if (str_has_prefix(value, ".."))
        problem_add(p, NAME_INVALID, "must not start with '..'");
}

static void check_csi_driver(struct str value, struct name_problems *p)
{
    if (value.len == 0) {
        problem_add(p, NAME_REQUIRED, "");
        return;
    }
    if (value.len > CSI_DRIVER_BYTES_MAX)
        problem_add(p, NAME_TOO_LONG, "may not be more than 63 bytes");
    if (value.len > DNS_SUBDOMAIN_BYTES_MAX)
        problem_add(p, NAME_INVALID, TEXT_TOO_LONG_253);
    if (!matches_dns_subdomain(value, /* any_case= */ true))
        problem_add(p, NAME_INVALID, TEXT_SUBDOMAIN);
}

static void check_finalizer_domain(struct str value, struct name_problems *p)
{
    static const char *const known[] = { "kubernetes", "orphan", "foregroundDeletion" };

    if (value.len && memchr(value.s, '/', value.len))
        return;
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_is(value, known[i]))
            return;
    problem_add(p, NAME_INVALID, "name is neither a standard finalizer name nor is it fully qualified");
}

static void check_finalizer(struct str value, struct name_problems *p)
{
    check_qualified(value, p);
    check_finalizer_domain(value, p);
}

static void check_path_segment(struct str value, struct name_problems *p)
{
    if (str_is(value, ".")) {
        problem_add(p, NAME_INVALID, "may not be '.'");
    } else if (str_is(value, "..")) {
        problem_add(p, NAME_INVALID, "may not be '..'");
    } else {
        if (value.len && memchr(value.s, '/', value.len))
            problem_add(p, NAME_INVALID, "may not contain '/'");
        if (value.len && memchr(value.s, '%', value.len))
            problem_add(p, NAME_INVALID, "may not contain '%'");
    }
}

static void (*const name_checks[])(struct str, struct name_problems *) = {
    [NAME_DNS_SUBDOMAIN] = check_dns_subdomain,
    [NAME_DNS_LABEL] = check_dns_label,
    [NAME_QUALIFIED] = check_qualified,
    [NAME_QUALIFIED_ANY_CASE] = check_qualified_any_case,
    [NAME_LABEL_VALUE] = check_label_value,
    [NAME_CONFIG_KEY] = check_config_key,
    [NAME_CSI_DRIVER] = check_csi_driver,
    [NAME_FINALIZER] = check_finalizer,
    [NAME_FINALIZER_DOMAIN] = check_finalizer_domain,
    [NAME_PATH_SEGMENT] = check_path_segment,
};
static_assert(ARRAY_LEN(name_checks) == NAME_RULE_COUNT, "check every rule");

bool name_check(enum name_rule rule, struct str value, struct name_problems *ret)
{
    assert(rule < NAME_RULE_COUNT);
    ret->count = 0;
    name_checks[rule](value, ret);
    return ret->count == 0;
}

/* The trailing dash is replaced by a letter: the prefix must be valid with and without what follows it. */
bool name_check_prefix(enum name_rule rule, struct str value, struct name_problems *ret)
{
    char masked[DNS_SUBDOMAIN_BYTES_MAX + 1]; /* a longer prefix is invalid anyway */

    if (value.len < 2 || value.len > sizeof masked || value.s[value.len - 1] != '-')
        return name_check(rule, value, ret);
    memcpy(masked, value.s, value.len - 1);
    masked[value.len - 1] = 'a';
    return name_check(rule, (struct str){ masked, value.len }, ret);
}

bool name_is_valid(enum name_rule rule, struct str value)
{
    struct name_problems ignored;

    return name_check(rule, value, &ignored);
}

void name_problems_join(const struct name_problems *p, struct buf *out)
{
    for (size_t i = 0; i < p->count; i++) {
        if (i)
            buf_add_cstr(out, "; ");
        buf_add_cstr(out, p->items[i].detail);
    }
}

bool path_has_backstep(struct str path)
{
    while (path.s)
        if (str_is(str_next(&path, '/'), ".."))
            return true;
    return false;
}

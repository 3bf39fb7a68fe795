/* The rules for names on any bytes: the answer agrees with the problems listed, and the rules with one
 * another where one includes another. */
#include "tests/fuzz/fuzz.h"

#include "api/names.h"
#include "api/quote.h"
#include "base/cleanup.h"

static void check_rule(enum name_rule rule, struct str value)
{
    _cleanup_(buf_done_p) struct buf joined = BUF_INIT(8192);
    struct name_problems p, of_prefix;
    bool ok = name_check(rule, value, &p);

    FUZZ_CHECK(ok == (p.count == 0));
    FUZZ_CHECK(ok == name_is_valid(rule, value));
    for (size_t i = 0; i < p.count; i++)
        FUZZ_CHECK((p.items[i].type == NAME_REQUIRED) == (p.items[i].detail[0] == '\0'));
    name_problems_join(&p, &joined);
    FUZZ_CHECK(joined.failed == ERR_NONE);
    if (ok && value.len && value.s[value.len - 1] != '-')
        FUZZ_CHECK(name_check_prefix(rule, value, &of_prefix));
}

static void check_between_rules(struct str value)
{
    bool subdomain = name_is_valid(NAME_DNS_SUBDOMAIN, value), label = name_is_valid(NAME_DNS_LABEL, value);
    bool qualified = name_is_valid(NAME_QUALIFIED, value), text = name_is_valid(NAME_LABEL_VALUE, value);
    bool has_slash = value.len && memchr(value.s, '/', value.len);

    FUZZ_CHECK(!label || (subdomain && qualified && text && name_is_valid(NAME_CSI_DRIVER, value)));
    FUZZ_CHECK(!subdomain || value.len > 63 || name_is_valid(NAME_CSI_DRIVER, value));
    FUZZ_CHECK(!qualified || name_is_valid(NAME_QUALIFIED_ANY_CASE, value));
    FUZZ_CHECK(!qualified || !has_slash || name_is_valid(NAME_FINALIZER, value));
    FUZZ_CHECK(!name_is_valid(NAME_FINALIZER, value) || qualified);
    if (!has_slash && value.len)
        FUZZ_CHECK(text == qualified);
    FUZZ_CHECK(!text || !value.len || name_is_valid(NAME_CONFIG_KEY, value));
}

/* A quoted text is printable UTF-8 whatever went in, and fits. */
static void check_quote(struct str value)
{
    char quoted[64];

    quote_text(quoted, sizeof quoted, value);
    FUZZ_CHECK(str_is_utf8(str_of(quoted)));
    for (const char *at = quoted; *at; at++)
        FUZZ_CHECK((unsigned char)*at >= ' ' && *at != 0x7F);
    if (value.len * 6 + 3 <= sizeof quoted)
        FUZZ_CHECK(str_has_suffix(str_of(quoted), "\""));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str value = { size ? (const char *)data : "", size };

    for (unsigned rule = 0; rule < NAME_RULE_COUNT; rule++)
        check_rule((enum name_rule)rule, value);
    check_between_rules(value);
    check_quote(value);
    (void)path_has_backstep(value); /* no promise but to end */
    return 0;
}

/* Quantities on any bytes: what parses is stable. Emitting it, canonically or not, gives texts that parse
 * to the same amount; comparison, rank and integer view agree; sums can be taken back. The input is two
 * texts with a blank between. */
#include "tests/fuzz/fuzz.h"

#include "api/quantity.h"
#include "base/cleanup.h"

static void check_text(const struct quantity *q, struct str given)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(QUANTITY_TEXT_BYTES_MAX),
                                     canonical = BUF_INIT(QUANTITY_TEXT_BYTES_MAX),
                                     again = BUF_INIT(QUANTITY_TEXT_BYTES_MAX);
    struct quantity from_text, from_canonical;
    struct error err;

    quantity_format(q, &text);
    FUZZ_CHECK(!text.failed);
    quantity_canonical(q, &canonical);
    FUZZ_CHECK(!canonical.failed);
    FUZZ_CHECK(quantity_parse(buf_str(&text), &from_text, &err) == 0);
    FUZZ_CHECK(quantity_parse(buf_str(&canonical), &from_canonical, &err) == 0);
    FUZZ_CHECK(quantity_cmp(q, &from_text) == 0);
    FUZZ_CHECK(quantity_cmp(q, &from_canonical) == 0);
    /* a binary amount that no power of 1024 divides is emitted without a suffix and read back as a decimal
     * one: "2000" may then become "2k", once */
    if (from_text.format == q->format) {
        quantity_format(&from_text, &again);
        FUZZ_CHECK(!again.failed);
        FUZZ_CHECK(str_eq(buf_str(&text), buf_str(&again)));
    }
    buf_clear(&again);
    if (from_canonical.format == q->format) {
        quantity_canonical(&from_canonical, &again);
        FUZZ_CHECK(!again.failed);
        FUZZ_CHECK(str_eq(buf_str(&canonical), buf_str(&again)));
    }
    FUZZ_CHECK(from_text.format == q->format || from_text.format == QUANTITY_DECIMAL_SI);
    FUZZ_CHECK(!q->verbatim || str_eq(buf_str(&text), given));
}

static void check_views(const struct quantity *q)
{
    struct quantity whole = *q, value = quantity_of(quantity_value(q), QUANTITY_DECIMAL_SI);
    bool exact = quantity_round_up(&whole, 0);

    FUZZ_CHECK(quantity_sign(q) == (quantity_value(q) > 0) - (quantity_value(q) < 0));
    FUZZ_CHECK(exact == (quantity_cmp(q, &whole) == 0));
    FUZZ_CHECK(quantity_rank(q) == quantity_rank(&whole));
    if (quantity_value(q) != INT64_MAX && quantity_value(q) != INT64_MIN)
        FUZZ_CHECK(quantity_cmp(&whole, &value) == 0);
    else
        FUZZ_CHECK(quantity_cmp(&whole, &value) * quantity_sign(q) >= 0);
}

static void check_pair(const struct quantity *a, const struct quantity *b)
{
    struct quantity sum = *a, difference = *a, zero = { 0 };
    struct error err;
    int order = quantity_cmp(a, b);

    FUZZ_CHECK(quantity_cmp(b, a) == -order);
    FUZZ_CHECK(order >= 0 || quantity_rank(a) <= quantity_rank(b));
    FUZZ_CHECK(quantity_cmp(a, &zero) == quantity_sign(a));
    if (quantity_add(&sum, b, &err) == 0) {
        FUZZ_CHECK(quantity_cmp(&sum, a) == quantity_sign(b));
        check_text(&sum, (struct str){ NULL, 0 });
        FUZZ_CHECK(quantity_sub(&sum, b, &err) == 0);
        FUZZ_CHECK(quantity_cmp(&sum, a) == 0);
    }
    if (quantity_sub(&difference, b, &err) == 0) {
        FUZZ_CHECK(quantity_sign(&difference) == order);
        check_text(&difference, (struct str){ NULL, 0 });
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = { size ? (const char *)data : "", size }, first = str_next(&rest, ' ');
    struct quantity a, b;
    struct error err;

    if (quantity_parse(first, &a, &err) < 0)
        return 0;
    check_text(&a, first);
    check_views(&a);
    if (!rest.s || quantity_parse(rest, &b, &err) < 0)
        return 0;
    check_pair(&a, &b);
    return 0;
}

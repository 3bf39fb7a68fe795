/* Lists of field errors without memory: a refusal is never lost. */
#include "tests/unit/test.h"

#include <stdlib.h>

#include "base/cleanup.h"

static bool has_memory;

static void *scarce_realloc(void *p, size_t bytes)
{
    return has_memory ? realloc(p, bytes) : NULL;
}

#define realloc scarce_realloc
#include "api/field_errors.c"
#undef realloc

static const char *text_of(const struct field_error *e)
{
    static char text[256];
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(sizeof text - 1);

    field_error_text(e, &out);
    (void)snprintf(text, sizeof text, "%s", buf_cstr(&out));
    return text;
}

TEST(first_refusal_without_memory_is_still_a_refusal)
{
    _cleanup_(field_errors_done_p) struct field_errors e = FIELD_ERRORS_INIT;
    const struct field_path p = { .name = "spec" };

    has_memory = false;
    errors_required(&e, &p, "");
    ASSERT_INT(1, (int)e.count);
    ASSERT_STR("metadata: Forbidden: not enough memory to validate the object", text_of(&e.items[0]));
    errors_required(&e, &p, "");
    ASSERT_INT(1, (int)e.count);
    has_memory = true; /* the list has said that it is incomplete, and stays as it is */
    errors_required(&e, &p, "");
    ASSERT_INT(1, (int)e.count);
}

TEST(later_refusals_without_memory_leave_the_earlier_ones)
{
    _cleanup_(field_errors_done_p) struct field_errors e = FIELD_ERRORS_INIT;
    const struct field_path p = { .name = "spec" };

    has_memory = true;
    errors_required(&e, &p, "");
    has_memory = false;
    for (int i = 0; i < 20; i++)
        errors_forbidden(&e, &p, "not you");
    assert_true(e.count >= 1 && e.count < 21);
    ASSERT_STR("spec: Required value", text_of(&e.items[0]));
}

TEST_MAIN()

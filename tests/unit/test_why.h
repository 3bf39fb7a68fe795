/* For the tests of explanations: a world of the binder's tests, and what is said of an object in it.
 *
 * Every question is asked twice, as both users ask: with the binder at hand, and from caches that know the
 * server alone. Both must come to the same verdict. */
#ifndef BERTH_TESTS_TEST_WHY_H
#define BERTH_TESTS_TEST_WHY_H

#include "tests/unit/test_binder_objects.h"

#include "tests/unit/test_said.h"

/* By both ways; what the binder's side says stays in `said`. */
static inline void ask_about(struct world *w, enum kind k, const char *ns, const char *name, bool shows_all)
{
    const struct why_question q = { .kind = k, .ns = ns, .name = name, .shows_all = shows_all };
    struct onlooker x;
    char cause[WHY_LINE_BYTES_MAX], sentence[WHY_LINE_BYTES_MAX];

    onlooker_open(&x, &w->served);
    say(&x.world, &q);
    (void)snprintf(cause, sizeof cause, "%s", said_member("cause"));
    (void)snprintf(sentence, sizeof sentence, "%s", said_member("sentence"));
    x.world.binder = w->binder;
    say(&x.world, &q);
    ASSERT_STR(cause, said_member("cause"));
    ASSERT_STR(sentence, said_member("sentence"));
    onlooker_close(&x);
}

#endif

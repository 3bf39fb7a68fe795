/* Binding: claims without a volume's name. */
#include "tests/unit/test_binder.h"

static void s1(struct world *w)
{
    add_volume(w, "p", "1Gi", RWO, "");
    set_phase(w, "p", "Available");
    add_claim(w, "c", "1Gi", RWO, "");
}

TEST(S1_a_claim_gets_the_volume_that_fits)
{
    struct world w;

    world_init(&w);
    s1(&w);
    world_start(&w);
    world_settle(&w);
    assert_bound(&w, "c", "p");
    ASSERT_INT(4, w.writes);
    world_done(&w);
}

TEST_MAIN()

/* What a simulation has reached: counted where somebody counts, nowhere else. */
#include "base/reach.h"

#include "test.h"

TEST(reach_counts_states_and_moves)
{
    struct reach r = { 0 };
    unsigned states, moves;

    reach_here = &r;
    reach_move(REACH_LEADER, 5, 0, 1);
    reach_move(REACH_LEADER, 5, 1, 3);
    reach_move(REACH_LEADER, 5, 0, 1);
    reach_move(REACH_WRITE_OUTCOME, 4, 2, 2);
    reach_here = NULL;
    reach_move(REACH_LEADER, 5, 3, 4);
    reach_sum(&r, REACH_LEADER, &states, &moves);
    assert_int_equal(3, states);
    assert_int_equal(2, moves);
    assert_int_equal(5, r.states[REACH_LEADER]);
    assert_int_equal(2, r.moves[REACH_LEADER][0][1]);
    reach_sum(&r, REACH_WRITE_OUTCOME, &states, &moves);
    assert_int_equal(1, states);
    assert_int_equal(1, moves);
    reach_sum(&r, REACH_REFLECTOR, &states, &moves);
    assert_int_equal(0, states);
    assert_int_equal(0, moves);
}

TEST(reach_names_every_machine)
{
    for (unsigned i = 0; i < REACH_COUNT; i++)
        assert_non_null(reach_names[i]);
}

TEST_MAIN()

/* Lists that are linked both ways, and lists that are not. */
#include "tests/unit/test.h"

#include <sys/queue.h>

#include "base/tailq.h"

struct item {
    int filler;
    TAILQ_ENTRY(item) link;
};
TAILQ_HEAD(items, item);

static struct items list;
static struct item items[3];

static void make_list(void)
{
    TAILQ_INIT(&list);
    for (size_t i = 0; i < 3; i++)
        TAILQ_INSERT_TAIL(&list, &items[i], link);
}

static bool is_sound(size_t max, size_t *ret_count)
{
    return tailq_is_sound(&list, offsetof(struct item, link), max, ret_count);
}

TEST(a_list_is_sound_and_counted)
{
    size_t count = 7;

    TAILQ_INIT(&list);
    assert_true(is_sound(0, &count));
    ASSERT_INT(0, count);
    make_list();
    assert_true(is_sound(3, &count));
    ASSERT_INT(3, count);
    TAILQ_REMOVE(&list, &items[1], link);
    assert_true(is_sound(3, &count));
    ASSERT_INT(2, count);
    TAILQ_REMOVE(&list, &items[2], link);
    TAILQ_REMOVE(&list, &items[0], link);
    assert_true(is_sound(3, &count));
    ASSERT_INT(0, count);
}

TEST(a_list_of_more_than_there_can_be_is_not_sound)
{
    size_t count;

    make_list();
    assert_false(is_sound(2, &count));
}

TEST(an_item_that_is_inserted_twice_is_found)
{
    size_t count;

    make_list();
    TAILQ_INSERT_TAIL(&list, &items[0], link);
    assert_false(is_sound(100, &count));
}

TEST(a_link_that_leads_one_way_is_found)
{
    size_t count;

    make_list();
    items[0].link.tqe_next = &items[2];
    assert_false(is_sound(3, &count));
    make_list();
    items[1].link.tqe_prev = &items[2].link.tqe_next;
    assert_false(is_sound(3, &count));
}

TEST(an_end_that_is_not_the_last_is_found)
{
    size_t count;

    make_list();
    list.tqh_last = &items[1].link.tqe_next;
    assert_false(is_sound(3, &count));
}

TEST_MAIN()

/* For the tests of the binder: every scenario once more, with each of its requests failing once in each way,
 * and with the binder killed behind each of them.
 *
 * With TEST_FAULTS in its environment a program plays its tests' bodies again and again under a plan
 * (test_binder.h): in every world that a body makes, the n-th request meets the fault; n grows until no world
 * has that many, in larger steps for a share of the faults (tests_share()). The body's own assertions must
 * hold, and besides, for each world:
 *
 * - volumes and claims end as they end without the fault, to the last field;
 * - nothing is told that is not told without it, but what tells of the fault itself; what is told without it
 * is told, unless the teller could not know; no more often, unless by another process;
 * - nobody storms the server: a few requests more, no storage made twice.
 *
 * Which test cannot be played so, or not with one kind of fault, stands in a table of its file with the
 * reason. The tests of matching alone (test_match.c, test_volume_index.c) drive no binder and send no
 * requests. */
#ifndef BERTH_TESTS_TEST_BINDER_REPLAY_H
#define BERTH_TESTS_TEST_BINDER_REPLAY_H

#include "tests/unit/test_binder.h"

#define REPLAY_WORLDS_MAX 64
#define REPLAY_REQUESTS_MAX 100
/* Every request up to this one, then one in four. */
#define REPLAY_EACH_MAX 16

#define FAULT(name) (1U << (TAP_##name))
#define FAULT_ANY (FAULT(REFUSE) | FAULT(ERROR) | FAULT(CONFLICT) | FAULT(LOSE) | FAULT(CRASH))

struct unfit {
    const char *test;
    unsigned faults;
    const char *why;
};

/* --- What is left of a world, in words that two runs have in common --- */

#define NAMES_MAX 128
#define UID_BYTES 36

/* uids differ from run to run: the names of claims stand for theirs. */
struct names {
    char uid[NAMES_MAX][64];
    char name[NAMES_MAX][64];
    unsigned count;
};

/* --- One world against the same without the fault --- */

struct outcome {
    struct buf state;
    struct buf events;
    unsigned sent;
    unsigned made; /* storage */
};

struct replay {
    struct outcome good[REPLAY_WORLDS_MAX]; /* in the order of their ends */
    unsigned good_count;
    unsigned ended; /* of this run's worlds */
};

struct str text_of(const struct buf *b);

void outcome_done(struct outcome *o);

#define NO_VOLUME_THERE "node(s) didn't find available persistent volumes to bind"

void compare(const struct outcome *good, const struct outcome *bad, bool is_open);

/* --- A body, again and again --- */

struct replayed {
    CMUnitTestFunction body;
    unsigned faults;
};

int replayed_run(int argc, char **argv, const struct unfit *unfit);

/* rows: a table of struct unfit that ends with an empty row. */
#define REPLAYED_MAIN(rows)                    \
    int main(int argc, char **argv)            \
    {                                          \
        return replayed_run(argc, argv, rows); \
    }

#endif

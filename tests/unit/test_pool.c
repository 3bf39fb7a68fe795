#include "tests/unit/test_io.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "io/loop.h"
#include "io/pool.h"

/* A door that work waits at: the test decides when it may go on. */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned waiting;
    bool is_open;
};

#define GATE_INIT                                                     \
    {                                                                 \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, false \
    }

static void gate_pass(struct gate *g)
{
    pthread_mutex_lock(&g->lock);
    g->waiting++;
    pthread_cond_broadcast(&g->changed);
    while (!g->is_open)
        pthread_cond_wait(&g->changed, &g->lock);
    g->waiting--;
    pthread_mutex_unlock(&g->lock);
}

static void gate_open(struct gate *g)
{
    pthread_mutex_lock(&g->lock);
    g->is_open = true;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

static void gate_await(struct gate *g, unsigned waiting)
{
    pthread_mutex_lock(&g->lock);
    while (g->waiting < waiting)
        pthread_cond_wait(&g->changed, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

/* A piece of work that notes where and how often it ran. */
struct job {
    struct pool_work work;
    struct gate *gate; /* NULL: none */
    pthread_t ran_on;
    int wanted; /* the result to return */
    unsigned ran;
    unsigned done;
    int result;
    bool is_done;
    unsigned *order; /* counts ends; NULL: not of interest */
    unsigned place;
};

static int job_work(void *ctx)
{
    struct job *j = ctx;

    if (j->gate)
        gate_pass(j->gate);
    j->ran_on = pthread_self();
    j->ran++;
    return j->wanted;
}

static void job_done(void *ctx, int result)
{
    struct job *j = ctx;

    j->done++;
    j->result = result;
    j->is_done = true;
    if (j->order)
        j->place = (*j->order)++;
}

static struct pool *new_pool(struct loop *l, size_t threads, size_t queued_max)
{
    struct pool *p = NULL;
    struct error err = { 0 };

    ASSERT_OK(pool_new(l, threads, queued_max, &p, &err));
    return p;
}

static int submit(struct pool *p, struct job *j, struct error *err)
{
    return pool_submit(p, &j->work, job_work, job_done, j, err);
}

TEST(work_runs_elsewhere_and_ends_here)
{
    _cleanup_(loop_free_p) struct loop *l = new_loop(NULL);
    _cleanup_(pool_free_p) struct pool *p = new_pool(l, 2, 8);
    struct error err = { 0 };
    struct job good = { .wanted = 0 }, bad = { .wanted = -ERR_IO };

    ASSERT_OK(submit(p, &good, &err));
    ASSERT_OK(submit(p, &bad, &err));
    assert_int_equal(good.done, 0); /* not before the loop turns */
    run_until(l, &good.is_done);
    run_until(l, &bad.is_done);
    assert_int_equal(good.ran, 1);
    assert_int_equal(good.done, 1);
    assert_int_equal(good.result, 0);
    assert_int_equal(bad.result, -ERR_IO);
    assert_false(pthread_equal(good.ran_on, pthread_self()));
}

TEST(work_can_be_submitted_again_after_its_end)
{
    _cleanup_(loop_free_p) struct loop *l = new_loop(NULL);
    _cleanup_(pool_free_p) struct pool *p = new_pool(l, 1, 1);
    struct error err = { 0 };
    struct job j = { 0 };

    for (unsigned i = 1; i <= 3; i++) {
        j.is_done = false;
        ASSERT_OK(submit(p, &j, &err));
        run_until(l, &j.is_done);
        assert_int_equal(j.ran, i);
        assert_int_equal(j.done, i);
    }
}

TEST(work_runs_in_parallel_up_to_the_threads)
{
    _cleanup_(loop_free_p) struct loop *l = new_loop(NULL);
    _cleanup_(pool_free_p) struct pool *p = new_pool(l, 3, 8);
    struct gate gate = GATE_INIT;
    struct job jobs[3] = { 0 };
    struct error err = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        jobs[i].gate = &gate;
        ASSERT_OK(submit(p, &jobs[i], &err));
    }
    gate_await(&gate, 3); /* would wait for ever if they ran one after the other */
    gate_open(&gate);
    pool_drain(p);
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
        assert_int_equal(jobs[i].done, 1);
}

/* How many threads of pools this process has, by their names. */
static unsigned threads_of_pools(void)
{
    DIR *all = opendir("/proc/self/task");
    unsigned count = 0;

    assert_non_null(all);
    for (struct dirent *e; (e = readdir(all));) {
        char path[300], name[32] = "";
        FILE *f;

        (void)snprintf(path, sizeof path, "/proc/self/task/%s/comm", e->d_name);
        f = fopen(path, "re");
        count += f && fgets(name, sizeof name, f) && strncmp(name, "berth-work-", 11) == 0;
        if (f)
            (void)fclose(f);
    }
    (void)closedir(all);
    return count;
}

static void await_threads(unsigned count)
{
    (void)signal(SIGALRM, test_on_deadline);
    (void)alarm(TEST_DEADLINE_S);
    while (threads_of_pools() != count) {
    }
    (void)alarm(0);
}

/* A thread comes with work that finds the others busy, and stays. */
TEST(threads_start_when_they_are_needed)
{
    _cleanup_(loop_free_p) struct loop *l = new_loop(NULL);
    _cleanup_(pool_free_p) struct pool *p = new_pool(l, 2, 8);
    struct gate gate = GATE_INIT;
    struct job quick = { 0 }, held[3] = { 0 };
    struct error err = { 0 };

    await_threads(0); /* those of the test before may still be on their way out */
    for (unsigned i = 0; i < 10; i++) {
        ASSERT_OK(submit(p, &quick, &err));
        pool_drain(p);
        ASSERT_INT(1, threads_of_pools()); /* one after the other needs one */
    }
    for (size_t i = 0; i < ARRAY_LEN(held); i++) {
        held[i].gate = &gate;
        ASSERT_OK(submit(p, &held[i], &err));
    }
    gate_await(&gate, 2);
    ASSERT_INT(2, threads_of_pools()); /* and no more than it may have */
    gate_open(&gate);
    pool_drain(p);
    ASSERT_INT(1, held[2].done);
    ASSERT_INT(2, threads_of_pools());
}

/* What many at once have called for goes again, but for a few; and comes again. */
TEST(threads_end_when_too_many_wait)
{
    _cleanup_(loop_free_p) struct loop *l = new_loop(NULL);
    _cleanup_(pool_free_p) struct pool *p = new_pool(l, 20, 20);
    struct error err = { 0 };

    await_threads(0);
    for (unsigned round = 0; round < 3; round++) {
        struct gate gate = GATE_INIT;
        struct job held[20] = { 0 };

        for (size_t i = 0; i < ARRAY_LEN(held); i++) {
            held[i].gate = &gate;
            ASSERT_OK(submit(p, &held[i], &err));
        }
        gate_await(&gate, ARRAY_LEN(held));
        await_threads(ARRAY_LEN(held));
        gate_open(&gate);
        pool_drain(p);
        await_threads(POOL_IDLE_MAX);
        for (size_t i = 0; i < ARRAY_LEN(held); i++)
            ASSERT_INT(1, held[i].done);
    }
}

/* As somebody whom the number of processes is limited for: 0, or the line at which it went wrong. */
static int refused_without_threads(void)
{
    struct loop *l = new_loop(NULL);
    struct pool *p = new_pool(l, 2, 1);
    struct rlimit limit, none;
    struct job j = { 0 };
    struct error err = { 0 };
    int r;

    if ((geteuid() == 0 && setuid(65534) < 0) || getrlimit(RLIMIT_NPROC, &limit) < 0)
        return __LINE__;
    none = (struct rlimit){ .rlim_cur = 0, .rlim_max = limit.rlim_max };
    if (setrlimit(RLIMIT_NPROC, &none) < 0)
        return __LINE__;
    r = submit(p, &j, &err);
    if (r >= 0 || !strstr(err.msg, "cannot start a worker thread"))
        return __LINE__;
    if (setrlimit(RLIMIT_NPROC, &limit) < 0 || submit(p, &j, &err) < 0)
        return __LINE__;
    pool_drain(p);
    if (j.ran != 1 || j.done != 1)
        return __LINE__;
    (void)pool_free(p);
    (void)loop_free(l);
    return 0;
}

/* Without a single thread work is refused, and can be submitted again. */
TEST(the_first_thread_may_not_come)
{
    int status = 0;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(refused_without_threads() == 0 ? 0 : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    ASSERT_INT(0, status);
}

TEST(queue_is_bounded)
{
    _cleanup_(loop_free_p) struct loop *l = new_loop(NULL);
    _cleanup_(pool_free_p) struct pool *p = new_pool(l, 1, 2);
    struct gate gate = GATE_INIT;
    struct job running = { .gate = &gate }, a = { 0 }, b = { 0 }, refused = { 0 };
    unsigned order = 0;
    struct error err = { 0 };

    running.order = a.order = b.order = &order;
    ASSERT_OK(submit(p, &running, &err));
    gate_await(&gate, 1);
    ASSERT_OK(submit(p, &a, &err));
    ASSERT_OK(submit(p, &b, &err));
    ASSERT_ERR(ERR_BUSY, submit(p, &refused, &err));
    ASSERT_STR("the worker pool's queue is full (2 waiting)", err.msg);
    gate_open(&gate);
    run_until(l, &b.is_done);
    assert_int_equal(running.place, 0);
    assert_int_equal(a.place, 1);
    assert_int_equal(b.place, 2);
    assert_int_equal(refused.done, 0);
    ASSERT_OK(submit(p, &refused, &err)); /* there is room again */
    run_until(l, &refused.is_done);
}

TEST(cancel_reaches_only_what_has_not_started)
{
    _cleanup_(loop_free_p) struct loop *l = new_loop(NULL);
    _cleanup_(pool_free_p) struct pool *p = new_pool(l, 1, 4);
    struct gate gate = GATE_INIT;
    struct job running = { .gate = &gate }, first = { 0 }, middle = { 0 }, last = { 0 };
    struct error err = { 0 };

    ASSERT_OK(submit(p, &running, &err));
    gate_await(&gate, 1);
    ASSERT_OK(submit(p, &first, &err));
    ASSERT_OK(submit(p, &middle, &err));
    ASSERT_OK(submit(p, &last, &err));
    assert_false(pool_cancel(p, &running.work));
    assert_true(pool_cancel(p, &middle.work));
    assert_false(pool_cancel(p, &middle.work)); /* once is enough */
    assert_int_equal(middle.done, 0);           /* never from within */
    run_until(l, &middle.is_done);              /* while the worker is still busy */
    assert_int_equal(middle.result, -ERR_CANCELLED);
    assert_int_equal(middle.ran, 0);
    gate_open(&gate);
    pool_drain(p);
    assert_int_equal(running.result, 0);
    assert_int_equal(first.ran, 1);
    assert_int_equal(last.ran, 1);
    assert_int_equal(middle.done, 1);
    assert_false(pool_cancel(p, &last.work));
}

/* Submits itself again from its own end. */
struct chain {
    struct job job;
    struct pool *pool;
    unsigned left;
    int refused; /* what the last submission said */
};

static void chain_done(void *ctx, int result)
{
    struct chain *c = ctx;
    struct error err = { 0 };

    job_done(&c->job, result);
    if (c->left == 0)
        return;
    c->left--;
    c->refused = pool_submit(c->pool, &c->job.work, job_work, chain_done, c, &err);
}

TEST(drain_waits_for_what_the_ends_submit)
{
    _cleanup_(loop_free_p) struct loop *l = new_loop(NULL);
    _cleanup_(pool_free_p) struct pool *p = new_pool(l, 2, 4);
    struct chain c = { .pool = p, .left = 50 };
    struct error err = { 0 };

    pool_drain(p); /* idle: returns */
    ASSERT_OK(pool_submit(p, &c.job.work, job_work, chain_done, &c, &err));
    pool_drain(p);
    assert_int_equal(c.job.ran, 51);
    assert_int_equal(c.job.done, 51);
}

TEST(free_cancels_the_queue_and_waits_for_the_running)
{
    _cleanup_(loop_free_p) struct loop *l = new_loop(NULL);
    struct pool *p = new_pool(l, 1, 4);
    struct gate gate = GATE_INIT;
    struct job running = { .gate = &gate }, queued = { 0 };
    struct chain stubborn = { .pool = p, .left = 1 };
    struct error err = { 0 };

    ASSERT_OK(submit(p, &running, &err));
    gate_await(&gate, 1);
    ASSERT_OK(submit(p, &queued, &err));
    ASSERT_OK(pool_submit(p, &stubborn.job.work, job_work, chain_done, &stubborn, &err));
    assert_true(pool_cancel(p, &stubborn.job.work));
    gate_open(&gate);
    /* The worker may or may not have taken `queued` by now: either way it is reported once. */
    assert_null(pool_free(p));
    assert_int_equal(running.ran, 1);
    assert_int_equal(running.result, 0);
    assert_int_equal(queued.done, 1);
    assert_int_equal(queued.result, queued.ran ? 0 : -ERR_CANCELLED);
    assert_int_equal(stubborn.job.done, 1);
    assert_int_equal(stubborn.refused, -ERR_CANCELLED);
}

TEST(free_takes_nothing_and_an_idle_pool)
{
    _cleanup_(loop_free_p) struct loop *l = new_loop(NULL);

    assert_null(pool_free(NULL));
    assert_null(pool_free(new_pool(l, 4, 1)));
}

/* Stress, for the thread sanitizer: submissions, cancellations and ends interleave until the pool goes. */
#define STRESS_THREADS 4
#define STRESS_JOBS 64
#define STRESS_ROUNDS 4000

struct stress_job {
    struct pool_work work;
    struct stress *stress;
    unsigned long own; /* touched by the worker and by done, never guarded: what the pool promises */
    bool in_flight;
};

struct stress {
    struct stress_job jobs[STRESS_JOBS];
    unsigned long ran, cancelled, submitted, busy;
    uint64_t rng;
};

static int stress_work(void *ctx)
{
    struct stress_job *j = ctx;

    for (unsigned i = 0; i < 50; i++)
        j->own = j->own * 31 + i;
    return 0;
}

static void stress_done(void *ctx, int result)
{
    struct stress_job *j = ctx;

    j->own++;
    j->in_flight = false;
    if (result == -ERR_CANCELLED)
        j->stress->cancelled++;
    else
        j->stress->ran++;
}

static void stress_step(struct stress *s, struct pool *p)
{
    struct error err = { 0 };

    s->rng = s->rng * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    struct stress_job *j = &s->jobs[(s->rng >> 33) % STRESS_JOBS];
    if (j->in_flight) {
        (void)pool_cancel(p, &j->work);
        return;
    }
    int r = pool_submit(p, &j->work, stress_work, stress_done, j, &err);
    if (r == -ERR_BUSY) {
        s->busy++;
        return;
    }
    ASSERT_OK(r);
    j->in_flight = true;
    s->submitted++;
}

/* The workers are held back at first, so that the queue fills and cancellations hit for certain. */
static void stress_run(struct stress *s, struct loop *l, struct pool *p)
{
    struct gate gate = GATE_INIT;
    struct job held[STRESS_THREADS] = { 0 };
    struct error err = { 0 };

    for (size_t i = 0; i < STRESS_THREADS; i++) {
        held[i].gate = &gate;
        ASSERT_OK(submit(p, &held[i], &err));
    }
    gate_await(&gate, STRESS_THREADS);
    for (unsigned round = 0; round < STRESS_ROUNDS; round++) {
        stress_step(s, p);
        if (round % 16 == 0)
            (void)loop_poll(l);
        if (round == STRESS_ROUNDS / 10)
            gate_open(&gate);
    }
    for (size_t i = 0; i < STRESS_THREADS; i++)
        run_until(l, &held[i].is_done);
}

TEST(stress_every_work_ends_once)
{
    _cleanup_(loop_free_p) struct loop *l = new_loop(NULL);
    static struct stress s;

    for (unsigned pass = 0; pass < 4; pass++) {
        struct pool *p = new_pool(l, STRESS_THREADS, STRESS_JOBS / 4);
        s = (struct stress){ .rng = pass };
        for (size_t i = 0; i < STRESS_JOBS; i++)
            s.jobs[i].stress = &s;
        stress_run(&s, l, p);
        if (pass % 2)
            pool_drain(p);
        (void)pool_free(p); /* in the midst of it, in every other pass */
        for (size_t i = 0; i < STRESS_JOBS; i++)
            assert_false(s.jobs[i].in_flight);
        assert_int_equal(s.ran + s.cancelled, s.submitted);
        assert_true(s.cancelled > 0);
        assert_true(s.busy > 0);
    }
}

TEST_MAIN()

/* The registry of metrics and its text. */
#include "tests/unit/test.h"

#include <float.h>
#include <math.h>

#include "base/cleanup.h"
#include "machinery/metrics.h"
#include "machinery/process_metrics.h"
#include "tests/unit/aborts.h"

static struct error err;

static const struct hash_seed seed = { 1, 2 };
static const char *const verb_and_code[] = { "verb", "code", NULL };
static const double bounds[] = { 0.005, 0.1, 1, 2.5 };

static struct metric_family *add_family(struct metrics *m, struct metric_desc desc)
{
    struct metric_family *f = NULL;

    ASSERT_OK(metrics_add_family(m, &desc, &f, &err));
    return f;
}

static struct metric *add_metric(struct metrics *m, struct metric_desc desc)
{
    struct metric *metric = NULL;

    ASSERT_OK(metrics_add_metric(m, &desc, &metric, &err));
    return metric;
}

/* Lives until the next call. */
static const char *text_of(const struct metrics *m)
{
    static struct buf out = { .len_max = 1 << 20 };

    buf_clear(&out);
    metrics_write(m, &out);
    ASSERT_INT(ERR_NONE, out.failed);
    return buf_cstr(&out);
}

TEST(an_empty_registry_has_no_text)
{
    _cleanup_(metrics_free_p) struct metrics *m = metrics_new(seed);

    ASSERT_STR("", text_of(m));
    (void)add_family(m, (struct metric_desc){ "a", "b", METRIC_COUNTER, verb_and_code });
    ASSERT_STR("", text_of(m));
}

TEST(families_are_sorted_by_name)
{
    _cleanup_(metrics_free_p) struct metrics *m = metrics_new(seed);

    metric_set(add_metric(m, (struct metric_desc){ "zoo_size", "Of animals.", METRIC_GAUGE }), -2.5);
    metric_add(add_metric(m, (struct metric_desc){ "ant_total", "Ants.", METRIC_COUNTER }), 3);
    (void)add_metric(m, (struct metric_desc){ "mid:x_9", "", METRIC_COUNTER });
    (void)add_metric(m, (struct metric_desc){ "ant", "One.", METRIC_GAUGE });
    ASSERT_STR("# HELP ant One.\n"
               "# TYPE ant gauge\n"
               "ant 0\n"
               "# HELP ant_total Ants.\n"
               "# TYPE ant_total counter\n"
               "ant_total 3\n"
               "# HELP mid:x_9 \n"
               "# TYPE mid:x_9 counter\n"
               "mid:x_9 0\n"
               "# HELP zoo_size Of animals.\n"
               "# TYPE zoo_size gauge\n"
               "zoo_size -2.5\n",
               text_of(m));
}

TEST(children_are_sorted_by_labels)
{
    _cleanup_(metrics_free_p) struct metrics *m = metrics_new(seed);
    struct metric_family *f =
        add_family(m, (struct metric_desc){ "requests_total", "Requests.", METRIC_COUNTER, verb_and_code });
    struct metric *put = metric_of(f, "PUT", "200");

    metric_add(metric_of(f, "GET", "404"), 1);
    metric_add(put, 2);
    metric_add(metric_of(f, "GET", "200"), 5);
    metric_add(metric_of(f, "PUT", "200"), 2);
    assert_ptr_equal(put, metric_of(f, "PUT", "200"));
    assert_float_equal(4, metric_value(put), 0);
    ASSERT_STR("# HELP requests_total Requests.\n"
               "# TYPE requests_total counter\n"
               "requests_total{verb=\"GET\",code=\"200\"} 5\n"
               "requests_total{verb=\"GET\",code=\"404\"} 1\n"
               "requests_total{verb=\"PUT\",code=\"200\"} 4\n",
               text_of(m));
}

TEST(texts_are_escaped)
{
    _cleanup_(metrics_free_p) struct metrics *m = metrics_new(seed);
    struct metric_family *f = add_family(m, (struct metric_desc){ "a", "one\\two\n\"three\"", METRIC_GAUGE,
                                                                  (const char *const[]){ "l", NULL } });

    (void)metric_of(f, "back\\slash \"quote\"\nline \xc3\xa4");
    (void)metric_of(f, "");
    ASSERT_STR("# HELP a one\\\\two\\n\"three\"\n"
               "# TYPE a gauge\n"
               "a{l=\"\"} 0\n"
               "a{l=\"back\\\\slash \\\"quote\\\"\\nline \xc3\xa4\"} 0\n",
               text_of(m));
}

/* Values that would run together without quotes between them are different children. */
TEST(label_values_do_not_run_together)
{
    _cleanup_(metrics_free_p) struct metrics *m = metrics_new(seed);
    struct metric_family *f = add_family(m, (struct metric_desc){ "a", "", METRIC_GAUGE, verb_and_code });

    assert_ptr_not_equal(metric_of(f, "a", "b"), metric_of(f, "a\",code=\"b", ""));
    assert_ptr_not_equal(metric_of(f, "ab", ""), metric_of(f, "a", "b"));
    assert_ptr_not_equal(metric_of(f, "\\n", ""), metric_of(f, "\n", ""));
}

TEST(histograms_count_up_to_their_bounds)
{
    _cleanup_(metrics_free_p) struct metrics *m = metrics_new(seed);
    struct metric *h = add_metric(m, (struct metric_desc){ "wait_seconds", "Waiting.", METRIC_HISTOGRAM,
                                                           .bounds = bounds, .bounds_count = 4 });
    static const double observed[] = { 0, 0.005, 0.0051, 1, 2.5, 2.6, 100, -1 };

    for (size_t i = 0; i < ARRAY_LEN(observed); i++)
        metric_observe(h, observed[i]);
    ASSERT_STR("# HELP wait_seconds Waiting.\n"
               "# TYPE wait_seconds histogram\n"
               "wait_seconds_bucket{le=\"0.005\"} 3\n"
               "wait_seconds_bucket{le=\"0.1\"} 4\n"
               "wait_seconds_bucket{le=\"1\"} 5\n"
               "wait_seconds_bucket{le=\"2.5\"} 6\n"
               "wait_seconds_bucket{le=\"+Inf\"} 8\n"
               "wait_seconds_sum 105.1101\n"
               "wait_seconds_count 8\n",
               text_of(m));
    assert_float_equal(105.1101, metric_value(h), 1e-9);
}

TEST(histograms_have_labels_too)
{
    _cleanup_(metrics_free_p) struct metrics *m = metrics_new(seed);
    struct metric_family *f = add_family(m, (struct metric_desc){ "w", "W.", METRIC_HISTOGRAM, verb_and_code,
                                                                  .bounds = bounds, .bounds_count = 1 });

    metric_observe(metric_of(f, "GET", "200"), 1);
    metric_observe(metric_of(f, "GET", "200"), (double)NAN);
    ASSERT_STR("# HELP w W.\n"
               "# TYPE w histogram\n"
               "w_bucket{verb=\"GET\",code=\"200\",le=\"0.005\"} 0\n"
               "w_bucket{verb=\"GET\",code=\"200\",le=\"+Inf\"} 2\n"
               "w_sum{verb=\"GET\",code=\"200\"} NaN\n"
               "w_count{verb=\"GET\",code=\"200\"} 2\n",
               text_of(m));
}

static double read_next(void *ctx)
{
    return ++*(double *)ctx;
}

TEST(readers_are_asked_at_each_scrape)
{
    _cleanup_(metrics_free_p) struct metrics *m = metrics_new(seed);
    struct metric *g = add_metric(m, (struct metric_desc){ "g", "G.", METRIC_GAUGE });
    double state = 5;

    metric_set_reader(g, read_next, &state);
    ASSERT_STR("# HELP g G.\n# TYPE g gauge\ng 6\n", text_of(m));
    ASSERT_STR("# HELP g G.\n# TYPE g gauge\ng 7\n", text_of(m));
    assert_float_equal(8, metric_value(g), 0);
}

/* --- Bounds --- */

TEST(children_past_the_bound_are_counted_together)
{
    _cleanup_(metrics_free_p) struct metrics *m = metrics_new(seed);
    struct metric_family *f =
        add_family(m, (struct metric_desc){ "a", "A.", METRIC_COUNTER, (const char *const[]){ "l", NULL },
                                            .children_max = 2 });
    struct metric *z = metric_of(f, "z");

    metric_add(z, 1);
    metric_add(metric_of(f, "y"), 1);
    ASSERT_STR("# HELP a A.\n# TYPE a counter\na{l=\"y\"} 1\na{l=\"z\"} 1\n", text_of(m));
    metric_add(metric_of(f, "x"), 1);
    metric_add(metric_of(f, "w"), 1);
    metric_add(metric_of(f, "other"), 1);
    assert_ptr_equal(z, metric_of(f, "z"));
    ASSERT_STR("# HELP a A.\n# TYPE a counter\na{l=\"y\"} 1\na{l=\"z\"} 1\na{l=\"other\"} 3\n", text_of(m));
}

/* There is only one child of these labels, whoever asks for it first. */
TEST(the_child_named_other_is_the_one)
{
    _cleanup_(metrics_free_p) struct metrics *m = metrics_new(seed);
    struct metric_family *f =
        add_family(m, (struct metric_desc){ "a", "A.", METRIC_COUNTER, (const char *const[]){ "l", NULL },
                                            .children_max = 1 });

    metric_add(metric_of(f, "other"), 1);
    (void)metric_of(f, "p");
    assert_ptr_equal(metric_of(f, "q"), metric_of(f, "other"));
    ASSERT_STR("# HELP a A.\n# TYPE a counter\na{l=\"p\"} 0\na{l=\"other\"} 1\n", text_of(m));
}

TEST(values_that_cannot_be_written_are_other)
{
    _cleanup_(metrics_free_p) struct metrics *m = metrics_new(seed);
    struct metric_family *f =
        add_family(m, (struct metric_desc){ "a", "A.", METRIC_COUNTER, (const char *const[]){ "l", NULL } });
    char fits[METRIC_LABELS_BYTES_MAX - sizeof "l=\"\"" + 2], long_one[sizeof fits + 1];

    memset(fits, 'x', sizeof fits);
    fits[sizeof fits - 1] = '\0';
    memset(long_one, 'x', sizeof long_one);
    long_one[sizeof long_one - 1] = '\0';
    metric_add(metric_of(f, long_one), 1);
    metric_add(metric_of(f, "\xff"), 1);
    ASSERT_STR("# HELP a A.\n# TYPE a counter\na{l=\"other\"} 2\n", text_of(m));
    assert_ptr_not_equal(metric_of(f, "other"), metric_of(f, fits));
    assert_ptr_not_equal(metric_of(f, "other"), metric_of(f, "short again"));
}

TEST(the_bound_holds_without_being_set)
{
    _cleanup_(metrics_free_p) struct metrics *m = metrics_new(seed);
    struct metric_family *f =
        add_family(m, (struct metric_desc){ "a", "A.", METRIC_COUNTER, (const char *const[]){ "l", NULL } });
    char value[16];

    for (unsigned i = 0; i < METRIC_CHILDREN_MAX + 10; i++) {
        (void)snprintf(value, sizeof value, "%04u", (i * 7) % 10000);
        metric_add(metric_of(f, value), 1);
    }
    assert_float_equal(10, metric_value(metric_of(f, "other")), 0);
    assert_float_equal(1, metric_value(metric_of(f, "0007")), 0);
}

/* --- What is refused --- */

TEST(a_name_is_taken_once)
{
    _cleanup_(metrics_free_p) struct metrics *m = metrics_new(seed);
    static const char *const names[] = { "b", "a", "d", "c" };
    struct metric_family *f = NULL;

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        (void)add_family(m, (struct metric_desc){ names[i], "", METRIC_COUNTER });
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        ASSERT_ERR(ERR_EXISTS,
                   metrics_add_family(m, &(struct metric_desc){ names[i], "", METRIC_GAUGE }, &f, &err));
        assert_null(f);
    }
    ASSERT_STR("metric 'c' already exists", err.msg);
}

static double read_seven(void *ctx)
{
    (void)ctx;
    return 7;
}

TEST(a_family_can_be_shared)
{
    _cleanup_(metrics_free_p) struct metrics *m = metrics_new(seed);
    static const char *const verb[] = { "verb", NULL }, *const code[] = { "code", NULL };
    const struct metric_desc rows[] = {
        { "shared", "", METRIC_GAUGE, .labels = verb_and_code },
        { "shared", "", METRIC_COUNTER, .labels = verb },
        { "shared", "", METRIC_COUNTER, .labels = code },
        { "shared", "", METRIC_COUNTER },
        { "shared", "", METRIC_COUNTER, .bounds = bounds, .bounds_count = 4, .labels = verb_and_code },
    };
    struct metric_desc desc = { "shared", "", METRIC_COUNTER, .labels = verb_and_code };
    struct metric_family *first = NULL, *second = NULL;

    ASSERT_OK(metrics_share_family(m, &desc, &first, &err));
    ASSERT_OK(metrics_share_family(m, &desc, &second, &err));
    assert_non_null(first);
    assert_ptr_equal(first, second);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_ABORTS((void)metrics_share_family(m, &rows[i], &second, &err));
    desc.name = "0";
    ASSERT_ERR(ERR_INVALID, metrics_share_family(m, &desc, &second, &err));
}

TEST(a_reader_can_be_taken_away)
{
    _cleanup_(metrics_free_p) struct metrics *m = metrics_new(seed);
    struct metric *gauge = add_metric(m, (struct metric_desc){ "g", "", METRIC_GAUGE });

    metric_set(gauge, 3);
    metric_set_reader(gauge, read_seven, NULL);
    assert_true(metric_value(gauge) == 7);
    metric_set_reader(gauge, NULL, NULL);
    assert_true(metric_value(gauge) == 3);
}

TEST(descriptions_are_checked)
{
    static const double down[] = { 1, 1 }, endless[] = { 1, (double)INFINITY };
    const struct {
        struct metric_desc desc;
        const char *expected;
    } rows[] = {
        { { "", "", METRIC_GAUGE }, "invalid metric name ''" },
        { { "9a", "", METRIC_GAUGE }, "invalid metric name '9a'" },
        { { "a-b", "", METRIC_GAUGE }, "invalid metric name 'a-b'" },
        { { "a", "", METRIC_GAUGE, (const char *const[]){ "ok", "a:b", NULL } },
          "metric 'a': invalid label name 'a:b'" },
        { { "a", "", METRIC_GAUGE, (const char *const[]){ "", NULL } }, "metric 'a': invalid label name ''" },
        { { "a", "", METRIC_GAUGE, (const char *const[]){ "le", NULL } },
          "metric 'a': invalid label name 'le'" },
        { { "a", "", METRIC_GAUGE, (const char *const[]){ "__x", NULL } },
          "metric 'a': invalid label name '__x'" },
        { { "a", "", METRIC_HISTOGRAM },
          "metric 'a': histograms need bounds, other types must not have any" },
        { { "a", "", METRIC_GAUGE, .bounds = bounds, .bounds_count = 2 },
          "metric 'a': histograms need bounds, other types must not have any" },
        { { "a", "", METRIC_HISTOGRAM, .bounds = down, .bounds_count = 2 },
          "metric 'a': bounds must be finite and increasing" },
        { { "a", "", METRIC_HISTOGRAM, .bounds = endless, .bounds_count = 2 },
          "metric 'a': bounds must be finite and increasing" },
    };
    _cleanup_(metrics_free_p) struct metrics *m = metrics_new(seed);
    struct metric_family *f = NULL;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ASSERT_ERR(ERR_INVALID, metrics_add_family(m, &rows[i].desc, &f, &err));
        ASSERT_STR(rows[i].expected, err.msg);
        assert_null(f);
    }
}

TEST(promises_of_the_caller)
{
    _cleanup_(metrics_free_p) struct metrics *m = metrics_new(seed);
    struct metric *counter = add_metric(m, (struct metric_desc){ "a", "", METRIC_COUNTER });
    struct metric_family *f = add_family(m, (struct metric_desc){ "b", "", METRIC_COUNTER, verb_and_code });

    ASSERT_ABORTS(metric_add(counter, -1));
    ASSERT_ABORTS(metric_observe(counter, 1));
    ASSERT_ABORTS(metric_of(f, "GET"));
    ASSERT_ABORTS(metric_of(f, "GET", "200", "more"));
}

/* --- Numbers --- */

TEST(numbers_are_written_as_prometheus_reads_them)
{
    static const struct {
        double value;
        const char *expected;
    } rows[] = {
        { 0, "0" },
        { 1, "1" },
        { -7, "-7" },
        { 1000000, "1000000" },
        { 9007199254740991.0, "9007199254740991" },
        { 9007199254740992.0, "9007199254740992" },
        { 1e300, "1e+300" },
        { 0.1, "0.1" },
        { 2.5, "2.5" },
        { -0.000001, "-1e-06" },
        { 0.1 + 0.2, "0.30000000000000004" },
        { 1.0 / 3, "0.3333333333333333" },
        { DBL_MAX, "1.7976931348623157e+308" },
        { DBL_MIN, "2.2250738585072014e-308" },
        { 1714557600.25, "1714557600.25" },
        { (double)NAN, "NaN" },
        { (double)INFINITY, "+Inf" },
        { -(double)INFINITY, "-Inf" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(buf_done_p) struct buf out = BUF_INIT(64);
        metrics_write_number(rows[i].value, &out);
        ASSERT_STR(rows[i].expected, buf_cstr(&out));
    }
}

/* --- The process --- */

TEST(the_process_shows_itself)
{
    static const char *const names[] = {
        "\n# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total ",
        "\n# TYPE process_open_fds gauge\nprocess_open_fds ",
        "\n# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes ",
        "\n# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds ",
    };
    _cleanup_(metrics_free_p) struct metrics *m = metrics_new(seed);
    const char *text;

    ASSERT_OK(process_metrics_add(m, &err));
    text = text_of(m);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *at = strstr(text, names[i]);
        assert_non_null(at);
        assert_true(strtod(at + strlen(names[i]), NULL) > (i == 0 ? -1 : 0));
    }
    ASSERT_ERR(ERR_EXISTS, process_metrics_add(m, &err));
}

/* --- Families that are asked --- */

struct shelf {
    const char *names[4];
    unsigned count;
};

static void collect_shelf(void *ctx, struct metric_sink *to)
{
    const struct shelf *s = ctx;

    for (unsigned i = 0; i < s->count; i++)
        metric_emit(to, i + 0.5, "a", s->names[i]);
}

TEST(samples_that_come_and_go_are_asked_for)
{
    static const char *const labels[] = { "kind", "name", NULL };
    _cleanup_(metrics_free_p) struct metrics *m = metrics_new(seed);
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(100000);
    struct metric_desc desc = {
        .name = "asked", .help = "H", .type = METRIC_GAUGE, .labels = labels, .children_max = 3
    };
    struct shelf s = { .names = { "x", "y\"", "z", "w" } };
    struct metric_family *f;
    char longer[METRIC_LABELS_BYTES_MAX + 1];

    ASSERT_OK(metrics_add_family(m, &desc, &f, &err));
    metric_set_collector(f, collect_shelf, &s);
    metrics_write(m, &out);
    ASSERT_STR("", buf_cstr(&out)); /* nothing to say, not even its name */
    s.count = 2;
    metrics_write(m, &out);
    ASSERT_STR("# HELP asked H\n# TYPE asked gauge\nasked{kind=\"a\",name=\"x\"} 0.5\n"
               "asked{kind=\"a\",name=\"y\\\"\"} 1.5\n",
               buf_cstr(&out));
    buf_clear(&out);
    s.count = 4; /* more than there may be; some are no labels */
    memset(longer, 'l', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    s.names[0] = longer;
    s.names[1] = "\xff";
    metrics_write(m, &out);
    ASSERT_STR("# HELP asked H\n# TYPE asked gauge\nasked{kind=\"a\",name=\"z\"} 2.5\n"
               "asked{kind=\"a\",name=\"w\"} 3.5\n",
               buf_cstr(&out));
    buf_clear(&out);
    s.names[0] = "x";
    s.names[1] = "y";
    metrics_write(m, &out);
    assert_null(strstr(buf_cstr(&out), "3.5"));
    buf_clear(&out);
    metric_set_collector(f, NULL, NULL);
    metrics_write(m, &out);
    ASSERT_STR("", buf_cstr(&out));
}

TEST_MAIN()

/* Node selectors, volume node affinity, allowed topologies: tables 4.2, 4.3 and 4.4. */
#include "tests/unit/test.h"

#include "api/node_selector.h"
#include "base/cleanup.h"

static struct error err;

#define ARENA_BYTES_MAX (1 << 20)
#define PARTS_MAX 4
#define VALUES_MAX 3

#define LABEL_VALUE                                                                                          \
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and "     \
    "must "                                                                                                  \
    "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used " \
    "for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

static const struct kv labels[] = {
    { "cores", "8" },     { "kubernetes.io/hostname", "n1" },
    { "negative", "-3" }, /* no valid label, but a node read from elsewhere may have it */
    { "word", "many" },   { "zone", "a" },
};

/* A requirement; fields stand apart by their key. */
struct row_part {
    const char *key, *op, *values[VALUES_MAX];
};

struct row_term {
    struct row_part parts[PARTS_MAX];
};

static void add_part(struct node_selector *sel, struct arena *a, const struct row_part *part)
{
    struct str values[VALUES_MAX];
    struct requirement_parts parts = { str_of(part->key), str_of(part->op), values, 0 };
    bool is_field = strncmp(part->key, "metadata.", 9) == 0;

    for (; parts.values_count < VALUES_MAX && part->values[parts.values_count]; parts.values_count++)
        values[parts.values_count] = str_of(part->values[parts.values_count]);
    if (is_field)
        ASSERT_OK(node_selector_add_field(sel, a, &parts, &err));
    else
        ASSERT_OK(node_selector_add_expression(sel, a, &parts, &err));
}

static void add_term(struct node_selector *sel, struct arena *a, const struct row_term *term)
{
    ASSERT_OK(node_selector_add_term(sel, a, &err));
    for (size_t i = 0; i < PARTS_MAX && term->parts[i].key; i++)
        add_part(sel, a, &term->parts[i]);
}

/* One term of one or two requirements: the answer with the node's name n1, and without a name. */
TEST(node_selector_single_terms)
{
    static const struct {
        struct row_term term;
        int with_name, without_name;
    } rows[] = {
        { { { { "zone", "In", { "a", "b" } } } }, 1, 1 },
        { { { { "zone", "In", { "b" } } } }, 0, 0 },
        { { { { "absent", "In", { "b" } } } }, 0, 0 },
        { { { { "zone", "NotIn", { "b" } } } }, 1, 1 },
        { { { { "zone", "NotIn", { "a" } } } }, 0, 0 },
        { { { { "absent", "NotIn", { "b" } } } }, 1, 1 },
        { { { { "zone", "Exists", { NULL } } } }, 1, 1 },
        { { { { "absent", "Exists", { NULL } } } }, 0, 0 },
        { { { { "zone", "DoesNotExist", { NULL } } } }, 0, 0 },
        { { { { "absent", "DoesNotExist", { NULL } } } }, 1, 1 },
        { { { { "cores", "Gt", { "7" } } } }, 1, 1 },
        { { { { "cores", "Gt", { "8" } } } }, 0, 0 },
        { { { { "cores", "Lt", { "9" } } } }, 1, 1 },
        { { { { "cores", "Lt", { "8" } } } }, 0, 0 },
        { { { { "cores", "Lt", { "9223372036854775807" } } } }, 1, 1 },
        { { { { "cores", "Gt", { "007" } } } }, 1, 1 },
        { { { { "negative", "Lt", { "0" } } } }, 1, 1 },
        { { { { "absent", "Gt", { "1" } } } }, 0, 0 },
        { { { { "word", "Gt", { "1" } } } }, 0, 0 },
        { { { { "word", "Lt", { "1" } } } }, 0, 0 },
        /* requirements are ANDed */
        { { { { "zone", "In", { "a" } }, { "cores", "Gt", { "4" } } } }, 1, 1 },
        { { { { "zone", "In", { "a" } }, { "cores", "Gt", { "8" } } } }, 0, 0 },
        /* fields: judged only when a name is given */
        { { { { "metadata.name", "In", { "n1" } } } }, 1, 1 },
        { { { { "metadata.name", "In", { "n2" } } } }, 0, 1 },
        { { { { "metadata.name", "NotIn", { "n1" } } } }, 0, 1 },
        { { { { "metadata.name", "NotIn", { "n2" } } } }, 1, 1 },
        { { { { "metadata.uid", "In", { "" } } } }, 1, 1 }, /* an absent field reads as "" */
        { { { { "metadata.uid", "NotIn", { "" } } } }, 0, 1 },
        { { { { "metadata.name", "In", { "n1" } }, { "zone", "In", { "b" } } } }, 0, 0 },
        { { { { "metadata.name", "In", { "n2" } }, { "zone", "In", { "a" } } } }, 0, 1 },
        /* neither expressions nor fields */
        { { { { NULL, NULL, { NULL } } } }, 0, 0 },
        /* wrong requirements */
        { { { { "zone", "In", { NULL } } } }, -ERR_INVALID, -ERR_INVALID },
        { { { { "zone", "Exists", { "a" } } } }, -ERR_INVALID, -ERR_INVALID },
        { { { { "zone", "Near", { "a" } } } }, -ERR_INVALID, -ERR_INVALID },
        { { { { "cores", "Gt", { NULL } } } }, -ERR_INVALID, -ERR_INVALID },
        { { { { "cores", "Gt", { "1", "2" } } } }, -ERR_INVALID, -ERR_INVALID },
        { { { { "cores", "Gt", { "x" } } } }, -ERR_INVALID, -ERR_INVALID },
        { { { { "cores", "Gt", { "-5" } } } }, -ERR_INVALID, -ERR_INVALID },
        { { { { "cores", "Lt", { "+5" } } } }, -ERR_INVALID, -ERR_INVALID },
        { { { { "bad key", "Exists", { NULL } } } }, -ERR_INVALID, -ERR_INVALID },
        { { { { "metadata.name", "Exists", { NULL } } } }, -ERR_INVALID, -ERR_INVALID },
        { { { { "metadata.name", "Gt", { "1" } } } }, -ERR_INVALID, -ERR_INVALID },
        { { { { "metadata.name", "In", { "n1", "n2" } } } }, -ERR_INVALID, -ERR_INVALID },
        { { { { "metadata.name", "NotIn", { NULL } } } }, -ERR_INVALID, -ERR_INVALID },
        { { { { "zone", "In", { "b" } }, { "zone", "Near", { "a" } } } }, -ERR_INVALID, -ERR_INVALID },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_done_p) struct arena a = ARENA_INIT(ARENA_BYTES_MAX);
        struct node_selector sel = { 0 };
        int with_name, without_name;

        add_term(&sel, &a, &rows[i].term);
        with_name = node_selector_matches(&sel, labels, ARRAY_LEN(labels), "n1", &err);
        without_name = node_selector_matches(&sel, labels, ARRAY_LEN(labels), NULL, &err);
        if (with_name != rows[i].with_name || without_name != rows[i].without_name)
            fail_msg("row %zu: %d with a name, %d without", i, with_name, without_name);
    }
}

TEST(node_selector_terms_are_ored)
{
    static const struct row_term matching = { { { "zone", "In", { "a" } } } },
                                 other = { { { "zone", "In", { "b" } } } },
                                 broken = { { { "zone", "Near", { "a" } } } },
                                 empty = { { { NULL, NULL, { NULL } } } };
    static const struct {
        const struct row_term *terms[3];
        int result;
    } rows[] = {
        { { NULL }, 0 },
        { { &other, &matching }, 1 },
        { { &matching, &other }, 1 },
        { { &other, &other }, 0 },
        { { &empty, &matching }, 1 },
        { { &empty, &empty }, 0 },
        { { &broken, &matching }, 1 },
        { { &matching, &broken }, 1 },
        { { &broken, &other }, -ERR_INVALID },
        { { &other, &empty, &broken }, -ERR_INVALID },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_done_p) struct arena a = ARENA_INIT(ARENA_BYTES_MAX);
        struct node_selector sel = { 0 };
        int result;

        for (size_t t = 0; t < 3 && rows[i].terms[t]; t++)
            add_term(&sel, &a, rows[i].terms[t]);
        result = node_selector_matches(&sel, labels, ARRAY_LEN(labels), "n1", &err);
        if (result != rows[i].result)
            fail_msg("row %zu: %d", i, result);
    }
}

TEST(node_selector_errors_name_the_place)
{
    static const struct {
        struct row_term terms[2];
        const char *message;
    } rows[] = {
        { { { { { "zone", "Near", { "a" } } } } },
          "nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: \"Near\": supported values: "
          "\"In\", "
          "\"NotIn\", \"Exists\", \"DoesNotExist\", \"Gt\", \"Lt\"" },
        { { { { { "metadata.name", "Exists", { NULL } } } } },
          "nodeSelectorTerms[0].matchFields[0].operator: Unsupported value: \"Exists\": supported values: "
          "\"In\", "
          "\"NotIn\"" },
        { { { { { "metadata.name", "In", { "a", "b" } } } } },
          "nodeSelectorTerms[0].matchFields[0].values: Invalid value: [\"a\",\"b\"]: must have one element" },
        { { { { { "zone", "In", { NULL } } } } },
          "nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: null: for 'in', 'notin' "
          "operators, values "
          "set can't be empty" },
        { { { { { "x", "Exists", { NULL } }, { "cores", "Lt", { "1", "2" } } } } },
          "nodeSelectorTerms[0].matchExpressions[1].values: Invalid value: [\"1\",\"2\"]: for 'Gt', 'Lt' "
          "operators, "
          "exactly one value is required" },
        { { { { { "cores", "Lt", { "-1" } } } } },
          "nodeSelectorTerms[0].matchExpressions[0].values[0][cores]: Invalid value: \"-1\": " LABEL_VALUE },
        { { { { { "/k", "Exists", { NULL } } } } },
          "nodeSelectorTerms[0].matchExpressions[0].key: Invalid value: \"/k\": prefix part must be "
          "non-empty" },
        { { { { { "zone", "In", { NULL } } } }, { { { "metadata.name", "In", { NULL } } } } },
          "[nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: null: for 'in', 'notin' "
          "operators, values "
          "set can't be empty, nodeSelectorTerms[1].matchFields[0].values: Invalid value: null: must have "
          "one "
          "element]" },
        { { { { { "/k", "In", { NULL } } } } },
          "[nodeSelectorTerms[0].matchExpressions[0].key: Invalid value: \"/k\": prefix part must be "
          "non-empty, "
          "nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: null: for 'in', 'notin' "
          "operators, values "
          "set can't be empty]" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_done_p) struct arena a = ARENA_INIT(ARENA_BYTES_MAX);
        struct node_selector sel = { 0 };

        for (size_t t = 0; t < 2 && rows[i].terms[t].parts[0].key; t++)
            add_term(&sel, &a, &rows[i].terms[t]);
        ASSERT_ERR(ERR_INVALID, node_selector_matches(&sel, labels, ARRAY_LEN(labels), NULL, &err));
        ASSERT_STR(rows[i].message, err.msg);
    }
}

TEST(node_affinity_of_a_volume)
{
    static const struct row_term here = { { { "kubernetes.io/hostname", "In", { "n1" } } } },
                                 there = { { { "kubernetes.io/hostname", "In", { "n2" } } } },
                                 field = { { { "metadata.name", "In", { "n2" } } } },
                                 bad_field = { { { "metadata.name", "In", { NULL } } } };
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(ARENA_BYTES_MAX);
    struct node_selector sel_here = { 0 }, sel_there = { 0 }, sel_field = { 0 }, sel_bad = { 0 },
                         none = { 0 };

    add_term(&sel_here, &a, &here);
    add_term(&sel_there, &a, &there);
    add_term(&sel_field, &a, &field);
    add_term(&sel_bad, &a, &bad_field);
    ASSERT_OK(node_affinity_check(NULL, labels, ARRAY_LEN(labels), &err));
    ASSERT_OK(node_affinity_check(NULL, NULL, 0, &err));
    ASSERT_OK(node_affinity_check(&sel_here, labels, ARRAY_LEN(labels), &err));
    ASSERT_OK(node_affinity_check(&sel_field, labels, ARRAY_LEN(labels), &err)); /* fields are not judged */
    ASSERT_ERR(ERR_UNAVAILABLE, node_affinity_check(&sel_there, labels, ARRAY_LEN(labels), &err));
    ASSERT_STR("no matching NodeSelectorTerms", err.msg);
    ASSERT_ERR(ERR_UNAVAILABLE, node_affinity_check(&none, labels, ARRAY_LEN(labels), &err));
    ASSERT_ERR(ERR_INVALID, node_affinity_check(&sel_bad, labels, ARRAY_LEN(labels), &err));
}

TEST(topologies)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(ARENA_BYTES_MAX);
    const struct str ab[] = { STR_LIT("a"), STR_LIT("b") }, n1[] = { STR_LIT("n1") },
                     n2[] = { STR_LIT("n2") }, bad[] = { STR_LIT("!") };
    struct topology_selector sel = { 0 };
    size_t n = ARRAY_LEN(labels);

    assert_true(topology_selector_matches(&sel, labels, n)); /* no terms: everything */
    ASSERT_OK(topology_selector_add_term(&sel, &a, &err));
    assert_false(topology_selector_matches(&sel, labels, n)); /* an empty term: nothing */
    ASSERT_OK(topology_selector_add_expression(&sel, &a, STR_LIT("zone"), ab, 2, &err));
    assert_true(topology_selector_matches(&sel, labels, n));
    ASSERT_OK(topology_selector_add_expression(&sel, &a, STR_LIT("kubernetes.io/hostname"), n2, 1, &err));
    assert_false(topology_selector_matches(&sel, labels, n)); /* expressions are ANDed */
    ASSERT_OK(topology_selector_add_term(&sel, &a, &err));
    ASSERT_OK(topology_selector_add_expression(&sel, &a, STR_LIT("zone"), bad, 1, &err));
    assert_false(topology_selector_matches(&sel, labels, n)); /* a wrong term: nothing */
    ASSERT_OK(topology_selector_add_expression(&sel, &a, STR_LIT("zone"), ab, 2, &err));
    assert_false(topology_selector_matches(&sel, labels, n));
    ASSERT_OK(topology_selector_add_term(&sel, &a, &err));
    ASSERT_OK(topology_selector_add_expression(&sel, &a, STR_LIT("kubernetes.io/hostname"), n1, 1, &err));
    assert_true(topology_selector_matches(&sel, labels, n)); /* terms are ORed */
    assert_false(topology_selector_matches(&sel, NULL, 0));
}

TEST(node_selector_out_of_memory_is_an_error)
{
    const struct str values[] = { STR_LIT("a"), STR_LIT("b") };
    const struct requirement_parts good = { STR_LIT("zone"), STR_LIT("In"), values, 2 },
                                   wrong = { STR_LIT("zone"), STR_LIT("Near"), values, 2 },
                                   field = { STR_LIT("metadata.name"), STR_LIT("In"), values, 1 };
    enum { BYTES_MAX = 2 * ERROR_MSG_BYTES_MAX }; /* its problems are kept as one message */
    unsigned failures = 0;

    for (size_t bytes = 0; bytes < BYTES_MAX; bytes++) {
        _cleanup_(arena_done_p) struct arena a = ARENA_INIT(bytes), b = ARENA_INIT(bytes);
        struct node_selector sel = { 0 };
        struct topology_selector topology = { 0 };
        int r = node_selector_add_term(&sel, &a, &err);

        if (r == 0)
            r = node_selector_add_expression(&sel, &a, &good, &err);
        if (r == 0)
            r = node_selector_add_field(&sel, &a, &field, &err);
        if (r == 0)
            r = node_selector_add_expression(&sel, &a, &wrong, &err);
        if (r == 0)
            ASSERT_INT(-ERR_INVALID, node_selector_matches(&sel, labels, ARRAY_LEN(labels), NULL, &err));
        assert_true(r == 0 || r == -ERR_TOO_LARGE);
        failures += r < 0;
        r = topology_selector_add_term(&topology, &b, &err);
        if (r == 0)
            r = topology_selector_add_expression(&topology, &b, STR_LIT("zone"), values, 2, &err);
        assert_true(r == 0 || r == -ERR_TOO_LARGE);
    }
    assert_true(failures > 0);
    assert_true(failures < BYTES_MAX);
}

TEST_MAIN()

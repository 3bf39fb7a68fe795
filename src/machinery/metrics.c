/* Implementation of metrics: families sorted by name, children sorted by labels, and a hash map for lookups.
 *
 * All allocation happens when families and children are created; counting never allocates. */
#include "machinery/metrics.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"

/* Below this every integer is exactly representable as a double. */
#define WHOLE_NUMBER_MAX 9007199254740992.0

struct metric {
    const struct metric_family *family;
    char *labels;      /* as written, without braces: a="x",b="y" */
    double value;      /* of a histogram: the sum */
    uint64_t *buckets; /* of a histogram: one per bound and one for +Inf; not cumulative */
    metric_read_fn *read;
    void *read_ctx;
};

struct metric_family {
    struct metrics *owner;
    struct metric_desc desc;
    size_t labels_count;
    VEC(struct metric *) children; /* by labels */
    struct map by_labels;
    metric_collect_fn *collect; /* NULL: only children */
    void *collect_ctx;
    struct metric *other; /* created with the family, so that it never fails */
    bool other_is_used;
};

struct metrics {
    VEC(struct metric_family *) families; /* by name */
    struct hash_seed seed;
    struct buf labels; /* of the child to look up */
};

static const char *const type_names[] = {
    [METRIC_COUNTER] = "counter",
    [METRIC_GAUGE] = "gauge",
    [METRIC_HISTOGRAM] = "histogram",
};
static_assert(ARRAY_LEN(type_names) == METRIC_TYPE_COUNT, "name every type");

/* --- Lifecycle --- */

static struct metric *metric_free(struct metric *m)
{
    if (!m)
        return NULL;
    free(m->labels);
    free(m->buckets);
    free(m);
    return NULL;
}
DEFINE_CLEANUP(struct metric, metric_free)

static struct metric *metric_new(const struct metric_family *f, struct str labels)
{
    struct metric *m = calloc(1, sizeof *m);

    if (!m)
        return NULL;
    m->family = f;
    m->labels = strndup(labels.s, labels.len);
    if (f->desc.type == METRIC_HISTOGRAM)
        m->buckets = calloc(f->desc.bounds_count + 1, sizeof *m->buckets);
    if (!m->labels || (f->desc.type == METRIC_HISTOGRAM && !m->buckets))
        return metric_free(m);
    return m;
}

static struct metric_family *family_free(struct metric_family *f)
{
    if (!f)
        return NULL;
    map_done(&f->by_labels);
    for (size_t i = 0; i < f->children.count; i++)
        metric_free(f->children.items[i]);
    vec_done(&f->children);
    metric_free(f->other);
    free(f);
    return NULL;
}
DEFINE_CLEANUP(struct metric_family, family_free)

struct metrics *metrics_new(struct hash_seed seed)
{
    struct metrics *m = calloc(1, sizeof *m);

    if (!m)
        return NULL;
    m->seed = seed;
    buf_init(&m->labels, METRIC_LABELS_BYTES_MAX);
    return m;
}

struct metrics *metrics_free(struct metrics *m)
{
    if (!m)
        return NULL;
    for (size_t i = 0; i < m->families.count; i++)
        family_free(m->families.items[i]);
    vec_done(&m->families);
    buf_done(&m->labels);
    free(m);
    return NULL;
}

/* --- Families --- */

/* Letters, digits and underscores, no leading digit; colons only in metric names. */
static bool metric_name_is_valid(const char *name, bool may_have_colons)
{
    size_t len = strlen(name);
    const char *letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:";

    if (len == 0 || (name[0] >= '0' && name[0] <= '9'))
        return false;
    return strspn(name, letters) == len && (may_have_colons || !strchr(name, ':'));
}

static int check_desc(const struct metric_desc *desc, struct error *err)
{
    if (!metric_name_is_valid(desc->name, /* may_have_colons= */ true))
        return error_set(err, ERR_INVALID, "invalid metric name '%s'", desc->name);
    if ((desc->type == METRIC_HISTOGRAM) != (desc->bounds_count > 0))
        return error_set(err, ERR_INVALID,
                         "metric '%s': histograms need bounds, other types must not have any", desc->name);
    for (size_t i = 0; i < desc->bounds_count; i++)
        if (!isfinite(desc->bounds[i]) || (i > 0 && desc->bounds[i] <= desc->bounds[i - 1]))
            return error_set(err, ERR_INVALID, "metric '%s': bounds must be finite and increasing",
                             desc->name);
    for (const char *const *l = desc->labels; l && *l; l++)
        if (!metric_name_is_valid(*l, /* may_have_colons= */ false) || strncmp(*l, "__", 2) == 0 ||
            strcmp(*l, "le") == 0)
            return error_set(err, ERR_INVALID, "metric '%s': invalid label name '%s'", desc->name, *l);
    return 0;
}

/* The index of the family of that name, or where it would be inserted. */
static size_t family_index(const struct metrics *m, const char *name, bool *ret_found)
{
    size_t low = 0, high = m->families.count;

    *ret_found = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(m->families.items[middle]->desc.name, name);

        if (order == 0)
            *ret_found = true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Text with a backslash in front of the characters of `special`; a newline becomes \n. */
static void add_escaped(const char *text, const char *special, struct buf *out)
{
    for (;;) {
        size_t plain = strcspn(text, special);

        buf_add(out, text, plain);
        text += plain;
        if (!*text)
            return;
        buf_add_char(out, '\\');
        buf_add_char(out, *text == '\n' ? 'n' : *text);
        text++;
    }
}

/* The labels with these values, in the registry's buffer, which fails if they are too long. */
static struct str family_labels(const struct metric_family *f, const char *const *values)
{
    struct buf *out = &f->owner->labels;

    buf_clear(out);
    for (size_t i = 0; i < f->labels_count; i++) {
        if (i)
            buf_add_char(out, ',');
        buf_add_cstr(out, f->desc.labels[i]);
        buf_add_cstr(out, "=\"");
        add_escaped(values ? values[i] : "other", "\"\\\n", out);
        buf_add_char(out, '"');
    }
    return buf_str(out);
}

static struct metric_family *family_new(struct metrics *m, const struct metric_desc *desc)
{
    _cleanup_(family_free_p) struct metric_family *f = calloc(1, sizeof *f);

    if (!f)
        return NULL;
    f->owner = m;
    f->desc = *desc;
    if (!f->desc.children_max)
        f->desc.children_max = METRIC_CHILDREN_MAX;
    while (desc->labels && desc->labels[f->labels_count])
        f->labels_count++;
    map_init(&f->by_labels, m->seed);
    f->other = metric_new(f, family_labels(f, NULL));
    return f->other ? TAKE(f) : NULL;
}

int metrics_add_family(struct metrics *m, const struct metric_desc *desc, struct metric_family **ret,
                       struct error *err)
{
    _cleanup_(family_free_p) struct metric_family *f = NULL;
    bool is_taken;
    size_t at;
    int r = check_desc(desc, err);

    if (r < 0)
        return r;
    at = family_index(m, desc->name, &is_taken);
    if (is_taken)
        return error_set(err, ERR_EXISTS, "metric '%s' already exists", desc->name);
    f = family_new(m, desc);
    if (!f || vec_insert(&m->families, at, f) < 0)
        return error_no_memory(err);
    *ret = TAKE(f);
    return 0;
}

static bool families_agree(const struct metric_desc *a, const struct metric_desc *b)
{
    size_t i = 0;

    if (a->type != b->type || a->bounds_count != b->bounds_count || !a->labels != !b->labels)
        return false;
    while (a->labels && a->labels[i] && b->labels[i] && strcmp(a->labels[i], b->labels[i]) == 0)
        i++;
    return !a->labels || (!a->labels[i] && !b->labels[i]);
}

int metrics_share_family(struct metrics *m, const struct metric_desc *desc, struct metric_family **ret,
                         struct error *err)
{
    bool is_registered;
    size_t at = family_index(m, desc->name, &is_registered);

    if (!is_registered)
        return metrics_add_family(m, desc, ret, err);
    assert(families_agree(&m->families.items[at]->desc, desc));
    *ret = m->families.items[at];
    return 0;
}

int metrics_add_metric(struct metrics *m, const struct metric_desc *desc, struct metric **ret,
                       struct error *err)
{
    struct metric_family *f;
    int r;

    assert(!desc->labels);
    r = metrics_add_family(m, desc, &f, err);
    if (r < 0)
        return r;
    f->other_is_used = true; /* without labels there is one child, and it serves as "other" too */
    *ret = f->other;
    return 0;
}

/* --- Children --- */

static size_t child_index(const struct metric_family *f, const char *labels)
{
    size_t low = 0, high = f->children.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(f->children.items[middle]->labels, labels) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* NULL without memory, or with too many children. */
static struct metric *family_add_child(struct metric_family *f, struct str labels)
{
    _cleanup_(metric_free_p) struct metric *child = NULL;

    if (f->children.count >= f->desc.children_max || vec_reserve(&f->children, 1) < 0)
        return NULL;
    child = metric_new(f, labels);
    if (!child || map_put(&f->by_labels, str_of(child->labels), child, NULL) < 0)
        return NULL;
    (void)vec_insert(&f->children, child_index(f, child->labels), child); /* there is room */
    return TAKE(child);
}

struct metric *metric_child(struct metric_family *f, const char *const *values)
{
    struct metric *child = NULL;
    struct str labels;
    size_t count = 0;

    while (values[count])
        count++;
    assert(count == f->labels_count);
    labels = family_labels(f, values);
    if (!f->owner->labels.failed && str_is_utf8(labels) && !str_is(labels, f->other->labels)) {
        child = map_get(&f->by_labels, labels);
        if (!child)
            child = family_add_child(f, labels);
    }
    if (!child) {
        f->other_is_used = true;
        child = f->other;
    }
    return child;
}

void metric_add(struct metric *m, double amount)
{
    assert(m->family->desc.type == METRIC_GAUGE || amount >= 0);
    assert(m->family->desc.type != METRIC_HISTOGRAM);
    m->value += amount;
}

void metric_set(struct metric *m, double value)
{
    assert(m->family->desc.type != METRIC_HISTOGRAM);
    m->value = value;
}

void metric_observe(struct metric *m, double value)
{
    const struct metric_desc *desc = &m->family->desc;
    size_t i = 0;

    assert(desc->type == METRIC_HISTOGRAM);
    while (i < desc->bounds_count && !(value <= desc->bounds[i])) /* NaN is counted in the last bucket */
        i++;
    m->buckets[i]++;
    m->value += value;
}

void metric_set_reader(struct metric *m, metric_read_fn *read, void *ctx)
{
    assert(m->family->desc.type != METRIC_HISTOGRAM);
    m->read = read;
    m->read_ctx = ctx;
}

void metric_set_collector(struct metric_family *f, metric_collect_fn *collect, void *ctx)
{
    assert(f->desc.type != METRIC_HISTOGRAM);
    f->collect = collect;
    f->collect_ctx = ctx;
}

double metric_value(const struct metric *m)
{
    return m->read ? m->read(m->read_ctx) : m->value;
}

uint64_t metric_count(const struct metric *m)
{
    uint64_t count = 0;

    for (size_t i = 0; m->buckets && i <= m->family->desc.bounds_count; i++)
        count += m->buckets[i];
    return count;
}

/* --- The text --- */

void metrics_write_number(double value, struct buf *out)
{
    char text[32];

    if (isnan(value)) {
        buf_add_cstr(out, "NaN");
    } else if (isinf(value)) {
        buf_add_cstr(out, value > 0 ? "+Inf" : "-Inf");
    } else if (fabs(value) < WHOLE_NUMBER_MAX && !(floor(value) < value)) {
        buf_addf(out, "%" PRId64, (int64_t)value);
    } else {
        /* Fifteen digits survive a round trip through a double; seventeen distinguish any two. */
        for (int digits = 15; digits <= 17; digits++) {
            double back;

            (void)snprintf(text, sizeof text, "%.*g", digits, value);
            back = strtod(text, NULL);
            if (!(back < value) && !(back > value))
                break;
        }
        buf_add_cstr(out, text);
    }
}

/* name_suffix{labels} value */
static void write_line(const struct metric_family *f, const char *suffix, struct str labels, double value,
                       struct buf *out)
{
    buf_add_cstr(out, f->desc.name);
    buf_add_cstr(out, suffix);
    if (labels.len) {
        buf_add_char(out, '{');
        buf_add_str(out, labels);
        buf_add_char(out, '}');
    }
    buf_add_char(out, ' ');
    metrics_write_number(value, out);
    buf_add_char(out, '\n');
}

static void write_sample(const struct metric *m, const char *suffix, double value, struct buf *out)
{
    write_line(m->family, suffix, str_of(m->labels), value, out);
}

static void write_bucket(const struct metric *m, double bound, uint64_t cumulative, struct buf *out)
{
    buf_add_cstr(out, m->family->desc.name);
    buf_add_cstr(out, "_bucket{");
    buf_add_cstr(out, m->labels);
    buf_add_cstr(out, m->labels[0] ? ",le=\"" : "le=\"");
    metrics_write_number(bound, out);
    buf_add_cstr(out, "\"} ");
    metrics_write_number((double)cumulative, out);
    buf_add_char(out, '\n');
}

static void write_metric(const struct metric *m, struct buf *out)
{
    const struct metric_desc *desc = &m->family->desc;
    uint64_t count = 0;

    if (desc->type != METRIC_HISTOGRAM) {
        write_sample(m, "", metric_value(m), out);
        return;
    }
    for (size_t i = 0; i <= desc->bounds_count; i++) {
        count += m->buckets[i];
        write_bucket(m, i < desc->bounds_count ? desc->bounds[i] : (double)INFINITY, count, out);
    }
    write_sample(m, "_sum", m->value, out);
    write_sample(m, "_count", (double)count, out);
}

static void write_head(const struct metric_family *f, struct buf *out)
{
    buf_addf(out, "# HELP %s ", f->desc.name);
    add_escaped(f->desc.help, "\\\n", out);
    buf_addf(out, "\n# TYPE %s %s\n", f->desc.name, type_names[f->desc.type]);
}

struct metric_sink {
    const struct metric_family *family;
    struct buf *out;
    size_t count;
};

void metric_emit_sample(struct metric_sink *to, double value, const char *const *values)
{
    const struct metric_family *f = to->family;
    struct str labels = family_labels(f, values);

    if (f->owner->labels.failed || !str_is_utf8(labels) || to->count >= f->desc.children_max)
        return;
    if (to->count++ == 0)
        write_head(f, to->out);
    write_line(f, "", labels, value, to->out);
}

static void write_family(const struct metric_family *f, struct buf *out)
{
    if (f->collect) {
        f->collect(f->collect_ctx, &(struct metric_sink){ f, out, 0 });
        return;
    }
    if (!f->children.count && !f->other_is_used)
        return;
    write_head(f, out);
    for (size_t i = 0; i < f->children.count; i++)
        write_metric(f->children.items[i], out);
    if (f->other_is_used)
        write_metric(f->other, out);
}

void metrics_write(const struct metrics *m, struct buf *out)
{
    for (size_t i = 0; i < m->families.count; i++)
        write_family(m->families.items[i], out);
}

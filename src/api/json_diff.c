/* Differences between two JSON values as text. Recursion is limited by DIFF_DEPTH_MAX and objects by
 * DIFF_MEMBERS_MAX members, because each member is looked up linearly; beyond that both values are written as
 * a whole. */
#include "api/json_diff.h"

#include "base/cleanup.h"

#define DIFF_VALUE_BYTES_MAX ((size_t)512)
#define DIFF_DEPTH_MAX 8
#define DIFF_MEMBERS_MAX 64 /* members are searched linearly; larger objects are written as a whole */

struct diff {
    const struct json *d;
    struct buf *out;
    size_t from; /* start of this diff in out */
    bool is_full;
};

struct diff_place {
    const struct diff_place *up;
    struct str name;
};

static void place_write(const struct diff_place *p, struct buf *out)
{
    if (p->up)
        place_write(p->up, out);
    buf_addf(out, "%s%.*s", p->up ? "." : "", STR_ARG(p->name));
}

static void diff_line(struct diff *f, const struct diff_place *p, char sign, json_ref v)
{
    _cleanup_(buf_done_p) struct buf line = BUF_INIT(2 * DIFF_VALUE_BYTES_MAX);
    _cleanup_(buf_done_p) struct buf value = BUF_INIT(DIFF_VALUE_BYTES_MAX);

    if (!v || f->is_full)
        return;
    json_write(f->d, v, &value);
    buf_addf(&line, "%c ", sign);
    place_write(p, &line);
    buf_addf(&line, ": %s\n", value.failed ? "..." : buf_cstr(&value));
    f->is_full = line.failed || f->out->len - f->from + line.len > JSON_DIFF_BYTES_MAX;
    buf_add_str(f->out, f->is_full ? STR_LIT("...\n") : buf_str(&line));
}

static void diff_values(struct diff *f, const struct diff_place *p, unsigned depth, json_ref before,
                        json_ref after);

/* The members of before, in their order, then those that only after has. */
static void diff_members(struct diff *f, const struct diff_place *p, unsigned depth, json_ref before,
                         json_ref after)
{
    for (json_ref m = json_first(f->d, before); m; m = json_next(f->d, m)) {
        struct diff_place at = { p, json_key(f->d, m) };
        diff_values(f, &at, depth + 1, m, json_get_key(f->d, after, at.name));
    }
    for (json_ref m = json_first(f->d, after); m; m = json_next(f->d, m)) {
        struct diff_place at = { p, json_key(f->d, m) };
        if (!json_get_key(f->d, before, at.name))
            diff_values(f, &at, depth + 1, 0, m);
    }
}

static void diff_values(struct diff *f, const struct diff_place *p, unsigned depth, json_ref before,
                        json_ref after)
{
    bool are_objects = json_type(f->d, before) == JSON_OBJECT && json_type(f->d, after) == JSON_OBJECT;

    if (json_equal(f->d, before, after))
        return;
    if (are_objects && depth < DIFF_DEPTH_MAX && json_count(f->d, before) <= DIFF_MEMBERS_MAX &&
        json_count(f->d, after) <= DIFF_MEMBERS_MAX) {
        diff_members(f, p, depth, before, after);
        return;
    }
    diff_line(f, p, '-', before);
    diff_line(f, p, '+', after);
}

void json_diff(const struct json *d, const char *path, json_ref before, json_ref after, struct buf *out)
{
    struct diff f = { .d = d, .out = out, .from = out->len };
    struct diff_place p = { NULL, str_of(path) };

    diff_values(&f, &p, 0, before, after);
}

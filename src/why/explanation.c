#include "why/explanation.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_out.h"
#include "why/walk.h"

/* What a pass costs beside its walks. */
#define PASS_LOOKS 100
/* So many values are written for one look. */
#define VALUES_PER_LOOK 8

struct explanation {
    struct why_world world;
    struct why_question question;
    char *ns, *name;
    const char **provisioners;
    size_t explainer;
    struct object *object; /* a reference: its last version that was seen */
    struct json doc;
    struct report report;
    struct why_work work;
    json_ref next; /* the value that is written next; 0: the report is not made yet */
    size_t looks;
};

static const struct {
    enum kind kind;
    void (*explain)(const struct why_world *w, struct report *r, const struct object *o);
} explainers[] = {
    { KIND_CLAIM, why_claim },
    { KIND_VOLUME, why_volume },
    { KIND_POD, why_pod },
};

/* --- Life --- */

static int find_explainer(enum kind k, size_t *ret, struct error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(explainers); i++)
        if (explainers[i].kind == k) {
            *ret = i;
            return 0;
        }
    return error_set(err, ERR_BAD_REQUEST, "nothing explains %s", kind_info(k)->plural);
}

/* The names outlive the array that they are in. */
static int copy_provisioners(struct explanation *x)
{
    size_t count = 0;

    while (x->world.provisioners && x->world.provisioners[count])
        count++;
    x->provisioners = calloc(count + 1, sizeof *x->provisioners);
    if (!x->provisioners)
        return -ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        x->provisioners[i] = x->world.provisioners[i];
    x->world.provisioners = x->provisioners;
    return 0;
}

int explanation_new(const struct why_world *w, const struct why_question *q, struct explanation **ret,
                    struct error *err)
{
    const struct object *o = why_get(w, q->kind, q->ns, q->name);
    struct explanation *x;
    size_t explainer = 0;
    int r = find_explainer(q->kind, &explainer, err);

    if (r < 0)
        return r;
    if (!o)
        return error_set(err, ERR_NOT_FOUND, "%s \"%s\" not found", kind_info(q->kind)->plural, q->name);
    x = calloc(1, sizeof *x);
    if (!x)
        return error_no_memory(err);
    x->explainer = explainer;
    x->object = object_ref(o);
    x->world = *w;
    x->world.work = &x->work;
    x->question = *q;
    x->question.ns = x->ns = strdup(q->ns);
    x->question.name = x->name = strdup(q->name);
    json_init(&x->doc, WHY_BYTES_MAX);
    why_work_init(&x->work, &x->doc, q->shows_all);
    if (!x->ns || !x->name || copy_provisioners(x) < 0) {
        (void)explanation_free(x);
        return error_no_memory(err);
    }
    *ret = x;
    return 0;
}

struct explanation *explanation_free(struct explanation *x)
{
    if (!x)
        return NULL;
    why_work_done(&x->work);
    json_done(&x->doc);
    (void)object_unref(x->object);
    free(x->provisioners);
    free(x->ns);
    free(x->name);
    free(x);
    return NULL;
}

/* --- Slices --- */

/* From the beginning, with what the walks have found. */
static int make_report(struct explanation *x, struct error *err)
{
    const struct object *now = why_get(&x->world, x->question.kind, x->ns, x->name);

    if (now && now != x->object) {
        (void)object_unref(x->object);
        x->object = object_ref(now);
    }
    x->work.pass++;
    x->work.is_waiting = false;
    x->work.pass_looks = PASS_LOOKS;
    x->work.ignores_age = x->work.pass > EXPLANATION_PASSES_MAX;
    report_begin(&x->report, &x->doc, x->object->kind->name, x->ns, x->name, x->question.shows_all);
    explainers[x->explainer].explain(&x->world, &x->report, x->object);
    report_end(&x->report);
    if (!x->work.is_waiting)
        x->next = x->report.json;
    return json_check(&x->doc, err);
}

static void write_value(const struct json *d, json_ref v, struct buf *out)
{
    if (json_type(d, json_parent(d, v)) == JSON_OBJECT)
        json_out_key_str(out, json_key(d, v));
    if (json_first(d, v))
        buf_add_char(out, json_type(d, v) == JSON_OBJECT ? '{' : '[');
    else
        json_write(d, v, out);
}

/* The value behind this one and all that is in it, with what ends in between; 0 at the end. */
static json_ref write_ends(const struct explanation *x, json_ref v, struct buf *out)
{
    while (v != x->report.json && !json_next(&x->doc, v)) {
        v = json_parent(&x->doc, v);
        buf_add_char(out, json_type(&x->doc, v) == JSON_OBJECT ? '}' : ']');
    }
    if (v == x->report.json)
        return 0;
    buf_add_char(out, ',');
    return json_next(&x->doc, v);
}

/* As json_write() does it, in pieces. */
static size_t write_report(struct explanation *x, size_t looks_max, struct buf *out)
{
    size_t values = 0;

    while (x->next && values < looks_max * VALUES_PER_LOOK) {
        json_ref first = json_first(&x->doc, x->next);

        write_value(&x->doc, x->next, out);
        x->next = first ? first : write_ends(x, x->next, out);
        values++;
    }
    return values / VALUES_PER_LOOK + 1;
}

static int step(struct explanation *x, size_t looks_max, struct buf *out, struct error *err)
{
    int r = 0;

    x->looks = 0;
    while (r == 0 && x->looks < looks_max) {
        size_t left = looks_max - x->looks;

        if (x->next) {
            x->looks += write_report(x, left, out);
            r = x->next ? 0 : 1;
        } else if (x->work.is_waiting) {
            x->looks += why_work_step(&x->world, left);
            x->work.is_waiting = x->looks >= looks_max;
        } else {
            r = make_report(x, err);
            x->looks += x->work.pass_looks;
        }
        if (x->work.is_out_of_memory)
            return error_no_memory(err);
    }
    return r;
}

int explanation_step(struct explanation *x, size_t looks_max, struct buf *out, struct error *err)
{
    int r = step(x, looks_max, out, err), e;

    if (r <= 0)
        return r;
    e = buf_check(out, "report", err);
    return e < 0 ? e : r;
}

size_t explanation_looks(const struct explanation *x)
{
    return x->looks;
}

int why_explain(const struct why_world *w, const struct why_question *q, struct buf *out, struct error *err)
{
    _cleanup_(explanation_free_p) struct explanation *x = NULL;
    int r = explanation_new(w, q, &x, err);

    while (r == 0)
        r = explanation_step(x, EXPLANATION_SLICE_LOOKS, out, err);
    return r < 0 ? r : 0;
}

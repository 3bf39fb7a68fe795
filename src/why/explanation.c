/* Runs one explanation in slices: passes over the functions that explain, the walks that they request, and
 * the JSON of the report.
 *
 * A pass that needs an unfinished walk is discarded and repeated; nothing is written before a pass completes.
 */
#include "why/explanation.h"

#include <stdlib.h>
#include <string.h>

#include "api/json_out.h"
#include "why/why_walk.h"

/* Cost of a pass without its walks. */
#define PASS_LOOKS 100
/* JSON values written per look. */
#define VALUES_PER_LOOK 8

struct explanation {
    struct why_world world;
    struct why_question question;
    char *ns, *name;
    const char **provisioners;
    size_t explainer;
    struct object *object; /* a reference to the last version read */
    struct json doc;
    struct why_report report;
    struct why_work work;
    json_ref next; /* the next value to write; 0: the report is not complete */
    size_t looks;
};

static const struct {
    enum kind kind;
    void (*explain)(const struct why_world *w, struct why_report *r, const struct object *o);
} explainers[] = {
    { KIND_CLAIM, why_claim },           { KIND_VOLUME, why_volume },     { KIND_POD, why_pod },
    { KIND_ATTACHMENT, why_attachment }, { KIND_CSI_DRIVER, why_driver },
};

/* --- Create and free --- */

/* The caller's names outlive its array: only the array is copied. */
static int copy_provisioners(struct explanation *explanation)
{
    size_t count = 0;

    while (explanation->world.provisioners && explanation->world.provisioners[count])
        count++;
    explanation->provisioners = calloc(count + 1, sizeof *explanation->provisioners);
    if (!explanation->provisioners)
        return -ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        explanation->provisioners[i] = explanation->world.provisioners[i];
    explanation->world.provisioners = explanation->provisioners;
    return 0;
}

int explanation_new(const struct why_world *w, const struct why_question *q, struct explanation **ret,
                    struct error *err)
{
    const struct object *o = why_get(w, q->kind, q->ns, q->name);
    struct explanation *explanation;
    size_t explainer = 0;

    while (explainer < ARRAY_LEN(explainers) && explainers[explainer].kind != q->kind)
        explainer++;
    if (explainer == ARRAY_LEN(explainers))
        return error_set(err, ERR_BAD_REQUEST, "cannot explain %s", kind_info(q->kind)->plural);
    if (!o)
        return error_set(err, ERR_NOT_FOUND, "%s \"%s\" not found", kind_info(q->kind)->plural, q->name);
    explanation = calloc(1, sizeof *explanation);
    if (!explanation)
        return error_no_memory(err);
    explanation->explainer = explainer;
    explanation->object = object_ref(o);
    explanation->world = *w;
    explanation->world.work = &explanation->work;
    explanation->question = *q;
    explanation->question.ns = explanation->ns = strdup(q->ns);
    explanation->question.name = explanation->name = strdup(q->name);
    json_init(&explanation->doc, WHY_BYTES_MAX);
    why_work_init(&explanation->work, &explanation->doc, q->shows_all);
    if (!explanation->ns || !explanation->name || copy_provisioners(explanation) < 0) {
        (void)explanation_free(explanation);
        return error_no_memory(err);
    }
    *ret = explanation;
    return 0;
}

struct explanation *explanation_free(struct explanation *explanation)
{
    if (!explanation)
        return NULL;
    why_work_done(&explanation->work);
    json_done(&explanation->doc);
    (void)object_unref(explanation->object);
    free(explanation->provisioners);
    free(explanation->ns);
    free(explanation->name);
    free(explanation);
    return NULL;
}

/* --- Slices --- */

/* From the beginning, with the results of the walks. */
static int make_report(struct explanation *explanation, struct error *err)
{
    const struct object *now =
        why_get(&explanation->world, explanation->question.kind, explanation->ns, explanation->name);

    if (now && now != explanation->object) {
        (void)object_unref(explanation->object);
        explanation->object = object_ref(now);
    }
    explanation->work.pass++;
    explanation->work.is_waiting = false;
    explanation->work.pass_looks = PASS_LOOKS;
    explanation->work.ignores_age = explanation->work.pass > EXPLANATION_PASSES_MAX;
    report_begin(&explanation->report, &explanation->doc, explanation->object->kind->name, explanation->ns,
                 explanation->name, explanation->question.shows_all);
    explainers[explanation->explainer].explain(&explanation->world, &explanation->report,
                                               explanation->object);
    report_end(&explanation->report);
    if (!explanation->work.is_waiting)
        explanation->next = explanation->report.json;
    return json_check(&explanation->doc, err);
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

/* The value after this one and its members, and the brackets that close in between; 0 at the end. */
static json_ref write_ends(const struct explanation *explanation, json_ref v, struct buf *out)
{
    while (v != explanation->report.json && !json_next(&explanation->doc, v)) {
        v = json_parent(&explanation->doc, v);
        buf_add_char(out, json_type(&explanation->doc, v) == JSON_OBJECT ? '}' : ']');
    }
    if (v == explanation->report.json)
        return 0;
    buf_add_char(out, ',');
    return json_next(&explanation->doc, v);
}

/* Like json_write(), in slices. */
static size_t write_report(struct explanation *explanation, size_t looks_max, struct buf *out)
{
    size_t values = 0;

    while (explanation->next && values < looks_max * VALUES_PER_LOOK) {
        json_ref first = json_first(&explanation->doc, explanation->next);

        write_value(&explanation->doc, explanation->next, out);
        explanation->next = first ? first : write_ends(explanation, explanation->next, out);
        values++;
    }
    return values / VALUES_PER_LOOK + 1;
}

static int run_slice(struct explanation *explanation, size_t looks_max, struct buf *out, struct error *err)
{
    int r = 0;

    explanation->looks = 0;
    while (r == 0 && explanation->looks < looks_max) {
        size_t left = looks_max - explanation->looks;

        if (explanation->next) {
            explanation->looks += write_report(explanation, left, out);
            r = explanation->next ? 0 : 1;
        } else if (explanation->work.is_waiting) {
            explanation->looks += why_work_step(&explanation->world, left);
            explanation->work.is_waiting = explanation->looks >= looks_max;
        } else {
            r = make_report(explanation, err);
            explanation->looks += explanation->work.pass_looks;
        }
        if (explanation->work.is_out_of_memory)
            return error_no_memory(err);
    }
    return r;
}

int explanation_step(struct explanation *explanation, size_t looks_max, struct buf *out, struct error *err)
{
    int r = run_slice(explanation, looks_max, out, err), e;

    if (r <= 0)
        return r;
    e = buf_check(out, "report", err);
    return e < 0 ? e : r;
}

size_t explanation_looks(const struct explanation *explanation)
{
    return explanation->looks;
}

int why_explain(const struct why_world *w, const struct why_question *q, struct buf *out, struct error *err)
{
    _cleanup_(explanation_free_p) struct explanation *explanation = NULL;
    int r = explanation_new(w, q, &explanation, err);

    while (r == 0)
        r = explanation_step(explanation, EXPLANATION_SLICE_LOOKS, out, err);
    return r < 0 ? r : 0;
}

/* What is found, how it is put, and all rules in a row. */
#include "why/check.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Of an object's finalizers. */
#define FINALIZERS_MAX 5

const char *const severity_names[] = {
    [SEVERITY_ERROR] = "error",
    [SEVERITY_WARNING] = "warning",
    [SEVERITY_HINT] = "hint",
};
/* What people type for a kind. */
static const char *const words[KIND_COUNT] = {
    [KIND_CLASS] = "sc", [KIND_VOLUME] = "pv", [KIND_CLAIM] = "pvc",
    [KIND_POD] = "pod",  [KIND_NODE] = "node", [KIND_ATTACHMENT] = "volumeattachment",
};
static_assert(ARRAY_LEN(severity_names) == SEVERITY_COUNT, "name every severity");

void checkup_done(struct checkup *x)
{
    vec_done(&x->findings);
    vec_done(&x->hosts);
    arena_done(&x->texts);
}

/* --- Finding --- */

void finding_write_object(const struct finding *f, struct buf *out)
{
    buf_add_cstr(out, words[f->kind]);
    if (f->name[0])
        buf_addf(out, "/%s", f->name);
    if (f->ns[0])
        buf_addf(out, " -n %s", f->ns);
}

__attribute__((format(printf, 3, 0))) static void find(struct checkup *x, struct finding f, const char *fmt,
                                                       va_list args)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(65536), advice = BUF_INIT(4096);

    buf_addv(&text, fmt, args);
    buf_add_cstr(&advice, f.advice ? f.advice : "see 'berth why ");
    if (!f.advice) {
        finding_write_object(&f, &advice);
        buf_add_char(&advice, '\'');
    }
    f.text = arena_dup(&x->texts, buf_str(&text));
    f.advice = arena_dup(&x->texts, buf_str(&advice));
    if (!f.text || !f.advice || vec_push(&x->findings, f) < 0)
        x->is_out_of_memory = true;
}

void check_find(struct checkup *x, enum severity severity, const char *rule, const struct object *about,
                const char *advice, const char *fmt, ...)
{
    struct finding f = { severity, rule, about->kind->kind, about->ns, about->name, .advice = advice };
    va_list args;

    va_start(args, fmt);
    find(x, f, fmt, args);
    va_end(args);
}

void check_find_at(struct checkup *x, struct finding where, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    find(x, where, fmt, args);
    va_end(args);
}

/* --- What rules share --- */

int64_t check_age(const struct checkup *x, struct timestamp t)
{
    int64_t seconds = x->now.seconds - t.seconds;

    return timestamp_is_zero(t) || seconds < 0 ? 0 : seconds;
}

bool check_is_late(const struct checkup *x, struct timestamp since)
{
    return check_age(x, since) >= x->stuck_seconds;
}

const char *check_since(struct checkup *x, struct timestamp t)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(64);
    const char *kept;

    duration_human(check_age(x, t), &text);
    kept = arena_dup(&x->texts, buf_str(&text));
    return kept ? kept : "";
}

/* A driver or node that is missing may still come; that is then its owner's doing. */
bool check_is_permanent(const char *code)
{
    static const char *const codes[] = {
        "bad-class",
        "bad-selector",
        "claim-lost",
        "data-source",
        "driver-not-registered",
        "lost-reference",
        "misbound",
        "named-missing",
        "no-class",
        "no-class-set",
        "no-nodes",
        "no-provisioner",
        "no-such-claim",
        "no-such-config-map",
        "no-such-key",
        "no-such-secret",
        "no-volumes",
        "node-gone",
        "provisioner-disabled",
        "volume-gone",
    };

    for (size_t i = 0; i < ARRAY_LEN(codes); i++)
        if (strcmp(code, codes[i]) == 0)
            return true;
    return false;
}

static void write_holders(const struct checkup *x, const struct object *o, struct buf *out)
{
    size_t users = 0;
    const struct claim_user *u =
        o->kind->kind == KIND_CLAIM ? inventory_users(x->all, claim_of(o), &users) : NULL;

    if (o->finalizers.count == 0)
        buf_add_cstr(out, "nothing");
    for (uint32_t i = 0; i < o->finalizers.count && i < FINALIZERS_MAX; i++)
        buf_addf(out, "%s%s", i ? ", " : "", o->finalizers.items[i]);
    if (u)
        buf_addf(out, "; pod %s uses it", u->pod->obj.name);
}

void check_deleting(struct checkup *x, const struct object *o)
{
    _cleanup_(buf_done_p) struct buf holders = BUF_INIT(65536);

    if (!o->is_deleting || !check_is_late(x, o->deleted))
        return;
    write_holders(x, o, &holders);
    check_find(x, SEVERITY_WARNING, "deletion-stuck", o, NULL, "has been going for %s, held by %s",
               check_since(x, o->deleted), buf_cstr(&holders));
}

/* --- All rules --- */

static int compare(const void *a, const void *b)
{
    const struct finding *x = a, *y = b;
    int order = (int)x->severity - (int)y->severity;

    if (order == 0)
        order = strcmp(x->rule, y->rule);
    if (order == 0)
        order = (int)x->kind - (int)y->kind;
    if (order == 0)
        order = strcmp(x->ns, y->ns);
    if (order == 0)
        order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->text, y->text);
}

/* Several pods tell of the same claim: once is enough. */
static bool is_twin(const struct finding *a, const struct finding *b)
{
    return a->kind == KIND_CLAIM && b->kind == KIND_CLAIM && strcmp(a->rule, b->rule) == 0 &&
           strcmp(a->ns, b->ns) == 0 && strcmp(a->name, b->name) == 0;
}

static void put_in_order(struct checkup *x)
{
    size_t kept = 0;

    if (x->findings.count)
        qsort(x->findings.items, x->findings.count, sizeof *x->findings.items, compare);
    for (size_t i = 0; i < x->findings.count; i++) {
        const struct finding *f = &x->findings.items[i];

        if (kept && is_twin(f, &x->findings.items[kept - 1]))
            continue;
        x->counts[f->severity]++;
        x->findings.items[kept++] = *f;
    }
    x->findings.count = kept;
}

int checkup_run(struct checkup *x, struct error *err)
{
    check_classes(x);
    check_volumes(x);
    check_claims(x);
    check_pods(x);
    check_attachments(x);
    check_nodes(x);
    check_usage(x);
    check_disks(x);
    if (x->is_out_of_memory)
        return error_no_memory(err);
    put_in_order(x);
    return 0;
}

/* --- As JSON --- */

static json_ref finding_as_json(struct json *d, const struct finding *f)
{
    json_ref o = json_new_object(d);

    json_set_string(d, o, "severity", severity_names[f->severity]);
    json_set_string(d, o, "rule", f->rule);
    json_set_string(d, o, "kind", kind_info(f->kind)->name);
    if (f->ns[0])
        json_set_string(d, o, "namespace", f->ns);
    if (f->name[0])
        json_set_string(d, o, "name", f->name);
    json_set_string(d, o, "message", f->text);
    json_set_string(d, o, "advice", f->advice);
    return o;
}

json_ref checkup_as_json(const struct checkup *x, struct json *d)
{
    json_ref root = json_new_object(d), findings = json_new_array(d);

    for (size_t i = 0; i < x->findings.count; i++)
        json_append(d, findings, finding_as_json(d, &x->findings.items[i]));
    json_set(d, root, "errors", json_new_int(d, (int64_t)x->counts[SEVERITY_ERROR]));
    json_set(d, root, "warnings", json_new_int(d, (int64_t)x->counts[SEVERITY_WARNING]));
    json_set(d, root, "hints", json_new_int(d, (int64_t)x->counts[SEVERITY_HINT]));
    json_set(d, root, "waitingPods", json_new_int(d, (int64_t)x->waiting_pods));
    json_set(d, root, "waitingClaims", json_new_int(d, (int64_t)x->waiting_claims));
    json_set(d, root, "findings", findings);
    return root;
}

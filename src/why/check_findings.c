/* The findings of `berth check`: adding, sorting and writing them, and the list of all rules. */
#include "why/check.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "api/attachment.h"
#include "why/why_csi.h"

/* Finalizers named per object. */
#define FINALIZERS_MAX 5

const char *const severity_names[] = {
    [SEVERITY_ERROR] = "error",
    [SEVERITY_WARNING] = "warning",
    [SEVERITY_HINT] = "hint",
};
/* The short type names that users type. */
static const char *const words[KIND_COUNT] = {
    [KIND_CLASS] = "sc",
    [KIND_VOLUME] = "pv",
    [KIND_CLAIM] = "pvc",
    [KIND_POD] = "pod",
    [KIND_NODE] = "node",
    [KIND_ATTACHMENT] = "volumeattachment",
    [KIND_CSI_DRIVER] = "csidriver",
};
static_assert(ARRAY_LEN(severity_names) == SEVERITY_COUNT, "name every severity");

void checkup_done(struct checkup *checkup)
{
    vec_done(&checkup->findings);
    vec_done(&checkup->hosts);
    arena_done(&checkup->texts);
}

/* --- Adding findings --- */

void finding_write_object(const struct check_finding *f, struct buf *out)
{
    buf_add_cstr(out, words[f->kind]);
    if (f->name[0])
        buf_addf(out, "/%s", f->name);
    if (f->ns[0])
        buf_addf(out, " -n %s", f->ns);
}

__attribute__((format(printf, 3, 0))) static void add_finding(struct checkup *checkup, struct check_finding f,
                                                              const char *fmt, va_list args)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(65536), advice = BUF_INIT(4096);

    buf_addv(&text, fmt, args);
    buf_add_cstr(&advice, f.advice ? f.advice : "see 'berth why ");
    if (!f.advice) {
        finding_write_object(&f, &advice);
        buf_add_char(&advice, '\'');
    }
    f.text = arena_dup(&checkup->texts, buf_str(&text));
    f.advice = arena_dup(&checkup->texts, buf_str(&advice));
    if (!f.text || !f.advice || vec_push(&checkup->findings, f) < 0)
        checkup->is_out_of_memory = true;
}

void check_find(struct checkup *checkup, enum severity severity, const char *rule, const struct object *about,
                const char *advice, const char *fmt, ...)
{
    struct check_finding f = { severity, rule, about->kind->kind, about->ns, about->name, .advice = advice };
    va_list args;

    va_start(args, fmt);
    add_finding(checkup, f, fmt, args);
    va_end(args);
}

void check_find_at(struct checkup *checkup, struct check_finding where, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    add_finding(checkup, where, fmt, args);
    va_end(args);
}

/* --- Helpers for the rules --- */

int64_t check_age(const struct checkup *checkup, struct timestamp t)
{
    int64_t seconds = checkup->now.seconds - t.seconds;

    return timestamp_is_zero(t) || seconds < 0 ? 0 : seconds;
}

bool check_is_late(const struct checkup *checkup, struct timestamp since)
{
    return check_age(checkup, since) >= checkup->stuck_seconds;
}

const char *check_since(struct checkup *checkup, struct timestamp t)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(64);
    const char *kept;

    duration_human(check_age(checkup, t), &text);
    kept = arena_dup(&checkup->texts, buf_str(&text));
    return kept ? kept : "";
}

/* A missing driver or node counts, too: its owner has to start it. */
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

    return name_index(str_of(code), codes, (int)ARRAY_LEN(codes), -1) >= 0;
}

/* The finalizer and the component that removes it. */
static void write_blocker(const struct object *o, const char *finalizer, bool is_later, struct buf *out)
{
    const char *driver = NULL;
    enum csi_duty duty = why_csi_attacher_of(finalizer) ? CSI_DUTY_ATTACH : CSI_DUTY_PROVISION;

    if (o->kind->kind == KIND_ATTACHMENT)
        driver = ((const struct attachment *)(const void *)o)->attacher;
    else if (o->kind->kind == KIND_VOLUME && volume_of(o)->source.kind == SOURCE_CSI)
        driver = volume_of(o)->source.csi->driver;
    buf_addf(out, "%s%s", is_later ? ", " : "", finalizer);
    if (driver && (duty == CSI_DUTY_ATTACH || strcmp(finalizer, FINALIZER_EXTERNAL_RECLAIM) == 0))
        buf_addf(out, " (of %s for CSI driver %s)", csi_duty_sidecar(duty), driver);
}

static void write_blockers(const struct checkup *checkup, const struct object *o, struct buf *out)
{
    size_t users = 0;
    const struct claim_user *u =
        o->kind->kind == KIND_CLAIM ? inventory_users(checkup->all, claim_of(o), &users) : NULL;

    if (o->finalizers.count == 0)
        buf_add_cstr(out, "nothing");
    for (uint32_t i = 0; i < o->finalizers.count && i < FINALIZERS_MAX; i++)
        write_blocker(o, o->finalizers.items[i], i > 0, out);
    if (u)
        buf_addf(out, "; pod %s uses it", u->pod->obj.name);
}

void check_deleting(struct checkup *checkup, const struct object *o)
{
    _cleanup_(buf_done_p) struct buf holders = BUF_INIT(65536);

    if (!o->is_deleting || !check_is_late(checkup, o->deleted))
        return;
    write_blockers(checkup, o, &holders);
    check_find(checkup, SEVERITY_WARNING, "deletion-stuck", o, NULL,
               "has been Terminating for %s, blocked by %s", check_since(checkup, o->deleted),
               buf_cstr(&holders));
}

/* --- All rules --- */

static int compare_findings(const void *a, const void *b)
{
    const struct check_finding *left = a, *right = b;
    int order = (int)left->severity - (int)right->severity;

    if (order == 0)
        order = strcmp(left->rule, right->rule);
    if (order == 0)
        order = (int)left->kind - (int)right->kind;
    if (order == 0)
        order = strcmp(left->ns, right->ns);
    if (order == 0)
        order = strcmp(left->name, right->name);
    return order ? order : strcmp(left->text, right->text);
}

static void put_in_order(struct checkup *checkup)
{
    size_t kept = 0;

    if (checkup->findings.count)
        qsort(checkup->findings.items, checkup->findings.count, sizeof *checkup->findings.items,
              compare_findings);
    for (size_t i = 0; i < checkup->findings.count; i++) {
        const struct check_finding *f = &checkup->findings.items[i];
        const struct check_finding *last = kept ? &checkup->findings.items[kept - 1] : NULL;

        /* Several pods report the same claim: one finding is enough. */
        if (last && f->kind == KIND_CLAIM && last->kind == KIND_CLAIM && strcmp(f->rule, last->rule) == 0 &&
            strcmp(f->ns, last->ns) == 0 && strcmp(f->name, last->name) == 0)
            continue;
        checkup->counts[f->severity]++;
        checkup->findings.items[kept++] = *f;
    }
    checkup->findings.count = kept;
}

int checkup_run(struct checkup *checkup, struct error *err)
{
    check_classes(checkup);
    check_volumes(checkup);
    check_claims(checkup);
    check_pods(checkup);
    check_attachments(checkup);
    check_nodes(checkup);
    check_usage(checkup);
    check_disks(checkup);
    check_csi_drivers(checkup);
    if (checkup->is_out_of_memory)
        return error_no_memory(err);
    put_in_order(checkup);
    return 0;
}

/* --- As JSON --- */

static json_ref finding_as_json(struct json *d, const struct check_finding *f)
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

json_ref checkup_as_json(const struct checkup *checkup, struct json *d)
{
    json_ref root = json_new_object(d), findings = json_new_array(d);

    for (size_t i = 0; i < checkup->findings.count; i++)
        json_append(d, findings, finding_as_json(d, &checkup->findings.items[i]));
    json_set(d, root, "errors", json_new_int(d, (int64_t)checkup->counts[SEVERITY_ERROR]));
    json_set(d, root, "warnings", json_new_int(d, (int64_t)checkup->counts[SEVERITY_WARNING]));
    json_set(d, root, "hints", json_new_int(d, (int64_t)checkup->counts[SEVERITY_HINT]));
    json_set(d, root, "waitingPods", json_new_int(d, (int64_t)checkup->waiting_pods));
    json_set(d, root, "waitingClaims", json_new_int(d, (int64_t)checkup->waiting_claims));
    json_set(d, root, "findings", findings);
    return root;
}

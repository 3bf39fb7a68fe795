/* `berth why`: why a claim, a volume or a pod is as it is.
 *
 * A server of ours explains from its own caches and knows what is under way. In front of any other, and for
 * who may not ask there, the same functions judge here, from caches that are filled for the purpose. */
#include "cli/why.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/print.h"
#include "cli/resources.h"
#include "cli/session.h"
#include "io/env.h"
#include "why/text.h"
#include "why/world.h"

struct why_settings {
    struct session_settings session;
    const char *output;
    bool shows_all;
    bool is_verbose;
};

struct asking {
    struct why_settings settings;
    struct session session;
    struct resources resources;
    struct reply reply;
    struct why_question question;
    struct buf report; /* JSON */
};

/* --- Asking --- */

/* What is not there is complained of as everywhere else. */
static int check_object(struct asking *x)
{
    const struct kind_info *k = kind_info(x->question.kind);
    struct client_request q = { .verb = CLIENT_GET,
                                .kind = k,
                                .ns = k->is_namespaced ? x->question.ns : NULL,
                                .name = x->question.name };

    return session_ask(&x->session, &q, &x->reply) < 0 ? reply_complain(&x->reply, NULL, NULL) : CLI_OK;
}

/* --- Showing --- */

static int show(struct asking *x)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(SESSION_BYTES_MAX);
    struct json doc;
    struct error err;
    json_ref report;
    int status = CLI_OK;

    json_init(&doc, SESSION_BYTES_MAX);
    if (json_parse(&doc, buf_str(&x->report), &report, &err) < 0) {
        status = session_complain("the server's answer cannot be read: %s", err.msg);
    } else if (x->settings.output && strcmp(x->settings.output, "json") == 0) {
        print_json(&doc, report, &out);
    } else {
        const struct why_style style = { .is_verbose = x->settings.is_verbose, .is_ascii = !io_is_utf8() };

        why_text_write(&doc, report, &style, &out);
    }
    if (status == CLI_OK && buf_check(&out, "explanation", &err) < 0)
        status = session_complain("%s", err.msg);
    if (status == CLI_OK)
        print_out(&out);
    json_done(&doc);
    return status;
}

/* --- The verb --- */

static int read_arguments(struct asking *x, int args, char **argv)
{
    const struct resource *first = &x->resources.items[0];
    struct error err;

    if (args == 1 && !strchr(argv[1], '/') && !resource_type(str_of(argv[1])))
        return cli_fail_usage("why: name the object with its type, as pvc/%s", argv[1]);
    if (resources_read(args, argv + 1, &x->resources, &err) < 0)
        return session_complain("%s", err.msg);
    if (x->resources.count != 1 || !first->name)
        return cli_fail_usage("why: name one object, as pvc/NAME: see 'berth help why'");
    if (!why_type(first->kind->kind))
        return cli_fail_usage("why: a %s is not explained: pvc/NAME, pv/NAME and pod/NAME are",
                              first->kind->name);
    x->question = (struct why_question){ .kind = first->kind->kind,
                                         .ns = first->kind->is_namespaced ? x->session.ns : "",
                                         .name = first->name,
                                         .shows_all = x->settings.shows_all };
    return CLI_OK;
}

static int explain(struct asking *x)
{
    struct explainer *explainer = NULL;
    struct error err;
    int status = check_object(x);

    if (status != CLI_OK)
        return status;
    if (explainer_new(&x->session, x->question.ns, &explainer, &err) < 0 ||
        explainer_ask(explainer, &x->question, &x->report, &err) < 0)
        status = session_complain("%s", err.msg);
    explainer = explainer_free(explainer);
    return status == CLI_OK ? show(x) : status;
}

static int why_run(int argc, char **argv)
{
    struct asking x = { .report = BUF_INIT(SESSION_BYTES_MAX) };
    int args = 0, status = flags_parse(&cli_verb_why, argc, argv, &x.settings, &args);
    const char *output = x.settings.output;
    struct error err;

    if (status != CLI_OK)
        return status;
    if (args == 0)
        return cli_fail_usage("why: name an object, as pvc/NAME: see 'berth help why'");
    if (output && strcmp(output, "json") != 0 && strcmp(output, "text") != 0)
        return cli_fail_usage("why: -o is text or json, not '%s'", output);
    status =
        session_open(&x.settings.session, &x.session, &err) < 0 ? session_complain("%s", err.msg) : CLI_OK;
    if (status == CLI_OK)
        status = read_arguments(&x, args, argv);
    if (status == CLI_OK)
        status = explain(&x);
    buf_done(&x.report);
    reply_done(&x.reply);
    session_close(&x.session);
    return status;
}

static const struct flag why_flags[] = {
    FLAG_SHORT(struct why_settings, output, 'o', "output", "FORM", "text, or json for scripts"),
    FLAG_ON(struct why_settings, shows_all, "all", "every candidate, not only examples"),
    FLAG_SHORT_ON(struct why_settings, is_verbose, 'v', "verbose", "every operation and event"),
    SESSION_FLAGS(struct why_settings, session),
    { 0 },
};

const struct cli_verb cli_verb_why = {
    .name = "why",
    .group = CLI_ANSWERS,
    .usage = "why pvc/NAME | pv/NAME | pod/NAME",
    .summary = "Say why a claim, volume or pod is stuck, and what can be done",
    .flags = why_flags,
    .examples = "  berth why pvc/data                # why the claim is Pending, volume by volume\n"
                "  berth why pvc/data -n shop --all  # the same, with every volume there is\n"
                "  berth why pv/disk-3               # who has the volume, or why nobody can\n"
                "  berth why pod/web-0 -o json       # for scripts: {\"cause\":\"too-small\",...}\n",
    .args = "TYPE/NAME pvc pv pod",
    .run = why_run,
};

#include "cli/program.h"

#include <stdio.h>

#include "api/yaml.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "io/clock.h"
#include "io/file.h"
#include "io/job.h"

/* --- The file of settings --- */

/* One setting of the file: a flag's value, or a section. */
static int read_setting(struct json *d, json_ref m, const struct daemon_program *program,
                        const struct flag *flags, struct daemon_settings *s, struct error *err)
{
    enum json_type type = json_type(d, m);
    const char *name = arena_dup(&d->texts, json_key(d, m)), *value;
    int r = name ? daemon_read_section(program, name, d, m, s, err) : error_no_memory(err);

    if (r != 0)
        return r < 0 ? r : 0;
    /* An empty value is nobody's wish: it must not pass for the default. */
    if (flag_find(flags, str_of(name)) && (type == JSON_ARRAY || type == JSON_OBJECT || type == JSON_NULL))
        return error_set(err, ERR_INVALID, "setting '%s' is no single value%s", name,
                         type == JSON_ARRAY ? ": write a list as one text, with commas between" : "");
    value = type == JSON_TRUE ? "true" : type == JSON_FALSE ? "false" : arena_dup(&d->texts, json_text(d, m));
    return value ? flags_set_default(flags, s, name, value, err) : error_no_memory(err);
}

/* One document; or none, as in a file of comments that nobody has touched yet: then *ret stays 0. */
static int parse(struct json *d, struct str text, json_ref *ret, struct error *err)
{
    _cleanup_(yaml_reader_free_p) struct yaml_reader *reader = NULL;
    struct yaml_doc doc = { 0 }, more = { 0 };
    int e = yaml_reader_new(text, &reader, err);

    if (e == 0)
        e = yaml_reader_next(reader, d, &doc, err);
    if (e <= 0)
        return e;
    if (json_type(d, doc.root) != JSON_OBJECT)
        return error_set(err, ERR_BAD_REQUEST, "line %u: not lines of NAME: VALUE", (unsigned)doc.line);
    *ret = doc.root;
    e = yaml_reader_next(reader, d, &more, err);
    return e > 0 ? error_set(err, ERR_BAD_REQUEST, "a second document, on line %u", (unsigned)more.line) : e;
}

int program_read_file(struct json *doc, const char *path, const struct daemon_program *program,
                      const struct flag *flags, struct daemon_settings *s, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(PROGRAM_FILE_BYTES_MAX);
    json_ref root = 0;
    int e = io_read_file(path, PROGRAM_FILE_BYTES_MAX, &text, err);

    if (e == 0)
        e = parse(doc, buf_str(&text), &root, err);
    for (json_ref m = root ? json_first(doc, root) : 0; m && e == 0; m = json_next(doc, m))
        e = read_setting(doc, m, program, flags, s, err);
    return e < 0 ? error_wrap(err, "settings in '%s'", path) : 0;
}

/* --- The command line --- */

static void log_to_stderr(void *ctx, const char *line, size_t len)
{
    (void)ctx;
    (void)fwrite(line, 1, len, stderr); /* nobody to tell when it fails */
}

static int read_logger(const struct daemon_settings *s, struct logger *ret, struct error *err)
{
    struct logger l = { .clock = clock_system(), .sink = log_to_stderr };
    int r = log_level_parse(s->log_level ? s->log_level : "info", &l.level, err);

    if (r == 0)
        r = log_format_parse(s->log_format ? s->log_format : "text", &l.format, err);
    if (r == 0)
        *ret = l;
    return r;
}

/* The command line, then the file that it names. doc: of the file; the settings borrow its texts. */
static int read_settings(const struct cli_verb *verb, const struct daemon_program *program, int argc,
                         char **argv, struct json *doc, struct daemon_settings *s, struct logger *ret_logger)
{
    struct error err;
    int args, status = flags_parse(verb, argc, argv, s, &args);

    if (status != CLI_OK)
        return status;
    if (args > 0)
        return cli_fail_usage("%s: unexpected argument '%s': see 'berth help %s'", verb->name, argv[1],
                              verb->name);
    if ((s->config && program_read_file(doc, s->config, program, verb->flags, s, &err) < 0) ||
        daemon_settings_check(program, s, &err) < 0 || read_logger(s, ret_logger, &err) < 0)
        return cli_fail_usage("%s: %s", verb->name, err.msg);
    return CLI_OK;
}

int program_run(const struct cli_verb *verb, const struct daemon_program *program, int argc, char **argv)
{
    struct daemon_settings s = { 0 };
    struct logger logger;
    struct error err;
    struct json doc;
    struct daemon_end end;
    int status;

    json_init(&doc, PROGRAM_FILE_BYTES_MAX);
    status = read_settings(verb, program, argc, argv, &doc, &s, &logger);
    if (status == CLI_OK) {
        log_install(&logger);
        if (daemon_run(program, &s, &end, &err) < 0)
            status = cli_fail("%s: %s", verb->name, err.msg);
        else if (end.has_failed)
            status = CLI_FAILED;
        else
            log_info("stopped");
        if (end.has_abandoned)
            job_exit(status);
        log_install(NULL);
    }
    daemon_settings_done(&s);
    json_done(&doc);
    return status;
}

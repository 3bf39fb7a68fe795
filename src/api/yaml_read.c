/* Reads YAML: passes libyaml's events to the builder.
 *
 * libyaml is linear except for two things, both of which are limited here: every token costs a walk over the
 * open flow collections (`[[[[…`), and every %TAG directive one over the previous directives. */
#include "api/yaml.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "api/base64.h"
#include "api/yaml_int.h"
#include "base/cleanup.h"

/* Sum of open flow collections over all events: a fraction of a second. */
#define YAML_FLOW_WORK_MAX 20000000
#define YAML_TAG_DIRECTIVES_MAX 64

#define YAML_BINARY_TAG "tag:yaml.org,2002:binary"
#define YAML_MERGE_TAG "tag:yaml.org,2002:merge"

struct yaml_reader {
    struct str text;
    yaml_parser_t parser;
    bool json_first; /* the text may be JSON */
    bool ended;
    bool failed;
    uint32_t flow_depth;
    uint32_t flow_work;
    struct yaml_builder builder;
};

/* The result of one event. */
enum yaml_step { YAML_STEP_INSIDE, YAML_STEP_DOCUMENT, YAML_STEP_END };

/* True if the text may be JSON or YAML. */
static bool yaml_may_be_json(struct str text)
{
    struct str t = str_trim(text);

    return t.len && (t.s[0] == '{' || t.s[0] == '[');
}

/* True if the text is meant to be JSON, so that errors are reported as such. */
static bool yaml_is_json_like(struct str text)
{
    struct str t = str_trim(text);
    struct str inner = t.len ? str_trim((struct str){ t.s + 1, t.len - 1 }) : t;

    return yaml_may_be_json(text) && inner.len && memchr("\"{}[]", inner.s[0], 5);
}

/* Counts possible %TAG directives. They start a line, and a line may end with NEL, LS or PS; in UTF-16 with
 * any byte, and with zeros between the letters. */
static bool yaml_has_many_directives(struct str text)
{
    bool is_utf16 = memchr(text.s, '\0', text.len) != NULL;
    unsigned count = 0;

    for (size_t i = 0; i < text.len; i++) {
        unsigned char before = i ? (unsigned char)text.s[i - 1] : '\n';
        size_t t = i + (is_utf16 ? 2 : 1);
        if (text.s[i] == '%' && t < text.len && text.s[t] == 'T' &&
            (is_utf16 || before == '\n' || before == '\r' || before >= 0x80))
            count++;
    }
    return count > YAML_TAG_DIRECTIVES_MAX;
}

int yaml_reader_new(struct str text, struct yaml_reader **ret, struct error *err)
{
    struct yaml_reader *r;

    if (text.len && yaml_has_many_directives(text))
        return error_set(err, ERR_TOO_LARGE, "more than %d %%TAG directives", YAML_TAG_DIRECTIVES_MAX);
    r = calloc(1, sizeof *r);
    if (!r)
        return error_no_memory(err);
    if (!yaml_parser_initialize(&r->parser)) {
        free(r);
        return error_no_memory(err);
    }
    r->text = text;
    r->json_first = yaml_may_be_json(text);
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)(text.len ? text.s : ""), text.len);
    *ret = r;
    return 0;
}

struct yaml_reader *yaml_reader_free(struct yaml_reader *r)
{
    if (!r)
        return NULL;
    yaml_parser_delete(&r->parser);
    yaml_build_done(&r->builder);
    free(r);
    return NULL;
}

static struct yaml_at yaml_at(yaml_mark_t mark)
{
    return (struct yaml_at){ (uint32_t)mark.line + 1, (uint32_t)mark.column + 1 };
}

/* The position of the byte at an offset of the text. */
static struct yaml_at yaml_at_offset(struct str text, size_t offset)
{
    struct yaml_at at = { 1, 1 };

    for (size_t i = 0; i < offset && i < text.len; i++) {
        at.column++;
        if (text.s[i] == '\n')
            at = (struct yaml_at){ at.line + 1, 1 };
    }
    return at;
}

/* True if the line starts with white space that contains a tab. */
static bool yaml_line_has_tab(struct str text, size_t line)
{
    struct str rest = text, at = str_next(&rest, '\n');

    for (; line > 0 && rest.s; line--)
        at = str_next(&rest, '\n');
    for (size_t i = 0; i < at.len && (at.s[i] == ' ' || at.s[i] == '\t'); i++)
        if (at.s[i] == '\t')
            return true;
    return false;
}

static int yaml_syntax_error(const struct yaml_reader *r, struct error *err)
{
    const yaml_parser_t *p = &r->parser;
    const char *problem = p->problem ? p->problem : "invalid YAML";

    if (p->error == YAML_MEMORY_ERROR)
        return error_no_memory(err);
    if (p->error == YAML_READER_ERROR)
        return yaml_refuse(&r->builder, ERR_BAD_REQUEST, yaml_at_offset(r->text, p->problem_offset), err,
                           "%s", problem);
    if (yaml_line_has_tab(r->text, p->problem_mark.line))
        return yaml_refuse(&r->builder, ERR_BAD_REQUEST, yaml_at(p->problem_mark), err,
                           "found a tab: YAML is indented with spaces");
    if (!p->context || p->context_mark.line == p->problem_mark.line)
        return yaml_refuse(&r->builder, ERR_BAD_REQUEST, yaml_at(p->problem_mark), err, "%s", problem);
    return yaml_refuse(&r->builder, ERR_BAD_REQUEST, yaml_at(p->problem_mark), err, "%s (%s from line %zu)",
                       problem, p->context, p->context_mark.line + 1);
}

/* --- Scalars with tags --- */

static int yaml_read_binary(struct yaml_reader *r, struct str text, struct yaml_at at, struct buf *decoded,
                            struct yaml_scalar *ret, struct error *err)
{
    int result = base64_decode(text, decoded, err);

    if (result == -ERR_NO_MEMORY)
        return result;
    if (result < 0)
        return yaml_refuse(&r->builder, ERR_BAD_REQUEST, at, err,
                           "!!binary value contains invalid base64 data");
    if (!str_is_utf8(buf_str(decoded)))
        return yaml_refuse(&r->builder, ERR_BAD_REQUEST, at, err, "!!binary value is not UTF-8 text");
    ret->text = buf_str(decoded);
    return 0;
}

static enum yaml_kind yaml_kind_of_tag(const char *tag)
{
    static const struct {
        const char *tag;
        enum yaml_kind kind;
    } tags[] = {
        { YAML_NULL_TAG, YAML_KIND_NULL },
        { YAML_BOOL_TAG, YAML_KIND_BOOL },
        { YAML_INT_TAG, YAML_KIND_INT },
        { YAML_FLOAT_TAG, YAML_KIND_FLOAT },
        { YAML_TIMESTAMP_TAG, YAML_KIND_TIMESTAMP },
    };

    for (size_t i = 0; i < ARRAY_LEN(tags); i++)
        if (strcmp(tag, tags[i].tag) == 0)
            return tags[i].kind;
    return YAML_KIND_STRING;
}

/* A tag with a type requires a matching text; any other tag makes it a string. */
static int yaml_read_tagged(struct yaml_reader *r, const char *tag, struct str text, struct yaml_at at,
                            struct yaml_scalar *ret, struct error *err)
{
    enum yaml_kind kind = yaml_kind_of_tag(tag);
    struct str rest = text;
    struct str shown = yaml_excerpt(str_next(&rest, '\n'));
    bool is_float;

    if (kind == YAML_KIND_STRING)
        return 0;
    yaml_resolve(text, ret);
    is_float = ret->kind == YAML_KIND_INT || ret->kind == YAML_KIND_NOT_FINITE;
    if (ret->kind == kind || (kind == YAML_KIND_FLOAT && is_float))
        return 0;
    return yaml_refuse(&r->builder, ERR_BAD_REQUEST, at, err, "cannot decode %s `%.*s` as a %s",
                       yaml_kind_tag(ret->kind), STR_ARG(shown), yaml_kind_tag(kind));
}

static int yaml_on_scalar(struct yaml_reader *r, const yaml_event_t *event, struct error *err)
{
    struct str text = { (const char *)event->data.scalar.value, event->data.scalar.length };
    const char *tag = (const char *)event->data.scalar.tag;
    struct yaml_scalar s = { .kind = YAML_KIND_STRING, .text = text };
    _cleanup_(buf_done_p) struct buf decoded = BUF_INIT(text.len);
    struct yaml_at at = yaml_at(event->start_mark);
    int result = 0;

    if (tag && strcmp(tag, YAML_BINARY_TAG) == 0)
        result = yaml_read_binary(r, text, at, &decoded, &s, err);
    else if (tag)
        result = yaml_read_tagged(r, tag, text, at, &s, err);
    else if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
        yaml_resolve(text, &s);
    if (result < 0)
        return result;
    s.merges = str_is(text, "<<") &&
               (tag ? strcmp(tag, YAML_MERGE_TAG) == 0 : event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE);
    return yaml_build_scalar(&r->builder, &s, (const char *)event->data.scalar.anchor, at, err);
}

/* --- Events --- */

static int yaml_on_open(struct yaml_reader *r, const yaml_event_t *event, struct error *err)
{
    bool is_map = event->type == YAML_MAPPING_START_EVENT;
    const yaml_char_t *anchor = is_map ? event->data.mapping_start.anchor : event->data.sequence_start.anchor;

    if (r->flow_depth || (is_map ? event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE
                                 : event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE))
        r->flow_depth++;
    return yaml_build_open(&r->builder, is_map ? JSON_OBJECT : JSON_ARRAY, (const char *)anchor,
                           yaml_at(event->start_mark), err);
}

/* The step, or an error. */
static int yaml_on_event(struct yaml_reader *r, const yaml_event_t *event, struct json *d, struct error *err)
{
    r->flow_work += r->flow_depth;
    if (r->flow_work > YAML_FLOW_WORK_MAX)
        return yaml_refuse(&r->builder, ERR_TOO_LARGE, yaml_at(event->start_mark), err,
                           "brackets and braces are nested too deeply");
    switch (event->type) {
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
        return YAML_STEP_INSIDE;
    case YAML_STREAM_END_EVENT:
        return YAML_STEP_END;
    case YAML_DOCUMENT_START_EVENT:
        yaml_build_start(&r->builder, d);
        return YAML_STEP_INSIDE;
    case YAML_DOCUMENT_END_EVENT:
        return YAML_STEP_DOCUMENT;
    case YAML_ALIAS_EVENT:
        return yaml_build_alias(&r->builder, (const char *)event->data.alias.anchor,
                                yaml_at(event->start_mark), err);
    case YAML_SCALAR_EVENT:
        return yaml_on_scalar(r, event, err);
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        return yaml_on_open(r, event, err);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        if (r->flow_depth)
            r->flow_depth--;
        return yaml_build_close(&r->builder, err);
    }
    return YAML_STEP_INSIDE;
}

static int yaml_step(struct yaml_reader *r, struct json *d, struct error *err)
{
    yaml_event_t event;
    int step;

    if (!yaml_parser_parse(&r->parser, &event))
        return yaml_syntax_error(r, err);
    step = yaml_on_event(r, &event, d, err);
    yaml_event_delete(&event);
    return step;
}

/* 1 with a document, 0 at the end of the stream. Documents without a value, or with null, are skipped. */
static int yaml_read_document(struct yaml_reader *r, struct json *d, struct yaml_doc *ret, struct error *err)
{
    int step;

    yaml_build_start(&r->builder, d); /* errors between documents have no field */
    do
        step = yaml_step(r, d, err);
    while (step == YAML_STEP_INSIDE ||
           (step == YAML_STEP_DOCUMENT && json_type(d, r->builder.root) == JSON_NULL));
    r->failed = step < 0;
    r->ended = step == YAML_STEP_END;
    if (step != YAML_STEP_DOCUMENT)
        return step < 0 ? step : 0;
    *ret = (struct yaml_doc){ r->builder.root, r->builder.line };
    return 1;
}

/* Parses the text as JSON, else as YAML. */
static int yaml_read_json_first(struct yaml_reader *r, struct json *d, struct yaml_doc *ret,
                                struct error *err)
{
    struct error json_err;
    size_t offset = (size_t)(str_trim(r->text).s - r->text.s);
    int result = json_parse(d, r->text, &ret->root, &json_err);

    if (result == 0) {
        r->ended = true;
        ret->line = yaml_at_offset(r->text, offset).line;
        return 1;
    }
    if (result == -ERR_BAD_REQUEST)
        result = yaml_read_document(r, d, ret, err);
    else
        *err = json_err;
    if (result == -ERR_BAD_REQUEST && yaml_is_json_like(r->text))
        *err = json_err;
    r->failed = result < 0;
    return result;
}

int yaml_reader_next(struct yaml_reader *r, struct json *d, struct yaml_doc *ret, struct error *err)
{
    assert(!r->failed);
    if (r->ended)
        return 0;
    if (!r->json_first)
        return yaml_read_document(r, d, ret, err);
    r->json_first = false;
    return yaml_read_json_first(r, d, ret, err);
}

static int yaml_parse_one(struct json *d, struct str text, bool may_be_json, json_ref *ret, struct error *err)
{
    _cleanup_(yaml_reader_free_p) struct yaml_reader *reader = NULL;
    struct yaml_doc doc, more;
    int r = yaml_reader_new(text, &reader, err);

    if (r < 0)
        return r;
    reader->json_first &= may_be_json;
    r = yaml_reader_next(reader, d, &doc, err);
    if (r == 0)
        return error_set(err, ERR_BAD_REQUEST, "the text contains no document");
    if (r > 0)
        r = yaml_reader_next(reader, d, &more, err);
    if (r > 0)
        return error_set(err, ERR_BAD_REQUEST, "line %u: unexpected second document", more.line);
    if (r == 0)
        *ret = doc.root;
    return r;
}

int yaml_parse(struct json *d, struct str text, json_ref *ret, struct error *err)
{
    return yaml_parse_one(d, text, /* may_be_json= */ false, ret, err);
}

int yaml_or_json_parse(struct json *d, struct str text, json_ref *ret, struct error *err)
{
    return yaml_parse_one(d, text, /* may_be_json= */ true, ret, err);
}

/* Parses templates into trees. Everything is in one arena; nesting is bounded by JSONPATH_DEPTH_MAX, which
 * counts ranges, filters and unions. Error messages are kubectl's where it has one. */
#include "cli/jsonpath_int.h"

#include <string.h>

#define ARENA_BYTES_MAX ((size_t)8 << 20)

struct parser {
    struct arena *arena;        /* records failures, which are checked at the end */
    struct jsonpath_node spare; /* used when memory is short */
    struct str rest;
    unsigned depth;
    struct error *err;
};

/* A list that grows at its end. */
struct chain {
    struct jsonpath_node *first;
    struct jsonpath_node **end;
};

static int parse_steps(struct parser *p, const char *stops, struct chain *out);
static int parse_field(struct parser *p, struct chain *out);

/* --- Characters --- */

static int peek_char(const struct parser *p)
{
    return p->rest.len ? (unsigned char)p->rest.s[0] : -1;
}

static void skip_chars(struct parser *p, size_t n)
{
    p->rest = (struct str){ p->rest.s + n, p->rest.len - n };
}

static void skip_blanks(struct parser *p)
{
    while (p->rest.len && strchr(" \t\r\n", p->rest.s[0]) && p->rest.s[0])
        skip_chars(p, 1);
}

static bool is_one_of(int c, const char *set)
{
    return c > 0 && strchr(set, c);
}

static int parser_fail(struct parser *p, const char *what)
{
    return error_set(p->err, ERR_INVALID, "%s", what);
}

static struct jsonpath_node *add_node(struct parser *p, struct chain *out, enum node_type type)
{
    struct jsonpath_node *n = arena_alloc(p->arena, sizeof *n);

    if (!n)
        return &p->spare;
    n->type = type;
    if (!out->end)
        out->end = &out->first;
    *out->end = n;
    out->end = &n->next;
    return n;
}

static int no_memory(struct parser *p)
{
    return arena_check(p->arena, p->err);
}

/* --- Names and texts --- */

/* A name up to a delimiter; a backslash escapes one. */
static int take_name(struct parser *p, struct str *ret)
{
    size_t end = 0, len = 0;
    char *name;

    while (end < p->rest.len && !is_one_of((unsigned char)p->rest.s[end], " \t\r\n.[]{}()'\",=!<>@$|&"))
        end += p->rest.s[end] == '\\' && end + 1 < p->rest.len ? 2 : 1;
    name = arena_dup(p->arena, (struct str){ p->rest.s, end });
    if (!name)
        return no_memory(p);
    for (size_t i = 0; i < end; i++) {
        i += name[i] == '\\' && i + 1 < end ? 1 : 0;
        name[len++] = name[i];
    }
    skip_chars(p, end);
    *ret = (struct str){ name, len };
    return 0;
}

static const char *escape_of(char c)
{
    static const char *const escapes[] = { "n\n", "t\t", "r\r", "\\\\", "\"\"",
                                           "''",  "b\b", "f\f", "a\a",  "v\v" };

    for (size_t i = 0; i < ARRAY_LEN(escapes); i++)
        if (escapes[i][0] == c)
            return escapes[i] + 1;
    return NULL;
}

static int take_quoted(struct parser *p, struct str *ret)
{
    size_t end = 1, len = 0;
    char *text;

    while (end < p->rest.len && p->rest.s[end] != p->rest.s[0])
        end += p->rest.s[end] == '\\' ? 2 : 1;
    if (end >= p->rest.len)
        return parser_fail(p, "unterminated quoted string");
    text = arena_dup(p->arena, (struct str){ p->rest.s + 1, end - 1 });
    if (!text)
        return no_memory(p);
    for (size_t i = 0; i < end - 1; i++) {
        const char *escaped = text[i] == '\\' ? escape_of(text[i + 1]) : NULL;

        i += escaped ? 1 : 0;
        text[len++] = escaped ? *escaped : text[i];
    }
    skip_chars(p, end + 1);
    *ret = (struct str){ text, len };
    return 0;
}

static bool take_int(struct parser *p, int64_t *ret)
{
    size_t len = peek_char(p) == '-' ? 1 : 0;

    while (len < p->rest.len && p->rest.s[len] >= '0' && p->rest.s[len] <= '9')
        len++;
    if (!str_to_int64((struct str){ p->rest.s, len }, ret))
        return false;
    skip_chars(p, len);
    return true;
}

/* --- Filters --- */

static int parse_literal(struct parser *p, struct chain *out)
{
    static const struct {
        const char *word;
        enum json_type type;
    } words[] = { { "true", JSON_TRUE }, { "false", JSON_FALSE }, { "null", JSON_NULL } };
    struct jsonpath_node *n = add_node(p, out, NODE_LITERAL);
    size_t len = 0;

    if (is_one_of(peek_char(p), "\"'")) {
        n->literal = JSON_STRING;
        return take_quoted(p, &n->text);
    }
    while (len < p->rest.len && !is_one_of((unsigned char)p->rest.s[len], " \t\r\n)=!<>]"))
        len++;
    n->text = (struct str){ p->rest.s, len };
    skip_chars(p, len);
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_is(n->text, words[i].word)) {
            n->literal = words[i].type;
            return 0;
        }
    n->literal = JSON_NUMBER;
    if (len == 0 || !is_one_of((unsigned char)n->text.s[0], "-+.0123456789"))
        return parser_fail(p, "filters compare only paths, texts, numbers, true, false and null");
    return 0;
}

static int parse_operand(struct parser *p, struct jsonpath_node **ret)
{
    struct chain out = { 0 };
    int r;

    skip_blanks(p);
    if (!is_one_of(peek_char(p), "@$.")) {
        r = parse_literal(p, &out);
    } else {
        struct chain steps = { 0 };
        struct jsonpath_node *n = add_node(p, &out, NODE_PATH);

        r = parse_steps(p, " \t\r\n)=!<>", &steps);
        n->steps = steps.first;
    }
    skip_blanks(p);
    *ret = out.first;
    return r;
}

static bool take_op(struct parser *p, enum filter_op *ret)
{
    static const struct {
        const char *text;
        enum filter_op op;
    } ops[] = { { "==", FILTER_EQ }, { "!=", FILTER_NE }, { "<=", FILTER_LE },
                { ">=", FILTER_GE }, { "<", FILTER_LT },  { ">", FILTER_GT } };

    for (size_t i = 0; i < ARRAY_LEN(ops); i++)
        if (str_has_prefix(p->rest, ops[i].text)) {
            skip_chars(p, strlen(ops[i].text));
            *ret = ops[i].op;
            return true;
        }
    return false;
}

/* After "[?(". */
static int parse_filter(struct parser *p, struct chain *out)
{
    struct jsonpath_node *n = add_node(p, out, NODE_FILTER);
    int r;

    r = parse_operand(p, &n->left);
    if (r == 0 && take_op(p, &n->op))
        r = parse_operand(p, &n->right);
    if (r < 0)
        return r;
    if (!str_has_prefix(p->rest, ")]"))
        return parser_fail(p, "unterminated filter");
    skip_chars(p, 2);
    return 0;
}

/* --- Brackets --- */

static int parse_slice(struct parser *p, struct jsonpath_node *n)
{
    struct slice *s = &n->slice;

    s->has_start = take_int(p, &s->start);
    skip_blanks(p);
    if (peek_char(p) != ':') {
        s->is_index = true;
        return s->has_start ? 0 : parser_fail(p, "invalid array index");
    }
    skip_chars(p, 1);
    s->has_end = take_int(p, &s->end);
    if (peek_char(p) == ':') {
        skip_chars(p, 1);
        s->has_step = take_int(p, &s->step);
    }
    return 0;
}

/* A quoted name is a path: ['metadata.name'] means .metadata.name, and a dot in a key has a backslash. */
static int parse_quoted_path(struct parser *p, struct chain *out)
{
    const char *end = p->rest.len ? memchr(p->rest.s + 1, p->rest.s[0], p->rest.len - 1) : NULL;
    struct parser inner = *p;
    int r;

    if (!end)
        return parser_fail(p, "unterminated array");
    inner.rest = (struct str){ p->rest.s + 1, (size_t)(end - p->rest.s) - 1 };
    skip_chars(p, inner.rest.len + 2);
    if (inner.rest.len == 0)
        return parser_fail(p, "invalid array index ''");
    r = parse_field(&inner, out);
    return r < 0 ? r : parse_steps(&inner, "", out);
}

/* One item between commas: an index, a slice, a quoted name, or '*'. */
static int parse_choice(struct parser *p, struct chain *out)
{
    struct jsonpath_node *n;

    skip_blanks(p);
    if (is_one_of(peek_char(p), "'\""))
        return parse_quoted_path(p, out);
    n = add_node(p, out, NODE_SLICE);
    if (peek_char(p) == '*') { /* only of lists, unlike ".*" */
        skip_chars(p, 1);
        return 0;
    }
    return parse_slice(p, n);
}

/* The steps of a single choice replace the brackets. */
static void add_choices(struct parser *p, struct jsonpath_node *choices, struct chain *out)
{
    if (choices && choices->next) {
        add_node(p, out, NODE_UNION)->choices = choices;
        return;
    }
    for (const struct jsonpath_node *step = choices ? choices->steps : NULL; step; step = step->next) {
        struct jsonpath_node *n = add_node(p, out, step->type);

        *n = *step;
        n->next = NULL;
    }
}

/* After "[". */
static int parse_brackets(struct parser *p, struct chain *out)
{
    struct chain choices = { 0 };

    if (str_has_prefix(p->rest, "?(")) {
        skip_chars(p, 2);
        return parse_filter(p, out);
    }
    for (;;) {
        struct jsonpath_node *n = add_node(p, &choices, NODE_PATH);
        struct chain steps = { 0 };

        if (parse_choice(p, &steps) < 0)
            return -(int)p->err->code;
        n->steps = steps.first;
        skip_blanks(p);
        if (peek_char(p) != ',')
            break;
        skip_chars(p, 1);
    }
    if (peek_char(p) != ']')
        return parser_fail(p, "unterminated array");
    skip_chars(p, 1);
    add_choices(p, choices.first, out);
    return 0;
}

/* --- Paths --- */

/* After the dot. */
static int parse_field(struct parser *p, struct chain *out)
{
    struct jsonpath_node *n;

    if (peek_char(p) == '.') { /* the second dot of ".." */
        (void)add_node(p, out, NODE_RECURSIVE);
        skip_chars(p, 1);
    }
    if (peek_char(p) == '*') {
        skip_chars(p, 1);
        (void)add_node(p, out, NODE_WILDCARD);
        return 0;
    }
    n = add_node(p, out, NODE_FIELD);
    if (take_name(p, &n->text) < 0)
        return -(int)p->err->code;
    if (n->text.len == 0) /* "{.}" is the object itself, and ".[0]" an item of it */
        n->type = NODE_SELF;
    return 0;
}

static int parse_step(struct parser *p, struct chain *out)
{
    struct jsonpath_node *n;

    switch (peek_char(p)) {
    case '@':
    case '$':
        skip_chars(p, 1);
        return 0;
    case '.':
        skip_chars(p, 1);
        return parse_field(p, out);
    case '[':
        skip_chars(p, 1);
        return parse_brackets(p, out);
    default:
        break;
    }
    if (is_one_of(peek_char(p), "]{}()'\",=!<>|&"))
        return error_set(p->err, ERR_INVALID, "unrecognized character in action: '%c'", peek_char(p));
    n = add_node(p, out, NODE_FIELD);
    return take_name(p, &n->text);
}

/* Up to one of the stops, or the end. */
static int parse_steps(struct parser *p, const char *stops, struct chain *out)
{
    int r = 0;

    if (++p->depth > JSONPATH_DEPTH_MAX)
        return parser_fail(p, "the template is nested too deeply");
    while (r == 0 && p->rest.len && !is_one_of(peek_char(p), stops)) {
        r = parse_step(p, out);
        if (!is_one_of(' ', stops))
            skip_blanks(p);
    }
    p->depth--;
    return r;
}

/* --- Templates --- */

static int parse_nodes(struct parser *p, bool is_inside, struct chain *out);

/* After "{range": the path, then everything up to "{end}". */
static int parse_range(struct parser *p, struct chain *out)
{
    struct chain steps = { 0 }, body = { 0 };
    struct jsonpath_node *n = add_node(p, out, NODE_RANGE);
    int r;

    skip_blanks(p);
    r = parse_steps(p, "}", &steps);
    if (r == 0 && peek_char(p) != '}')
        return parser_fail(p, "unclosed action");
    if (r < 0)
        return r;
    skip_chars(p, 1);
    if (++p->depth > JSONPATH_DEPTH_MAX)
        return parser_fail(p, "the template is nested too deeply");
    r = parse_nodes(p, /* is_inside= */ true, &body);
    p->depth--;
    n->steps = steps.first;
    n->body = body.first;
    return r;
}

static bool takes_word(struct parser *p, const char *word)
{
    size_t len = strlen(word);

    if (!str_has_prefix(p->rest, word) ||
        (p->rest.len > len && !is_one_of((unsigned char)p->rest.s[len], " \t\r\n}.[@$")))
        return false;
    skip_chars(p, len);
    return true;
}

/* After the brace: quoted texts and a path. */
static int parse_action(struct parser *p, struct chain *out)
{
    struct chain steps = { 0 };
    bool has_text = false;
    struct jsonpath_node *n;
    int r;

    skip_blanks(p);
    for (; is_one_of(peek_char(p), "\"'"); has_text = true) {
        n = add_node(p, out, NODE_TEXT);
        if (take_quoted(p, &n->text) < 0)
            return -(int)p->err->code;
        skip_blanks(p);
    }
    if (peek_char(p) != '}' || !has_text) { /* "{}" is the object itself */
        n = add_node(p, out, NODE_PATH);
        r = parse_steps(p, "}", &steps);
        if (r < 0)
            return r;
        n->steps = steps.first;
    }
    if (peek_char(p) != '}')
        return parser_fail(p, "unclosed action");
    skip_chars(p, 1);
    return 0;
}

static int parse_nodes(struct parser *p, bool is_inside, struct chain *out)
{
    while (p->rest.len) {
        const char *brace = memchr(p->rest.s, '{', p->rest.len);
        size_t len = brace ? (size_t)(brace - p->rest.s) : p->rest.len;
        int r;

        if (len) {
            struct jsonpath_node *n = add_node(p, out, NODE_TEXT);

            n->text = (struct str){ p->rest.s, len };
            skip_chars(p, len);
            continue;
        }
        skip_chars(p, 1);
        skip_blanks(p);
        if (takes_word(p, "end")) {
            skip_blanks(p);
            if (!is_inside || peek_char(p) != '}')
                return parser_fail(p, is_inside ? "unclosed action" : "not in range, nothing to end");
            skip_chars(p, 1);
            return 0;
        }
        r = takes_word(p, "range") ? parse_range(p, out) : parse_action(p, out);
        if (r < 0)
            return r;
    }
    return is_inside ? parser_fail(p, "unterminated range") : 0;
}

static int parse_template(struct str text, struct jsonpath **ret, struct error *err)
{
    _cleanup_(jsonpath_free_p) struct jsonpath *j = calloc(1, sizeof *j);
    struct parser p = { .err = err };
    struct chain nodes = { 0 };
    int r;

    if (!j)
        return error_no_memory(err);
    j->arena = ARENA_INIT(ARENA_BYTES_MAX);
    j->source = arena_dup(&j->arena, text);
    if (!j->source)
        return arena_check(&j->arena, err);
    p.arena = &j->arena;
    p.rest = (struct str){ j->source, text.len };
    r = parse_nodes(&p, /* is_inside= */ false, &nodes);
    if (r == 0)
        r = arena_check(&j->arena, err);
    if (r < 0)
        return r;
    j->nodes = nodes.first;
    *ret = TAKE(j);
    return 0;
}

int jsonpath_parse(struct str text, struct jsonpath **ret, struct error *err)
{
    if (text.len > JSONPATH_BYTES_MAX)
        return error_set(err, ERR_TOO_LARGE, "the template is longer than %zu bytes", JSONPATH_BYTES_MAX);
    return parse_template(text, ret, err);
}

int jsonpath_parse_path(struct str text, struct jsonpath **ret, struct error *err)
{
    _cleanup_(buf_done_p) struct buf full = BUF_INIT(JSONPATH_BYTES_MAX);
    struct str path = str_trim(text);
    int r;

    if (path.len >= 2 && path.s[0] == '{' && path.s[path.len - 1] == '}')
        path = (struct str){ path.s + 1, path.len - 2 };
    if (path.len == 0 || memchr(path.s, '{', path.len) || memchr(path.s, '}', path.len))
        return error_set(err, ERR_INVALID,
                         "unexpected path string, expected a 'name1.name2' or '.name1.name2' or "
                         "'{name1.name2}' or '{.name1.name2}'");
    buf_add_cstr(&full, path.s[0] == '.' || path.s[0] == '[' || path.s[0] == '$' ? "{" : "{.");
    buf_add_str(&full, path);
    buf_add_char(&full, '}');
    r = buf_check(&full, "path", err);
    return r < 0 ? r : parse_template(buf_str(&full), ret, err);
}

struct jsonpath *jsonpath_free(struct jsonpath *p)
{
    if (!p)
        return NULL;
    arena_done(&p->arena);
    free(p);
    return NULL;
}

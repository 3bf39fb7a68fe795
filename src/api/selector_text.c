/* Parses label selectors:
 *
 *     selector    = [ requirement { "," requirement } ]
 *     requirement = key | "!" key | key ("=" | "==" | "!=" | ">" | "<") [ value ]
 *                 | key ("in" | "notin") values
 *     values      = "(" [ value ] { "," [ value ] } ")"
 *
 * Keys and values are sequences of any characters except white space and =!(),<>; `in` and `notin` are only
 * words where an operator is expected. One token of lookahead; the contents of keys and values are checked
 * when the requirement is built. */
#include "api/selector.h"

#include <stdlib.h>

#include "api/names.h"
#include "api/quote.h"
#include "api/selector_int.h"
#include "base/cleanup.h"

enum token_type {
    TOKEN_END,
    TOKEN_WORD,
    TOKEN_COMMA,
    TOKEN_NOT,
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_EQUALS, /* = and == */
    TOKEN_NOT_EQUALS,
    TOKEN_GREATER,
    TOKEN_LESS,
};

struct token {
    enum token_type type;
    struct str text; /* "" at the end */
};

struct selector_parser {
    struct str rest;
    struct token ahead; /* not consumed yet */
    struct arena *arena;
    struct error *err;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_symbol(char c)
{
    return c && strchr("=!(),<>", c);
}

static enum token_type symbol_type(struct str s)
{
    switch (s.s[0]) {
    case ',':
        return TOKEN_COMMA;
    case '(':
        return TOKEN_OPEN;
    case ')':
        return TOKEN_CLOSE;
    case '>':
        return TOKEN_GREATER;
    case '<':
        return TOKEN_LESS;
    case '!':
        return s.len == 2 ? TOKEN_NOT_EQUALS : TOKEN_NOT;
    default:
        return TOKEN_EQUALS;
    }
}

/* Reads the next token into p->ahead and returns the previous one. */
static struct token take_token(struct selector_parser *p)
{
    struct token taken = p->ahead;
    size_t len = 0;

    while (p->rest.len && is_blank(p->rest.s[0]))
        p->rest = (struct str){ p->rest.s + 1, p->rest.len - 1 };
    if (p->rest.len == 0) {
        p->ahead = (struct token){ TOKEN_END, { p->rest.s, 0 } };
        return taken;
    }
    if (is_symbol(p->rest.s[0])) {
        len = str_has_prefix(p->rest, "==") || str_has_prefix(p->rest, "!=") ? 2 : 1;
        p->ahead.text = (struct str){ p->rest.s, len };
        p->ahead.type = symbol_type(p->ahead.text);
    } else {
        while (len < p->rest.len && !is_symbol(p->rest.s[len]) && !is_blank(p->rest.s[len]))
            len++;
        p->ahead = (struct token){ TOKEN_WORD, { p->rest.s, len } };
    }
    p->rest = (struct str){ p->rest.s + len, p->rest.len - len };
    return taken;
}

static int parser_refuse(struct selector_parser *p, struct token found, const char *expected)
{
    return error_set(p->err, ERR_BAD_REQUEST, "found '%.*s', expected: %s", STR_ARG(found.text), expected);
}

/* The values between the brackets, collected in the arena. */
struct value_list {
    struct str *items;
    size_t count;
    size_t room;
};

static int value_add(struct selector_parser *p, struct value_list *list, struct str value)
{
    struct str *items = selector_grow(p->arena, list->items, list->count, &list->room, sizeof *items);

    if (!items)
        return arena_check(p->arena, p->err);
    list->items = items;
    list->items[list->count++] = value;
    return 0;
}

static int value_cmp(const void *a, const void *b)
{
    const struct str *left = a, *right = b;

    return str_cmp(*left, *right);
}

/* Sorted and unique: messages count the values of the set, not those of the text. */
static void value_list_sort(struct value_list *list)
{
    size_t kept = 0;

    if (list->count > 1)
        qsort(list->items, list->count, sizeof *list->items, value_cmp);
    for (size_t i = 0; i < list->count; i++)
        if (kept == 0 || !str_eq(list->items[kept - 1], list->items[i]))
            list->items[kept++] = list->items[i];
    list->count = kept;
}

/* What follows a comma inside brackets; commas with nothing between them are empty values. Returns 1 if the
 * closing bracket is next. */
static int parse_after_comma(struct selector_parser *p, struct value_list *list)
{
    bool is_last = p->ahead.type == TOKEN_CLOSE;
    int r = 0;

    if (list->count == 0 || is_last) /* "(," and ",)" */
        r = value_add(p, list, STR_LIT(""));
    if (r == 0 && p->ahead.type == TOKEN_COMMA) { /* ",,": a word or a comma must follow, not a bracket */
        take_token(p);
        r = value_add(p, list, STR_LIT(""));
    }
    return r < 0 ? r : is_last;
}

/* Up to the closing bracket, which is not consumed. */
static int parse_value_list(struct selector_parser *p, struct value_list *list)
{
    int r;

    do {
        struct token t = take_token(p);
        if (t.type == TOKEN_COMMA) {
            r = parse_after_comma(p, list);
        } else if (t.type == TOKEN_WORD) {
            r = value_add(p, list, t.text);
            if (r == 0 && p->ahead.type != TOKEN_COMMA && p->ahead.type != TOKEN_CLOSE)
                return parser_refuse(p, p->ahead, "',' or ')'");
            if (r == 0)
                r = p->ahead.type == TOKEN_CLOSE;
        } else {
            return parser_refuse(p, t, "',', or identifier");
        }
    } while (r == 0);
    return r < 0 ? r : 0;
}

static int parse_values(struct selector_parser *p, struct value_list *list)
{
    struct token open = take_token(p);
    int r;

    if (open.type != TOKEN_OPEN) /* this text has no comma in the API */
        return error_set(p->err, ERR_BAD_REQUEST, "found '%.*s' expected: '('", STR_ARG(open.text));
    if (p->ahead.type == TOKEN_CLOSE)
        r = value_add(p, list, STR_LIT("")); /* "()" */
    else if (p->ahead.type == TOKEN_WORD || p->ahead.type == TOKEN_COMMA)
        r = parse_value_list(p, list);
    else
        r = parser_refuse(p, p->ahead, "',', ')' or identifier");
    if (r == 0)
        take_token(p); /* the closing bracket */
    return r;
}

/* The value after =, !=, > and <; may be empty. */
static int parse_exact_value(struct selector_parser *p, struct value_list *list)
{
    if (p->ahead.type == TOKEN_END || p->ahead.type == TOKEN_COMMA)
        return value_add(p, list, STR_LIT(""));
    struct token t = take_token(p);
    if (t.type != TOKEN_WORD)
        return parser_refuse(p, t, "identifier");
    return value_add(p, list, t.text);
}

static int parse_operator(struct selector_parser *p, enum selector_op *ret, bool *ret_is_set)
{
    struct token t = take_token(p);

    *ret_is_set = false;
    if (t.type == TOKEN_EQUALS) {
        *ret = SELECTOR_IN;
    } else if (t.type == TOKEN_NOT_EQUALS) {
        *ret = SELECTOR_NOT_IN;
    } else if (t.type == TOKEN_GREATER) {
        *ret = SELECTOR_GT;
    } else if (t.type == TOKEN_LESS) {
        *ret = SELECTOR_LT;
    } else if (t.type == TOKEN_WORD && (str_is(t.text, "in") || str_is(t.text, "notin"))) {
        *ret = str_is(t.text, "in") ? SELECTOR_IN : SELECTOR_NOT_IN;
        *ret_is_set = true;
    } else {
        return parser_refuse(p, t, "in, notin, =, ==, !=, gt, lt");
    }
    return 0;
}

static int parse_key(struct selector_parser *p, struct str *ret)
{
    _cleanup_(buf_done_p) struct buf details = BUF_INIT(4096);
    struct token t = take_token(p);
    struct name_problems broken;
    char quoted[ERROR_MSG_BYTES_MAX];

    if (t.type != TOKEN_WORD)
        return parser_refuse(p, t, "identifier");
    if (!name_check(NAME_QUALIFIED, t.text, &broken)) {
        name_problems_join(&broken, &details);
        return error_set(p->err, ERR_BAD_REQUEST, "<nil>: Invalid value: %s: %s",
                         quote_text(quoted, sizeof quoted, t.text), buf_cstr(&details));
    }
    *ret = t.text;
    return 0;
}

/* Parses the operator and its values. A key without an operator requires its presence; after "!" nothing more
 * is parsed. */
static int parse_condition(struct selector_parser *p, bool negated, enum selector_op *ret_op,
                           struct value_list *list)
{
    bool is_set;
    int r;

    if (negated) {
        *ret_op = SELECTOR_DOES_NOT_EXIST;
        return 0;
    }
    if (p->ahead.type == TOKEN_END || p->ahead.type == TOKEN_COMMA) {
        *ret_op = SELECTOR_EXISTS;
        return 0;
    }
    r = parse_operator(p, ret_op, &is_set);
    if (r < 0)
        return r;
    return is_set ? parse_values(p, list) : parse_exact_value(p, list);
}

static int parse_requirement(struct selector_parser *p, struct label_selector *sel)
{
    struct problems problems = { 0 };
    struct requirement_parts parts = { 0 };
    struct value_list list = { 0 };
    struct requirement made;
    enum selector_op op = SELECTOR_EXISTS;
    bool negated = p->ahead.type == TOKEN_NOT;
    int r;

    if (negated)
        take_token(p);
    r = parse_key(p, &parts.key);
    if (r == 0)
        r = parse_condition(p, negated, &op, &list);
    if (r < 0)
        return r;
    value_list_sort(&list);
    parts.values = list.items;
    parts.values_count = list.count;
    if (!requirement_make(&made, p->arena, &parts, op, "", &problems))
        return problems.count ? problems_error(&problems, ERR_BAD_REQUEST, p->err)
                              : arena_check(p->arena, p->err);
    return label_selector_push(sel, p->arena, &made) ? 0 : arena_check(p->arena, p->err);
}

int label_selector_parse(struct str text, struct arena *a, struct label_selector *ret, struct error *err)
{
    struct selector_parser p = { .rest = text, .arena = a, .err = err };
    struct label_selector sel = { 0 };

    if (!str_is_utf8(text)) /* no key or value is invalid UTF-8, and errors repeat the text */
        return error_set(err, ERR_BAD_REQUEST,
                         "unable to parse requirement: the selector is not valid UTF-8");
    take_token(&p);
    if (p.ahead.type != TOKEN_WORD && p.ahead.type != TOKEN_NOT && p.ahead.type != TOKEN_END)
        return parser_refuse(&p, p.ahead, "!, identifier, or 'end of string'");
    while (p.ahead.type != TOKEN_END) {
        int r = parse_requirement(&p, &sel);
        if (r < 0)
            return r == -ERR_BAD_REQUEST ? error_wrap(err, "unable to parse requirement") : r;
        struct token t = take_token(&p);
        if (t.type == TOKEN_END)
            break;
        if (t.type != TOKEN_COMMA)
            return parser_refuse(&p, t, "',' or 'end of string'");
        if (p.ahead.type != TOKEN_WORD && p.ahead.type != TOKEN_NOT)
            return parser_refuse(&p, p.ahead, "identifier after ','");
    }
    *ret = sel;
    return 0;
}

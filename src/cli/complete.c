/* Decides what a shell may complete at the cursor, from the words typed so far and the tables of verbs and
 * flags. Makes no requests. */
#include "cli/complete.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/flags.h"
#include "cli/resources.h"

/* --- Values of flags --- */

/* Values by flag, and by verb where they differ: the first matching row applies. */
static const struct {
    const char *verb; /* NULL: any verb */
    const char *flag;
    const char *words;
    bool is_list; /* a comma-separated list */
} flag_words[] = {
    { "get", "output", "table wide yaml json name jsonpath= custom-columns=", false },
    { "delete", "output", "name", false },
    { "describe", "output", "", false },
    { "why", "output", "text json", false },
    { "top", "output", "wide json", false },
    { "tree", "output", "json", false },
    { "check", "output", "json", false },
    { NULL, "output", "yaml json name jsonpath=", false },
    { "wait", "for",
      "create delete condition=Ready jsonpath={.status.phase}=Bound jsonpath={.status.phase}=Available "
      "jsonpath={.status.phase}=Running",
      false },
    { NULL, "cascade", "background foreground orphan", false },
    { NULL, "dry-run", "none client server", false },
    { NULL, "log-format", "text json", false },
    { NULL, "log-level", "error warn info debug trace", false },
    { "top", "sort-by", "used capacity percent name", false },
    { NULL, "sort-by", ".metadata.name .metadata.creationTimestamp", false },
    { NULL, "scenario", "attach backlog binder caches controllers csi leader node scheduler seats staged",
      false },
    { NULL, "subresource", "status", false },
    { NULL, "type", "strategic merge json", false },
    { NULL, "types", "Normal Warning", true },
    { NULL, "validate", "strict warn ignore", false },
    { NULL, "wait", "true false", false },
    { NULL, "without", "api controllers scheduler node", true },
};

/* --- Reading the words --- */

struct walk {
    const struct cli_verb *verb;
    struct complete_plan *plan;
    const struct flag *pending; /* the flag whose value is at the cursor */
    bool is_over;               /* after "--": no more flags */
    char **args;
    size_t args_count;
};

/* Records the flags that select the server and the namespace. */
static void note_flag(struct walk *w, const struct flag *f, const char *value)
{
    struct session_settings *s = &w->plan->session;
    const struct {
        const char *name;
        const char **place;
    } known[] = {
        { "namespace", &s->ns },
        { "data", &s->data },
        { "kubeconfig", &s->kubeconfig },
        { "context", &s->context },
    };

    if (f->type == FLAG_SWITCH) {
        if (strcmp(f->name, "all-namespaces") == 0)
            w->plan->is_everywhere = true;
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (strcmp(f->name, known[i].name) == 0)
            *known[i].place = value;
}

/* The value follows '=', or is the next word; next NULL: that word is at the cursor. Returns the number of
 * words used. */
static size_t take_value(struct walk *w, const struct flag *f, const char *value, const char *next)
{
    if (value || !flag_needs_value(f)) {
        note_flag(w, f, value ? value : f->alone);
        return 1;
    }
    if (next)
        note_flag(w, f, next);
    else
        w->pending = f;
    return 2;
}

/* An unknown flag is treated as a switch. */
static size_t take_flag(struct walk *w, const char *word, const char *next)
{
    const char *equals = strchr(word, '=');
    const struct flag *f;

    if (word[1] == '-') {
        struct str name = { word + 2, equals ? (size_t)(equals - word - 2) : strlen(word + 2) };

        f = flag_find(w->verb->flags, name);
        return f ? take_value(w, f, equals ? equals + 1 : NULL, next) : 1;
    }
    for (const char *at = word + 1; *at; at++) {
        f = flag_of_letter(w->verb->flags, *at);
        if (f && flag_needs_value(f))
            return take_value(w, f, at[1] ? at + 1 + (at[1] == '=') : NULL, next);
        if (f)
            note_flag(w, f, /* value= */ NULL);
    }
    return 1;
}

/* All words except the one at the cursor. */
static void walk_words(struct walk *w, char **words, size_t count)
{
    for (size_t i = 0; i + 1 < count;) {
        char *word = words[i];

        if (!w->is_over && strcmp(word, "--") == 0) {
            w->is_over = true;
            i++;
        } else if (w->is_over || word[0] != '-' || !word[1]) {
            w->args[w->args_count++] = word;
            i++;
        } else {
            i += take_flag(w, word, i + 2 < count ? words[i + 1] : NULL);
        }
    }
}

/* --- The word at the cursor --- */

/* Verbs with their own list of types also accept "class". */
static const struct kind_info *listed_type(const char *words, struct str type)
{
    struct str rest = str_of(words);
    const struct kind_info *k = resource_type(type);

    while (rest.s) {
        struct str word = str_next(&rest, ' ');

        if (str_eq(word, type) || (k && resource_type(word) == k))
            return k;
    }
    return NULL;
}

/* Extends kept by `len` bytes of the beginning of the prefix. */
static void extend_kept(struct complete_plan *p, size_t len)
{
    /* Both are adjacent parts of one word, or kept is still empty. */
    p->kept = p->kept.len ? (struct str){ p->kept.s, p->kept.len + len } : (struct str){ p->prefix.s, len };
    p->prefix = (struct str){ p->prefix.s + len, p->prefix.len - len };
}

/* TYPE/NAME. words: the allowed types; NULL for all. */
static void plan_pair(struct complete_plan *p, const char *words)
{
    const char *slash = memchr(p->prefix.s, '/', p->prefix.len);
    struct str type = { p->prefix.s, slash ? (size_t)(slash - p->prefix.s) : 0 };
    const struct kind_info *k = words ? listed_type(words, type) : resource_type(type);

    if (!slash) {
        p->what = COMPLETE_PAIRS;
        p->words = words;
    } else if (k) {
        p->what = COMPLETE_NAMES;
        p->kind = k;
        extend_kept(p, type.len + 1);
    }
}

/* After the last comma. */
static void keep_list(struct complete_plan *p)
{
    for (size_t i = p->prefix.len; i > 0; i--)
        if (p->prefix.s[i - 1] == ',') {
            extend_kept(p, i);
            return;
        }
}

static void plan_value(struct walk *w, const struct flag *f)
{
    struct complete_plan *p = w->plan;
    const char *value = f->value ? f->value : "";

    if (strcmp(value, "FILE") == 0) {
        p->what = COMPLETE_FILES;
    } else if (strcmp(value, "DIR") == 0) {
        p->what = COMPLETE_DIRS;
    } else if (strcmp(value, "TYPE/NAME") == 0) {
        plan_pair(p, /* words= */ NULL);
    } else if (strcmp(f->name, "context") == 0) {
        p->what = COMPLETE_CONTEXTS;
    } else if (strcmp(value, "NS") == 0 || strcmp(f->name, "node-name") == 0) {
        p->what = COMPLETE_NAMES;
        p->kind = kind_info(value[1] == 'S' ? KIND_NAMESPACE : KIND_NODE);
    }
    for (size_t i = 0; i < ARRAY_LEN(flag_words) && p->what == COMPLETE_NOTHING; i++) {
        if (strcmp(flag_words[i].flag, f->name) != 0 ||
            (flag_words[i].verb && strcmp(flag_words[i].verb, w->verb->name) != 0))
            continue;
        p->what = COMPLETE_WORDS;
        p->words = flag_words[i].words;
        if (flag_words[i].is_list)
            keep_list(p);
    }
}

/* TYPE NAME..., or TYPE/NAME... */
static void plan_object(struct walk *w)
{
    struct complete_plan *p = w->plan;
    struct str types = str_of(w->args_count ? w->args[0] : "");

    if (memchr(p->prefix.s, '/', p->prefix.len) || strchr(types.s, '/')) {
        plan_pair(p, /* words= */ NULL);
    } else if (w->args_count == 0) {
        p->what = COMPLETE_TYPES;
        keep_list(p);
    } else {
        p->kind = resource_type(str_next(&types, ','));
        p->what = p->kind ? COMPLETE_NAMES : COMPLETE_NOTHING;
        p->taken = w->args + 1;
        p->taken_count = w->args_count - 1;
    }
}

/* The text after the first word of .args. */
static const char *text_after_word(const char *args, const char *first)
{
    size_t len = strlen(first);

    return strncmp(args, first, len) == 0 && (args[len] == ' ' || !args[len])
               ? args + len + (args[len] == ' ')
               : NULL;
}

static void plan_argument(struct walk *w)
{
    const char *args = w->verb->args, *words;

    if (!args)
        return;
    if (text_after_word(args, "TYPE")) {
        plan_object(w);
    } else if ((words = text_after_word(args, "TYPE/NAME"))) {
        plan_pair(w->plan, words[0] ? words : NULL);
    } else if (w->args_count > 0) {
        return; /* the other values have their own list */
    } else if (text_after_word(args, "FILE")) {
        w->plan->what = COMPLETE_FILES;
    } else if (text_after_word(args, "COMMAND")) {
        w->plan->what = COMPLETE_COMMANDS;
    } else {
        w->plan->what = COMPLETE_WORDS;
        w->plan->words = args;
    }
}

void complete_plan(char **words, size_t count, struct complete_plan *ret)
{
    struct walk w = { .plan = ret, .args = words + 1 };
    const char *cursor, *equals;
    const struct flag *f;

    assert(count > 0);
    cursor = words[count - 1];
    equals = strchr(cursor, '=');
    *ret = (struct complete_plan){ .prefix = str_of(cursor) };
    if (count == 1) {
        ret->what = COMPLETE_COMMANDS;
        return;
    }
    w.verb = cli_find_verb(words[0]);
    if (!w.verb)
        return;
    walk_words(&w, words + 1, count - 1);
    if (w.pending) {
        plan_value(&w, w.pending);
    } else if (w.is_over || cursor[0] != '-') {
        plan_argument(&w);
    } else if (cursor[1] == '-' && equals) {
        f = flag_find(w.verb->flags, (struct str){ cursor + 2, (size_t)(equals - cursor - 2) });
        extend_kept(ret, (size_t)(equals + 1 - cursor));
        if (f)
            plan_value(&w, f);
    }
}

bool complete_is_plain(struct str word)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/@%+,-=";

    for (size_t i = 0; i < word.len; i++)
        if (!word.s[i] || !strchr(letters, word.s[i]))
            return false;
    return word.len > 0 && word.s[0] != '-';
}

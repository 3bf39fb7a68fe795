/* Reads types and names of objects from arguments, with the words that kubectl accepts and kubectl's errors.
 */
#include "cli/resources.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "cli/manifests.h"
#include "cli/suggest.h"

/* True when rest is "group", "version" or "version.group" of the kind. */
static bool kind_is_of(const struct kind_info *k, struct str rest)
{
    struct str group = rest, version = str_next(&group, '.');

    if (str_is(rest, k->group) && k->group[0])
        return true;
    return str_is(version, k->version) && (group.s ? str_is(group, k->group) : k->group[0] == '\0');
}

static bool word_is(struct str word, const char *name)
{
    return word.len == strlen(name) && strncasecmp(word.s, name, word.len) == 0;
}

/* Common words for these kinds. */
static const struct kind_info *kind_by_plain_word(struct str word)
{
    static const struct {
        const char *word;
        enum kind kind;
    } words[] = {
        { "volume", KIND_VOLUME }, { "volumes", KIND_VOLUME }, { "claim", KIND_CLAIM },
        { "claims", KIND_CLAIM },  { "class", KIND_CLASS },    { "classes", KIND_CLASS },
        { "va", KIND_ATTACHMENT },
    };

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (word_is(word, words[i].word))
            return kind_info(words[i].kind);
    return kind_by_word(word);
}

const struct kind_info *resource_type(struct str word)
{
    const struct kind_info *plain = kind_by_plain_word(word);
    struct str rest = word, first = str_next(&rest, '.');

    if (plain || !rest.s)
        return plain;
    for (unsigned i = 0; i < KIND_COUNT; i++) {
        const struct kind_info *k = kind_info((enum kind)i);

        if ((word_is(first, k->plural) || word_is(first, k->name)) && kind_is_of(k, rest))
            return k;
    }
    return NULL;
}

static int unknown_type(struct str word, struct error *err)
{
    char typed[SUGGEST_BYTES_MAX + 1];
    struct suggestion s = { .typed = typed };

    (void)snprintf(typed, sizeof typed, "%.*s", STR_ARG(word)); /* nothing is suggested for a longer one */
    for (unsigned i = 0; i < KIND_COUNT && word.len < sizeof typed; i++) {
        const struct kind_info *k = kind_info((enum kind)i);

        suggestion_consider(&s, k->plural);
        for (const char *const *name = k->short_names; name && *name; name++)
            suggestion_consider(&s, *name);
    }
    return error_set(err, ERR_NOT_FOUND, "the server doesn't have a resource type \"%.*s\"%s%s%s",
                     STR_ARG(word), s.best ? ": did you mean '" : "", s.best ? s.best : "",
                     s.best ? "'?" : "");
}

static int add_resource(struct resources *to, const struct kind_info *k, const char *name, struct error *err)
{
    if (to->count == RESOURCES_MAX)
        return error_set(err, ERR_TOO_LARGE, "more than %d resources given", RESOURCES_MAX);
    if (to->count && to->items[0].kind != k)
        to->has_several_types = true;
    to->items[to->count++] = (struct cli_resource){ .kind = k, .name = name };
    return 0;
}

/* One type with its names, or all objects of the type. */
static int add_type(struct resources *to, const struct kind_info *k, int names, char **name,
                    struct error *err)
{
    int r = 0;

    if (names == 0)
        return add_resource(to, k, NULL, err);
    for (int i = 0; i < names && r == 0; i++)
        r = add_resource(to, k, name[i], err);
    return r;
}

static int read_types(int argc, char **argv, struct resources *ret, struct error *err)
{
    struct str rest = str_of(argv[0]);
    int r = 0;

    while (rest.s && r == 0) {
        struct str word = str_next(&rest, ',');
        const struct kind_info *k = resource_type(word);

        if (word_is(word, "all")) { /* the kinds in that category: only pods */
            r = add_type(ret, kind_info(KIND_POD), argc - 1, argv + 1, err);
        } else if (word.len == 0 && rest.s) {
            continue;
        } else if (k) {
            r = add_type(ret, k, argc - 1, argv + 1, err);
        } else {
            r = unknown_type(word, err);
        }
    }
    return r;
}

static int read_pair(const char *argument, struct resources *ret, struct error *err)
{
    const char *slash = strchr(argument, '/');
    struct str word = { argument, slash ? (size_t)(slash - argument) : 0 };
    const struct kind_info *k;

    if (!slash)
        return error_set(err, ERR_INVALID,
                         "there is no need to specify a resource type as a separate argument when passing "
                         "arguments in resource/name form (e.g. 'berth get resource/<resource_name>' instead "
                         "of 'berth get resource resource/<resource_name>'");
    if (word.len == 0 || !slash[1] || strchr(slash + 1, '/'))
        return error_set(err, ERR_INVALID,
                         "arguments in resource/name form must have a single resource and name");
    k = resource_type(word);
    return k ? add_resource(ret, k, slash + 1, err) : unknown_type(word, err);
}

int resources_read(int argc, char **argv, struct resources *ret, struct error *err)
{
    bool has_slash = false;
    int r = 0;

    ret->count = 0;
    ret->has_several_types = false;
    if (argc == 1 && manifest_is_file_name(argv[0])) /* `berth delete claim.yaml` */
        return error_set(err, ERR_INVALID, "unexpected argument '%s': did you mean -f %s?", argv[0], argv[0]);
    for (int i = 0; i < argc; i++)
        has_slash = has_slash || strchr(argv[i], '/');
    if (!has_slash) {
        ret->has_names = argc > 1;
        return argc ? read_types(argc, argv, ret, err) : 0;
    }
    ret->has_names = ret->has_pairs = true;
    for (int i = 0; i < argc && r == 0; i++)
        r = read_pair(argv[i], ret, err);
    return r;
}

/* Reads the file of static tokens (CSV) and finds a token in it. Errors never contain the contents of a line.
 * A search compares every token completely. */
#include "apiserver/token_file.h"

#include <limits.h>
#include <stdio.h>

#include "apiserver/user.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/vec.h"
#include "io/file.h"
#include "io/path.h"

#define TOKEN_FIELDS_MAX 4

struct token_entry {
    struct str token;
    const struct user *user;
};

struct token_file {
    struct arena arena;
    VEC(struct token_entry) entries;
};

struct token_file *token_file_free(struct token_file *f)
{
    if (!f)
        return NULL;
    vec_done(&f->entries);
    arena_done(&f->arena);
    free(f);
    return NULL;
}

/* A quoted field; *at is its first quote, and after it the position after its last. False when the quote is
 * not closed. */
static bool quoted_field(struct str line, size_t *at, struct buf *out)
{
    for (size_t i = *at + 1; i < line.len; i++) {
        if (line.s[i] != '"') {
            buf_add_char(out, line.s[i]);
        } else if (i + 1 < line.len && line.s[i + 1] == '"') {
            buf_add_char(out, '"');
            i++;
        } else {
            *at = i + 1;
            return true;
        }
    }
    return false;
}

/* The next field, from *at; *at is after its comma, or after the line, when it returns. NULL on success,
 * otherwise the error. */
static const char *next_field(struct str line, size_t *at, struct buf *out)
{
    if (*at < line.len && line.s[*at] == '"') {
        if (!quoted_field(line, at, out))
            return "a quote is not closed";
        if (*at < line.len && line.s[*at] != ',')
            return "text after a closing quote";
    }
    while (*at < line.len && line.s[*at] != ',') {
        if (line.s[*at] == '"')
            return "a quote inside a field that is not quoted";
        buf_add_char(out, line.s[(*at)++]);
    }
    (*at)++;
    return NULL;
}

/* Splits the text of the groups field. */
static const char *const *split_groups(struct arena *a, struct str text)
{
    const char **groups;
    size_t count = 1, at = 0;

    for (size_t i = 0; i < text.len; i++)
        count += text.s[i] == ',';
    groups = arena_array(a, count + 1, sizeof *groups);
    for (struct str rest = text; groups && rest.s;) {
        struct str group = str_trim(str_next(&rest, ','));
        if (group.len)
            groups[at++] = arena_dup(a, group);
    }
    return a->failed ? NULL : groups;
}

static const char *split_line(struct str line, struct arena *a, struct str fields[TOKEN_FIELDS_MAX],
                              size_t *ret_count)
{
    _cleanup_(buf_done_p) struct buf field = BUF_INIT(TOKEN_FILE_BYTES_MAX);
    const char *wrong = NULL;
    size_t count = 0;

    for (size_t at = 0; at <= line.len && !wrong; count++) {
        if (count == TOKEN_FIELDS_MAX)
            return "more than four fields: write all groups in one quoted field";
        buf_clear(&field);
        wrong = next_field(line, &at, &field);
        fields[count] = (struct str){ arena_dup(a, buf_str(&field)), field.len };
    }
    *ret_count = count;
    if (!wrong && count < 3)
        wrong = "a line needs a token, a user and a uid";
    if (!wrong && (!fields[0].len || !fields[1].len))
        wrong = "the token or the user is empty";
    return wrong;
}

static int add_line(struct token_file *f, struct str line, size_t number, struct error *err)
{
    struct str fields[TOKEN_FIELDS_MAX] = { { NULL, 0 } };
    const char *const *groups = NULL;
    struct token_entry entry;
    size_t count = 0;
    const char *wrong;

    if (memchr(line.s, '\0', line.len))
        return error_set(err, ERR_INVALID, "line %zu: contains a NUL byte", number);
    wrong = split_line(line, &f->arena, fields, &count);
    if (f->arena.failed)
        return arena_check(&f->arena, err);
    if (wrong)
        return error_set(err, ERR_INVALID, "line %zu: %s", number, wrong);
    if (count > 3)
        groups = split_groups(&f->arena, fields[3]);
    entry.token = fields[0];
    entry.user = user_new(&f->arena, fields[1].s, fields[2].s, groups, NULL);
    if (!entry.user || vec_push(&f->entries, entry) < 0)
        return error_no_memory(err);
    return 0;
}

static int add_lines(struct token_file *f, struct str text, struct error *err)
{
    size_t number = 0;

    for (struct str rest = text; rest.s;) {
        struct str line = str_trim(str_next(&rest, '\n'));
        int r = 0;
        number++;
        if (line.len)
            r = add_line(f, line, number, err);
        if (r < 0)
            return r;
    }
    return 0;
}

int token_file_parse(struct str text, struct token_file **ret, struct error *err)
{
    struct token_file *f = calloc(1, sizeof *f);
    int r;

    if (!f)
        return error_no_memory(err);
    f->arena = ARENA_INIT(64 * TOKEN_FILE_BYTES_MAX); /* each line has a user with its groups */
    r = add_lines(f, text, err);
    if (r < 0)
        (void)token_file_free(f);
    else
        *ret = f;
    return r;
}

/* A user who can read the file can act as every user in it. */
static void warn_of_mode(const char *path)
{
    _cleanup_(buf_done_p) struct buf fix = BUF_INIT(PATH_MAX + 16);
    struct error ignored;
    char text[16];
    mode_t mode;

    if (io_mode(path, &mode, &ignored) < 0 || (mode & 077) == 0)
        return;
    (void)snprintf(text, sizeof text, "%04o", (unsigned)mode);
    buf_addf(&fix, "chmod 600 %s", path);
    log_warn("token file is accessible to other users", LOG_STR("path", path), LOG_STR("mode", text),
             LOG_STR("fix", buf_cstr(&fix)));
}

int token_file_load(const char *path, struct token_file **ret, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(TOKEN_FILE_BYTES_MAX);
    int r = io_read_file(path, TOKEN_FILE_BYTES_MAX, &text, err);

    if (r < 0)
        return r;
    warn_of_mode(path);
    r = token_file_parse(buf_str(&text), ret, err);
    return r < 0 ? error_wrap(err, "cannot use '%s'", path) : 0;
}

/* Compares every byte, wherever they differ. */
static bool is_same_secret(struct str a, struct str b)
{
    volatile unsigned char different = 0;

    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        different = (unsigned char)(different | ((unsigned char)a.s[i] ^ (unsigned char)b.s[i]));
    return different == 0;
}

const struct user *token_file_find(const struct token_file *f, struct str token)
{
    const struct user *found = NULL;

    for (size_t i = 0; i < f->entries.count; i++)
        if (is_same_secret(f->entries.items[i].token, token))
            found = f->entries.items[i].user;
    return found;
}

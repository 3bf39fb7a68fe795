/* Remembers the warnings of a server, which may be hostile: at most CLIENT_WARNINGS_MAX texts of bounded
 * length, in an ordered map, whose cost does not depend on the choice of texts. About a megabyte at worst. */
#include "client/client_warnings.h"

#include <stdlib.h>

#include "base/log.h"

struct warning {
    size_t len;
    char text[];
};

static struct str warning_str(const struct warning *w)
{
    return (struct str){ w->text, w->len };
}

static int warning_cmp(void *ctx, const void *a, const void *b)
{
    (void)ctx;
    return str_cmp(warning_str(a), warning_str(b));
}

static int warning_cmp_key(void *ctx, const void *key, const void *item)
{
    (void)ctx;
    return str_cmp(*(const struct str *)key, warning_str(item));
}

/* The first bytes, the first one highest: preserves the order of texts. */
static uint64_t warning_rank(struct str s)
{
    uint64_t rank = 0;

    for (size_t i = 0; i < sizeof rank; i++)
        rank = rank << 8 | (i < s.len ? (unsigned char)s.s[i] : 0);
    return rank;
}

void client_warnings_init(struct client_warnings *w, void (*on_warning)(struct str text))
{
    w->is_full = false;
    w->on_warning = on_warning;
    omap_init(&w->texts, (struct omap_order){ .cmp = warning_cmp, .cmp_key = warning_cmp_key });
}

void client_warnings_done(struct client_warnings *w)
{
    struct omap_cursor c;

    for (struct warning *warning = omap_first(&w->texts, &c); warning; warning = omap_next(&c))
        free(warning);
    omap_done(&w->texts);
}

/* Out of memory: the text is logged again when it is received again, which does no harm. */
static void remember_warning(struct client_warnings *w, struct str text)
{
    struct warning *warning = malloc(sizeof *warning + text.len);

    if (!warning)
        return;
    warning->len = text.len;
    if (text.len)
        memcpy(warning->text, text.s, text.len);
    if (omap_insert(&w->texts, warning_rank(text), warning) < 0)
        free(warning);
}

void client_warnings_note(struct client_warnings *w, struct str text)
{
    if (text.len > CLIENT_WARNING_BYTES_MAX)
        text.len = CLIENT_WARNING_BYTES_MAX;
    if (w->is_full || omap_find(&w->texts, warning_rank(text), &text))
        return;
    if (w->texts.count == CLIENT_WARNINGS_MAX) {
        w->is_full = true;
        log_warn("too many different warnings from server, not logging more");
        return;
    }
    if (w->on_warning)
        w->on_warning(text);
    else
        log_warn("warning from server", LOG_TEXT("warning", text));
    remember_warning(w, text);
}

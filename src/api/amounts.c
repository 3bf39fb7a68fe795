#include "api/amounts.h"

#include <string.h>

static const char *decode_key(struct decoder *x, json_ref member)
{
    struct str key = json_key(x->d, member);
    const char *copy = "";

    if (x->r == 0 && key.len && memchr(key.s, '\0', key.len))
        x->r = error_set(x->err, ERR_BAD_REQUEST, "a resource's name must not contain a NUL character");
    if (x->r == 0)
        copy = arena_dup(x->arena, key);
    if (x->r == 0 && !copy)
        x->r = arena_check(x->arena, x->err);
    return x->r == 0 ? copy : "";
}

struct amounts decode_amounts(struct decoder *x, json_ref object, const char *key)
{
    json_ref map = json_get(x->d, object, key);
    uint32_t count, n = 0;
    struct amount *items = decode_items(x, map, sizeof *items, &count);

    for (json_ref m = items ? json_first(x->d, map) : 0; m && x->r == 0; m = json_next(x->d, m), n++) {
        items[n].name = decode_key(x, m);
        if (x->r == 0)
            x->r = quantity_parse(json_text(x->d, m), &items[n].quantity, x->err);
    }
    return (struct amounts){ items, n };
}

const struct quantity *amounts_get(const struct amounts *a, const char *name)
{
    uint32_t low = 0, high = a->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int r = strcmp(a->items[middle].name, name);
        if (r == 0)
            return &a->items[middle].quantity;
        if (r < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

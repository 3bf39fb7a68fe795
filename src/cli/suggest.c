/* Finds the closest of several names to a misspelt word, by edit distance.
 *
 * Costs: the product of both lengths per name, at most SUGGEST_BYTES_MAX squared. */
#include "cli/suggest.h"

#include <stdbool.h>
#include <string.h>

static size_t smaller_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* One row of the table of distances between prefixes: those of b against the first i bytes of a. */
static void next_row(const char *a, size_t i, const char *b, size_t b_len, const size_t *before_last,
                     const size_t *last, size_t *row)
{
    row[0] = i;
    for (size_t j = 1; j <= b_len; j++) {
        bool is_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];

        row[j] = smaller_of(last[j] + 1, row[j - 1] + 1);
        row[j] = smaller_of(row[j], last[j - 1] + (a[i - 1] != b[j - 1]));
        if (is_swapped)
            row[j] = smaller_of(row[j], before_last[j - 2] + 1);
    }
}

/* Both at most SUGGEST_BYTES_MAX long. */
static size_t edit_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t rows[3][SUGGEST_BYTES_MAX + 1];

    for (size_t j = 0; j <= b_len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_len; i++)
        next_row(a, i, b, b_len, rows[(i + 1) % 3], rows[(i - 1) % 3], rows[i % 3]);
    return rows[a_len % 3][b_len];
}

static size_t distance_max(size_t typed_len)
{
    if (typed_len < 2)
        return 0;
    if (typed_len < 5)
        return 1;
    return typed_len < 8 ? 2 : 3;
}

void suggestion_consider(struct suggestion *s, const char *name)
{
    size_t len = strcspn(s->typed, "="), name_len = strlen(name), d;

    if (len > SUGGEST_BYTES_MAX || name_len > SUGGEST_BYTES_MAX)
        return;
    d = edit_distance(s->typed, len, name, name_len);
    if (len > 2 && strncmp(s->typed, name, len) == 0)
        d = smaller_of(d, 1);
    if (d > distance_max(len) || (s->best && d >= s->distance))
        return;
    s->best = name;
    s->distance = d;
}

/* Reads values of a section of the configuration file and checks their types. */
#include "daemon/settings_section.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "host/safe_path.h"

void section_fail(struct section *s, const char *key, const char *what)
{
    if (s->r == 0)
        s->r = error_set(s->err, ERR_INVALID, "%s%s%s: %s", s->place, key[0] ? "." : "", key, what);
}

const char *section_keep(struct section *s, struct str text)
{
    const char *kept = arena_dup(s->arena, text);

    if (!kept && s->r == 0)
        s->r = error_no_memory(s->err);
    return kept ? kept : "";
}

void section_enter(struct section *s, const struct section *up, json_ref at, const char *key, int index)
{
    *s = *up;
    s->at = at;
    s->place = index >= 0 ? arena_printf(s->arena, "%s.%s[%d]", up->place, key, index)
                          : arena_printf(s->arena, "%s.%s", up->place, key);
    if (!s->place) {
        s->place = "";
        s->r = error_no_memory(s->err);
    }
    if (s->r == 0 && json_type(s->d, at) != JSON_OBJECT)
        section_fail(s, "", "must be a map of settings");
}

void section_check_keys(struct section *s, const char *const *keys)
{
    for (json_ref m = json_first(s->d, s->at); m && s->r == 0; m = json_next(s->d, m)) {
        const char *key = section_keep(s, json_key(s->d, m));
        const char *const *k = keys;

        while (*k && strcmp(*k, key) != 0)
            k++;
        if (!*k)
            section_fail(s, key, "unknown setting");
    }
}

const char *section_read_text(struct section *s, const char *key, const char *fallback)
{
    json_ref v = json_get(s->d, s->at, key);

    if (!v || s->r < 0 || json_type(s->d, v) == JSON_NULL)
        return fallback;
    if (json_type(s->d, v) != JSON_STRING)
        section_fail(s, key, "must be a string");
    return s->r == 0 ? section_keep(s, json_text(s->d, v)) : fallback;
}

bool section_read_bool(struct section *s, const char *key, bool fallback)
{
    json_ref v = json_get(s->d, s->at, key);

    if (!v || s->r < 0)
        return fallback;
    if (json_type(s->d, v) != JSON_TRUE && json_type(s->d, v) != JSON_FALSE)
        section_fail(s, key, "must be true or false");
    return json_type(s->d, v) == JSON_TRUE;
}

struct texts section_read_texts(struct section *s, const char *key)
{
    json_ref v = json_get(s->d, s->at, key);
    uint32_t count = v ? json_count(s->d, v) : 0, i = 0;
    const char **items;

    if (!v || s->r < 0)
        return (struct texts){ 0 };
    if (json_type(s->d, v) != JSON_ARRAY)
        section_fail(s, key, "must be a list");
    items = arena_array(s->arena, count, sizeof *items);
    for (json_ref t = json_first(s->d, v); t && items && s->r == 0; t = json_next(s->d, t)) {
        if (json_type(s->d, t) != JSON_STRING)
            section_fail(s, key, "must be a list of strings");
        items[i++] = section_keep(s, json_text(s->d, t));
    }
    return (struct texts){ items, s->r == 0 && items ? count : 0 };
}

struct kvs section_read_pairs(struct section *s, const char *key)
{
    json_ref v = json_get(s->d, s->at, key);
    uint32_t count = v ? json_count(s->d, v) : 0, i = 0;
    struct kv *items;

    if (!v || s->r < 0)
        return (struct kvs){ 0 };
    if (json_type(s->d, v) != JSON_OBJECT)
        section_fail(s, key, "must be a map");
    items = arena_array(s->arena, count, sizeof *items);
    for (json_ref m = json_first(s->d, v); m && items && s->r == 0; m = json_next(s->d, m)) {
        if (json_type(s->d, m) != JSON_STRING)
            section_fail(s, key, "must be a map of strings");
        items[i++] = (struct kv){ section_keep(s, json_key(s->d, m)), section_keep(s, json_text(s->d, m)) };
    }
    if (s->r < 0 || !items)
        return (struct kvs){ 0 };
    kv_sort(items, count);
    return (struct kvs){ items, count };
}

const char *section_clean_path(struct section *s, const char *key, const char *given)
{
    char clean[PATH_MAX];
    struct error e;

    if (s->r < 0)
        return given;
    if (host_clean_path(given, clean, &e) < 0) {
        section_fail(s, key, e.msg);
        return given;
    }
    return section_keep(s, str_of(clean));
}

uint64_t section_read_duration(struct section *s, const char *key, uint64_t fallback_ns)
{
    const char *given = section_read_text(s, key, NULL);
    uint64_t total_s = 0, number = 0;
    bool has_digits = false, has_unit = false;

    for (const char *c = given; c && *c && s->r == 0; c++) {
        uint64_t unit_s = *c == 'h' ? 3600 : *c == 'm' ? 60 : *c == 's' ? 1 : 0;

        if (*c >= '0' && *c <= '9' && number < 1000000) {
            number = number * 10 + (uint64_t)(*c - '0');
            has_digits = true;
        } else if (unit_s && has_digits) {
            total_s += number * unit_s;
            number = 0;
            has_digits = false;
            has_unit = true;
        } else {
            section_fail(s, key, "must be a duration such as 5m or 1h30m");
        }
    }
    if (given && (has_digits || !has_unit || total_s * NS_PER_S < NS_PER_S))
        section_fail(s, key, "must be a duration such as 5m or 1h30m");
    return given ? total_s * NS_PER_S : fallback_ns;
}

unsigned section_read_number(struct section *s, const char *key, unsigned most)
{
    json_ref v = json_get(s->d, s->at, key);
    char words[64];
    int64_t n = 0;

    if (!v || s->r < 0)
        return 0;
    if (!json_int64(s->d, v, &n) || n < 1 || n > most) {
        (void)snprintf(words, sizeof words, "must be a number from 1 to %u", most);
        section_fail(s, key, words);
    }
    return s->r == 0 ? (unsigned)n : 0;
}

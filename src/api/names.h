/* Rules for names, keys and label values, with the error texts of the API.
 *
 * A value may violate several rules, and each is reported, so a check fills a small array. The details are
 * static texts, for use after `<path>: <type>: `. Every check is one pass over the value. */
#ifndef BERTH_API_NAMES_H
#define BERTH_API_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

enum name_rule {
    NAME_DNS_SUBDOMAIN,      /* most objects; up to 253 bytes */
    NAME_DNS_LABEL,          /* namespaces, volumes of a pod, containers; up to 63 bytes, no dots */
    NAME_QUALIFIED,          /* label keys, topology keys: [subdomain/]name */
    NAME_QUALIFIED_ANY_CASE, /* annotation keys, provisioners: the prefix may have capitals */
    NAME_LABEL_VALUE,
    NAME_CONFIG_KEY,       /* keys of ConfigMaps and Secrets */
    NAME_CSI_DRIVER,       /* a subdomain in any case, up to 63 bytes */
    NAME_FINALIZER_DOMAIN, /* with a prefix, unless it is one of the API's own finalizers */
    NAME_FINALIZER,        /* and a qualified name */
    NAME_PATH_SEGMENT,     /* minimum for every name: one segment of a URL path */
    NAME_RULE_COUNT,
    NAME_CLASS = NAME_DNS_SUBDOMAIN,
};

/* The type of field error of a problem (FieldValueInvalid and so on). */
enum name_problem_type { NAME_INVALID, NAME_REQUIRED, NAME_TOO_LONG };

struct name_problem {
    enum name_problem_type type;
    const char *detail; /* "" for NAME_REQUIRED */
};

#define NAME_PROBLEMS_MAX 4

struct name_problems {
    size_t count;
    struct name_problem items[NAME_PROBLEMS_MAX];
};

/* True if the value follows the rule; otherwise ret has the problems. ret is always filled. */
bool name_check(enum name_rule rule, struct str value, struct name_problems *ret);

/* For generateName: the value is the prefix of a name and may end with a dash. */
bool name_check_prefix(enum name_rule rule, struct str value, struct name_problems *ret);

bool name_is_valid(enum name_rule rule, struct str value);

/* The details joined with "; ", as in messages about keys and values of selectors. */
void name_problems_join(const struct name_problems *p, struct buf *out);

/* True if a component of the path is "..". */
bool path_has_backstep(struct str path);

#endif

/* The parameters of list, watch and deletecollection, and their validation. */
#ifndef BERTH_APISERVER_LIST_OPTIONS_H
#define BERTH_APISERVER_LIST_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "api/validate.h"
#include "apiserver/api_call.h"
#include "apiserver/continue_token.h"
#include "apiserver/selection.h"
#include "base/arena.h"
#include "base/error.h"
#include "http/params.h"

/* Upper limit of the timeout that a client can request. */
#define LIST_TIMEOUT_SECONDS_MAX INT64_C(86400)

enum version_match { MATCH_UNSET, MATCH_NOT_OLDER_THAN, MATCH_EXACT };
enum initial_events { INITIAL_UNSET, INITIAL_NONE, INITIAL_SENT };

struct list_options {
    struct selection selection;
    int64_t limit;    /* 0 for none; for lists */
    int64_t revision; /* resourceVersion; 0 when it is absent or "0" */
    enum version_match match;
    bool is_continued; /* `token` has the position */
    struct continue_token token;
    /* For watches. */
    int64_t timeout_seconds; /* 0: unset */
    bool has_bookmarks;
    enum initial_events initial;
};

/* Reads the parameters of a request. is_watch: rules of watches, and paging is ignored. Errors that are not
 * about fields are in err (ERR_BAD_REQUEST); validation errors are returned as ERR_INVALID with err unset and
 * the list filled. All texts are copied into the arena. */
int list_options_parse(const struct params *p, const struct route *route, bool is_watch, struct arena *a,
                       struct list_options *ret, struct field_errors *invalid, struct error *err);

/* The same for a call. Answers it and returns false when the parameters are invalid. */
bool list_options_read(struct call *c, bool is_watch, struct arena *a, struct list_options *ret);

/* Only resourceVersion, as for get: 0 when it is absent or "0". */
int list_options_revision(const struct params *p, int64_t *ret, struct error *err);

#endif

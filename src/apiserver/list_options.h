/* The parameters of list, watch and deletecollection: what they say, and what may not be said together. */
#ifndef BERTH_APISERVER_LIST_OPTIONS_H
#define BERTH_APISERVER_LIST_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "api/validate.h"
#include "apiserver/call.h"
#include "apiserver/continue_token.h"
#include "apiserver/selection.h"
#include "base/arena.h"
#include "base/error.h"
#include "http/params.h"

/* No deadline that a client asks for is longer. */
#define LIST_TIMEOUT_SECONDS_MAX INT64_C(86400)

enum version_match { MATCH_UNSET, MATCH_NOT_OLDER_THAN, MATCH_EXACT };
enum initial_events { INITIAL_UNSET, INITIAL_NONE, INITIAL_SENT };

struct list_options {
    struct selection selection;
    int64_t limit;    /* 0 for none; of lists */
    int64_t revision; /* resourceVersion; 0 when it is absent or "0" */
    enum version_match match;
    bool is_continued; /* `token` says from where */
    struct continue_token token;
    /* Of watches. */
    int64_t timeout_seconds; /* 0 when it is not said */
    bool has_bookmarks;
    enum initial_events initial;
};

/* What a request's parameters say. is_watch: by other rules, and the paging is passed over. Errors that are
 * no fields' come in err (ERR_BAD_REQUEST); what the options' validation objects to comes as ERR_INVALID with
 * err unsaid and the list filled. All texts are copied into the arena. */
int list_options_parse(const struct params *p, const struct route *route, bool is_watch, struct arena *a,
                       struct list_options *ret, struct field_errors *invalid, struct error *err);

/* The same for a call. Answers it and returns false when they are not right. */
bool list_options_read(struct call *c, bool is_watch, struct arena *a, struct list_options *ret);

/* resourceVersion alone, as get takes it: 0 when it is absent or "0". */
int list_options_revision(const struct params *p, int64_t *ret, struct error *err);

#endif

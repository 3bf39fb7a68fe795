/* Get and list. */
#ifndef BERTH_APISERVER_READ_H
#define BERTH_APISERVER_READ_H

#include <stdint.h>

#include "api/list.h"
#include "apiserver/api_call.h"
#include "apiserver/list_options.h"
#include "base/vec.h"

void read_get(struct call *c);
void read_list(struct call *c);

/* 404 about the object of the route. */
void read_fail_not_found(struct call *c);

/* One page of a list. */
struct list_page {
    VEC(const struct object *) objects; /* borrowed from the store, until the next step of the loop */
    struct list_meta meta;              /* texts are in the call's arena */
    int64_t revision;                   /* revision of the page */
};

/* Reads the page of the options, of the route's resource. Answers the call and returns false on failure: its
 * revision is too old, or there is no memory. */
bool read_page(struct call *c, const struct list_options *o, struct list_page *ret);
void page_done(struct list_page *p);
static inline void page_done_p(struct list_page *p)
{
    page_done(p);
}

#endif

/* The lookups of access_lookup.h in the store. */
#ifndef BERTH_APISERVER_STORE_LOOKUP_H
#define BERTH_APISERVER_STORE_LOOKUP_H

#include "apiserver/access_lookup.h"

struct store;

/* Sees the state at the time of the lookup, committed writes only. */
struct access_lookup store_lookup(struct store *s);

#endif

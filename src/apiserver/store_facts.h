/* The facts of facts.h as the store has them. */
#ifndef BERTH_APISERVER_STORE_FACTS_H
#define BERTH_APISERVER_STORE_FACTS_H

#include "apiserver/facts.h"

struct store;

/* As they are when asked, committed writes only. */
struct facts store_facts(struct store *s);

#endif

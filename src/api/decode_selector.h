/* Selectors out of objects. */
#ifndef BERTH_API_DECODE_SELECTOR_H
#define BERTH_API_DECODE_SELECTOR_H

#include "api/node_selector.h"
#include "api/object.h"
#include "api/selector.h"

/* Each is NULL when the member is absent. A selector that breaks a rule does not fail the object: it carries
 * its error (label_selector.error; node selectors tell when they are matched), for whoever evaluates it. */
const struct label_selector *decode_label_selector(struct decoder *dec, json_ref object, const char *key);
const struct node_selector *decode_node_selector(struct decoder *dec, json_ref object, const char *key);
/* One term alone, as a selector of that term. */
const struct node_selector *decode_node_preference(struct decoder *dec, json_ref object, const char *key);
const struct topology_selector *decode_topologies(struct decoder *dec, json_ref object, const char *key);

#endif

/* Decodes selectors of objects. */
#ifndef BERTH_API_DECODE_SELECTOR_H
#define BERTH_API_DECODE_SELECTOR_H

#include "api/node_selector.h"
#include "api/object.h"
#include "api/selector.h"

/* NULL if the member is absent. An invalid selector does not fail the object: it contains its error
 * (label_selector.error; node selectors report it when they are matched). */
const struct label_selector *decode_label_selector(struct decoder *dec, json_ref object, const char *key);
const struct node_selector *decode_node_selector(struct decoder *dec, json_ref object, const char *key);
/* A single term, as a selector with one term. */
const struct node_selector *decode_node_preference(struct decoder *dec, json_ref object, const char *key);
const struct topology_selector *decode_topologies(struct decoder *dec, json_ref object, const char *key);

#endif

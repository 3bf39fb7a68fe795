/* What a writer should hear about an object with which nothing is wrong: things on their way out of the API,
 * amounts that cannot be meant, and volumes that no node of Berth's can mount. For the kinds' warn slots. */
#ifndef BERTH_API_WARNINGS_H
#define BERTH_API_WARNINGS_H

#include "api/json.h"
#include "api/schema.h"

void volume_warn(const struct json *d, json_ref object, json_ref old, struct field_report *out);
void claim_warn(const struct json *d, json_ref object, json_ref old, struct field_report *out);
void pod_warn_volumes(const struct json *d, json_ref object, json_ref old, struct field_report *out);
void csi_driver_warn(const struct json *d, json_ref object, json_ref old, struct field_report *out);

#endif

/* Warnings about valid objects: deprecated fields, implausible amounts, and volumes that Berth's node agent
 * cannot mount. For the warn slots of kinds. */
#ifndef BERTH_API_WARNINGS_H
#define BERTH_API_WARNINGS_H

#include "api/json.h"
#include "api/schema.h"

void volume_warn(const struct json *d, json_ref object, json_ref old, struct field_report *out);
void claim_warn(const struct json *d, json_ref object, json_ref old, struct field_report *out);
void pod_warn_volumes(const struct json *d, json_ref object, json_ref old, struct field_report *out);
void csi_driver_warn(const struct json *d, json_ref object, json_ref old, struct field_report *out);

#endif

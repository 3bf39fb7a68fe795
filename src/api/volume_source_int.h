/* Rules of single sources, for the table in volume_source.c and for tests. */
#ifndef BERTH_API_VOLUME_SOURCE_INT_H
#define BERTH_API_VOLUME_SOURCE_INT_H

#include "api/volume_source.h"

#define LUN_MAX 255
#define ISCSI_INTERFACE_BYTES_MAX 64 /* for the volume's name, a colon and the portal */

void validate_host_path(struct validation *v, const struct field_path *p, json_ref source);
void validate_local(struct validation *v, const struct field_path *p, json_ref source);
void validate_nfs(struct validation *v, const struct field_path *p, json_ref source);
void validate_iscsi(struct validation *v, const struct field_path *p, json_ref source);
void validate_fc(struct validation *v, const struct field_path *p, json_ref source);
void validate_flex(struct validation *v, const struct field_path *p, json_ref source);
void validate_csi(struct validation *v, const struct field_path *p, json_ref source);
void validate_disk_partition(struct validation *v, const struct field_path *p, json_ref source);
void validate_glusterfs(struct validation *v, const struct field_path *p, json_ref source);
void validate_flocker(struct validation *v, const struct field_path *p, json_ref source);
void validate_quobyte(struct validation *v, const struct field_path *p, json_ref source);
void validate_cinder(struct validation *v, const struct field_path *p, json_ref source);
void validate_azure_file(struct validation *v, const struct field_path *p, json_ref source);
void validate_azure_disk(struct validation *v, const struct field_path *p, json_ref source);
void validate_storage_os(struct validation *v, const struct field_path *p, json_ref source);

/* An iSCSI name in one of its three forms: iqn.2001-04.com.example:disk, eui. and 16 digits, naa. and 32. */
bool iscsi_name_is_valid(struct str name);
/* "host:port", "[::1]:port"; either part may be empty. */
bool host_port_is_valid(struct str text);

#endif

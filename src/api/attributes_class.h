/* VolumeAttributesClass. */
#ifndef BERTH_API_ATTRIBUTES_CLASS_H
#define BERTH_API_ATTRIBUTES_CLASS_H

#include "api/object.h"

struct attributes_class {
    struct object obj;
    const char *driver;
    struct kvs parameters;
};

extern const struct kind_info attributes_class_kind;

#endif

/* POST on a collection: reads the body and starts the creation of an object. */
#include "apiserver/object_write.h"

void write_create(struct call *c)
{
    struct object_write *w = write_begin(c, "CreateOptions");

    if (!w || !body_read_object(c, w->kind, w->options.validation, w->d, &w->object))
        return;
    if (!write_check_names(w))
        return;
    write_finish_create(w);
}

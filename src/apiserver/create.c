/* POST on a collection. */
#include "apiserver/write.h"

void write_create(struct call *c)
{
    struct write *w = write_begin(c, "CreateOptions");

    if (!w || !body_read_object(c, w->kind, w->options.validation, w->d, &w->object))
        return;
    if (!write_check_names(w))
        return;
    write_finish_create(w);
}

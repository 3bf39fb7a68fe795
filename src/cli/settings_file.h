/* A file of settings: YAML with the flags of a verb by name, and the section `provisioners`. */
#ifndef BERTH_CLI_SETTINGS_FILE_H
#define BERTH_CLI_SETTINGS_FILE_H

#include "api/json.h"
#include "cli/flags.h"
#include "daemon/provisioners.h"

/* The values that it has set point into it. */
struct settings_file {
    struct json doc;
    struct provisioner_settings provisioners;
};

void settings_file_init(struct settings_file *f);
void settings_file_done(struct settings_file *f);

/* What is set already stays: the command line wins. Errors begin with the path: `settings in 'PATH': …`. */
int settings_file_read(struct settings_file *f, const char *path, const struct flag *flags, void *settings,
                       struct error *err);

#endif

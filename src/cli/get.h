/* What the files of `berth get` share. */
#ifndef BERTH_CLI_GET_H
#define BERTH_CLI_GET_H

#include "cli/manifests.h"
#include "cli/print.h"
#include "cli/print_table.h"
#include "cli/resources.h"
#include "cli/session.h"
#include "cli/sort.h"

struct get_settings {
    struct session_settings session;
    struct manifest_settings manifests;
    const char *output;
    const char *labels;
    const char *fields;
    const char *sort_by;
    struct flag_values label_columns;
    bool is_everywhere;
    bool is_watch;
    bool is_watch_only;
    bool shows_events;
    bool has_no_headers;
    bool shows_labels;
    bool shows_kind;
    bool shows_managed_fields;
    bool ignores_not_found;
};

struct get {
    struct get_settings settings;
    struct session session;
    struct print print;
    struct resources resources;
    struct manifests manifests;
    struct reply reply;
    struct json doc; /* of what was answered: all objects, or the page of a table */
    VEC(json_ref) objects;
    struct table_printer table;
    bool has_table;
    bool needs_gap;     /* an empty line before the next table */
    size_t shown;       /* rows, in all tables */
    struct buf page;    /* the token of the next one */
    struct arena texts; /* of settings that had to be taken apart */
    char version[64];   /* the resourceVersion to watch from */
    int status;         /* enum cli_exit */
};

/* Reads the reply as JSON. False when it is none; that is told. */
bool get_parse(struct get *g, json_ref *ret);
void get_open_table(struct get *g, const struct kind_info *k);
/* Returns CLI_OK, or CLI_FAILED with the complaint made. */
int get_print_objects(struct get *g, bool is_single);

/* get_watch.c: until the process is ended, or the server says that it cannot go on. */
void get_watch(struct get *g);

#endif

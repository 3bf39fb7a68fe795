/* Loads libcurl with dlopen() and resolves the functions of curl.h's table. Loaded once, never unloaded. */
#include "client/curl.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"

#define PACKAGE "libcurl3-gnutls"

struct curl_calls curl_calls;

/* The name of Debian's build with GnuTLS, and the common one. */
static const char *const names[] = { "libcurl-gnutls.so.4", "libcurl.so.4" };

/* C does not allow a conversion between function and object pointers; POSIX guarantees that they have the
 * same size. */
static bool find_symbol(void *library, const char *name, void *ret)
{
    void *at = dlsym(library, name);

    memcpy(ret, &at, sizeof at);
    return at != NULL;
}

int curl_load(struct error *err)
{
    static bool is_loaded;
    bool has_all = true;
    void *library = NULL;

    if (is_loaded)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(names) && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return error_set(err, ERR_UNSUPPORTED, "cannot load libcurl (package " PACKAGE "): %s", dlerror());
#define CURL_FIND(name) has_all = has_all && find_symbol(library, "curl_" #name, &curl_calls.name);
    CURL_CALLS(CURL_FIND)
#undef CURL_FIND
    if (!has_all) {
        (void)dlclose(library);
        return error_set(err, ERR_UNSUPPORTED, "this libcurl is too old: 7.84 or newer is needed");
    }
    is_loaded = true; /* for the rest of the process */
    return 0;
}

#include "client/curl.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"

#define PACKAGE "libcurl3-gnutls"

struct curl_calls curl_calls;

/* Debian's name for the build with GnuTLS, and everybody's. */
static const char *const names[] = { "libcurl-gnutls.so.4", "libcurl.so.4" };

/* A function's address is no pointer to an object as far as C is concerned; POSIX promises that it fits. */
static bool find(void *library, const char *name, void *ret)
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
        return error_set(err, ERR_UNSUPPORTED, "libcurl cannot be loaded (package " PACKAGE "): %s",
                         dlerror());
#define CURL_FIND(name) has_all = has_all && find(library, "curl_" #name, &curl_calls.name);
    CURL_CALLS(CURL_FIND)
#undef CURL_FIND
    if (!has_all) {
        (void)dlclose(library);
        return error_set(err, ERR_UNSUPPORTED, "this libcurl is too old: 7.84 or newer is needed");
    }
    is_loaded = true; /* for the rest of the program */
    return 0;
}

/* libcurl, loaded when the first HTTP client is created and not with the program.
 *
 * It pulls thirty libraries into a program of 2 MB, OpenSSL and Kerberos among them: 2.8 MB of memory and a
 * third of the start-up time, for a server that makes no requests. The names below are libcurl's own, and go
 * through a table: only listed functions can be called. See docs/decisions/007-libcurl.md. */
#ifndef BERTH_CLIENT_CURL_H
#define BERTH_CLIENT_CURL_H

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include "base/error.h"

#define CURL_CALLS(X)      \
    X(easy_cleanup)        \
    X(easy_getinfo)        \
    X(easy_header)         \
    X(easy_init)           \
    X(easy_setopt)         \
    X(easy_strerror)       \
    X(free)                \
    X(global_init)         \
    X(multi_add_handle)    \
    X(multi_assign)        \
    X(multi_cleanup)       \
    X(multi_info_read)     \
    X(multi_init)          \
    X(multi_remove_handle) \
    X(multi_setopt)        \
    X(multi_socket_action) \
    X(slist_append)        \
    X(slist_free_all)      \
    X(url)                 \
    X(url_cleanup)         \
    X(url_get)             \
    X(url_set)             \
    X(version)

/* The header defines macros for the variadic functions. */
#undef curl_easy_getinfo
#undef curl_easy_setopt
#undef curl_multi_setopt

struct curl_calls {
#define CURL_MEMBER(name) __typeof__(curl_##name) *name;
    CURL_CALLS(CURL_MEMBER)
#undef CURL_MEMBER
};

extern struct curl_calls curl_calls;

/* Needed once. ERR_UNSUPPORTED with the loader's message and the name of the missing package. */
int curl_load(struct error *err);

#define curl_easy_cleanup curl_calls.easy_cleanup
#define curl_easy_getinfo curl_calls.easy_getinfo
#define curl_easy_header curl_calls.easy_header
#define curl_easy_init curl_calls.easy_init
#define curl_easy_setopt curl_calls.easy_setopt
#define curl_easy_strerror curl_calls.easy_strerror
#define curl_free curl_calls.free
#define curl_global_init curl_calls.global_init
#define curl_multi_add_handle curl_calls.multi_add_handle
#define curl_multi_assign curl_calls.multi_assign
#define curl_multi_cleanup curl_calls.multi_cleanup
#define curl_multi_info_read curl_calls.multi_info_read
#define curl_multi_init curl_calls.multi_init
#define curl_multi_remove_handle curl_calls.multi_remove_handle
#define curl_multi_setopt curl_calls.multi_setopt
#define curl_multi_socket_action curl_calls.multi_socket_action
#define curl_slist_append curl_calls.slist_append
#define curl_slist_free_all curl_calls.slist_free_all
#define curl_url curl_calls.url
#define curl_url_cleanup curl_calls.url_cleanup
#define curl_url_get curl_calls.url_get
#define curl_url_set curl_calls.url_set
#define curl_version curl_calls.version

#endif

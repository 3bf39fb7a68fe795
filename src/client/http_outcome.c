/* From libcurl's codes to errors of ours, in words that tell whose fault it is.
 *
 * A certificate that is not trusted is told apart by its reason: who has to act differs. */
#include "client/http_int.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <gnutls/gnutls.h>

#include "base/cleanup.h"

#define WORDS_BYTES_MAX 300

/* Every reason that a person can act on. First match wins. */
static const struct {
    unsigned status;
    const char *words;
} distrusts[] = {
    { GNUTLS_CERT_EXPIRED, "it has expired" },
    { GNUTLS_CERT_NOT_ACTIVATED, "it is not valid yet" },
    { GNUTLS_CERT_REVOKED, "it has been revoked" },
    { GNUTLS_CERT_SIGNER_NOT_FOUND,
      "it was issued by an unknown authority (is this kubeconfig of another server?)" },
    { GNUTLS_CERT_SIGNER_NOT_CA, "its issuer is no authority" },
    { GNUTLS_CERT_SIGNATURE_FAILURE, "its signature is wrong" },
    { GNUTLS_CERT_INSECURE_ALGORITHM, "it is signed with an insecure algorithm" },
    { GNUTLS_CERT_UNEXPECTED_OWNER, "it is for another host name" },
    { GNUTLS_CERT_PURPOSE_MISMATCH, "it is not meant for servers" },
};

/* CURLE_TOO_LARGE, which the headers of libcurl before 8.6 do not have. */
#define HTTP_CURLE_TOO_LARGE ((CURLcode)100)

/* The codes that have words of their own; for the rest libcurl's must do. */
static const struct {
    CURLcode code;
    enum err err;
    const char *words;
} outcomes[] = {
    { CURLE_COULDNT_RESOLVE_HOST, ERR_UNAVAILABLE, "no such host" },
    { CURLE_COULDNT_RESOLVE_PROXY, ERR_UNAVAILABLE, "no such host as the proxy's" },
    { CURLE_OPERATION_TIMEDOUT, ERR_TIMEOUT, "no connection within 30 s" },
    { CURLE_GOT_NOTHING, ERR_UNAVAILABLE, "the connection ended before an answer came" },
    { CURLE_PARTIAL_FILE, ERR_UNAVAILABLE, "the connection ended within the answer" },
    { CURLE_ABORTED_BY_CALLBACK, ERR_UNAVAILABLE,
      "the connection was lost and the request is not sent twice" },
    { CURLE_OUT_OF_MEMORY, ERR_NO_MEMORY, "out of memory, or the answer's head is too large" },
    { HTTP_CURLE_TOO_LARGE, ERR_UNAVAILABLE, "the answer's head is too large" },
    { CURLE_SSL_CACERT_BADFILE, ERR_UNAVAILABLE, "the authorities' certificates cannot be read" },
    { CURLE_BAD_CONTENT_ENCODING, ERR_UNAVAILABLE, "the answer cannot be decompressed" },
};

static const char *distrust_words(const struct http_outcome *o)
{
    for (size_t i = 0; i < ARRAY_LEN(distrusts); i++)
        if ((unsigned)o->verify_result & distrusts[i].status)
            return distrusts[i].words;
    return "it is for another host name"; /* the one thing that libcurl looks at itself */
}

/* They may hold what the peer sent. */
static void write_words(const char *words, char *ret)
{
    size_t n = 0;

    for (; *words && n < WORDS_BYTES_MAX - 1; words++)
        ret[n++] = *words < ' ' || *words == 0x7f ? ' ' : *words;
    ret[n] = '\0';
}

/* Where the connection was to go. libcurl alone knows: with a proxy it is not the server, and a name may
 * stand for several addresses. "" where its words are others. */
static void write_whither(const char *words, char *ret)
{
    static const char before[] = "Failed to connect to ", behind[] = " after ";
    const char *end = strstr(words, behind);

    ret[0] = '\0';
    if (!end || strncmp(words, before, strlen(before)) != 0)
        return;
    (void)snprintf(ret, WORDS_BYTES_MAX, " to %.*s", (int)(end - words - (ptrdiff_t)strlen(before)),
                   words + strlen(before));
}

int http_outcome_error(const struct http_outcome *o, struct error *err)
{
    char words[WORDS_BYTES_MAX];

    if (o->code == CURLE_PEER_FAILED_VERIFICATION)
        return error_set(err, ERR_UNAVAILABLE, "server '%s': its certificate is not trusted: %s", o->server,
                         distrust_words(o));
    for (size_t i = 0; i < ARRAY_LEN(outcomes); i++)
        if (outcomes[i].code == o->code)
            return error_set(err, outcomes[i].err, "server '%s': %s", o->server, outcomes[i].words);
    if (o->code == CURLE_COULDNT_CONNECT && o->os_errno) {
        write_whither(o->words, words);
        (void)error_set_errno(err, (int)o->os_errno, "server '%s': cannot connect%s", o->server, words);
        if (o->os_errno == ECONNREFUSED)
            (void)error_set(err, ERR_UNAVAILABLE, "%s (nothing listens there: is the server running?)",
                            err->msg);
        err->code = ERR_UNAVAILABLE; /* whatever the system calls it */
        return -ERR_UNAVAILABLE;
    }
    write_words(o->words[0] ? o->words : curl_easy_strerror(o->code), words);
    return error_set(err, ERR_UNAVAILABLE, "server '%s': %s%s", o->server,
                     o->was_connected ? "the connection was lost: " : "cannot connect: ", words);
}

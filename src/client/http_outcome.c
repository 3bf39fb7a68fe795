/* Maps libcurl's codes to errors whose texts show where the cause is.
 *
 * For a certificate that is not trusted the reason is given, since it determines who has to act. */
#include "client/client_http_int.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <gnutls/gnutls.h>

#include "base/cleanup.h"

#define MESSAGE_BYTES_MAX 300

/* Reasons that a user can act on. The first match wins. */
static const struct {
    unsigned status;
    const char *message;
} distrusts[] = {
    { GNUTLS_CERT_EXPIRED, "it has expired" },
    { GNUTLS_CERT_NOT_ACTIVATED, "it is not valid yet" },
    { GNUTLS_CERT_REVOKED, "it has been revoked" },
    { GNUTLS_CERT_SIGNER_NOT_FOUND,
      "it was issued by an unknown authority (is this kubeconfig of another server?)" },
    { GNUTLS_CERT_SIGNER_NOT_CA, "its issuer is not an authority" },
    { GNUTLS_CERT_SIGNATURE_FAILURE, "its signature is invalid" },
    { GNUTLS_CERT_INSECURE_ALGORITHM, "it is signed with an insecure algorithm" },
    { GNUTLS_CERT_UNEXPECTED_OWNER, "it is for another host name" },
    { GNUTLS_CERT_PURPOSE_MISMATCH, "it is not a server certificate" },
};

/* CURLE_TOO_LARGE, which the headers of libcurl before 8.6 do not have. */
#define HTTP_CURLE_TOO_LARGE ((CURLcode)100)

/* Codes with a text of our own; the others use libcurl's. */
static const struct {
    CURLcode code;
    enum err err;
    const char *message;
} outcomes[] = {
    { CURLE_COULDNT_RESOLVE_HOST, ERR_UNAVAILABLE, "no such host" },
    { CURLE_COULDNT_RESOLVE_PROXY, ERR_UNAVAILABLE, "no such proxy host" },
    { CURLE_OPERATION_TIMEDOUT, ERR_TIMEOUT, "no connection within 30 s" },
    { CURLE_GOT_NOTHING, ERR_UNAVAILABLE, "the connection ended before an answer was received" },
    { CURLE_PARTIAL_FILE, ERR_UNAVAILABLE, "the connection ended before the answer was complete" },
    { CURLE_ABORTED_BY_CALLBACK, ERR_UNAVAILABLE,
      "the connection was lost and the request is not sent twice" },
    { CURLE_OUT_OF_MEMORY, ERR_NO_MEMORY, "out of memory, or the header of the answer is too large" },
    { HTTP_CURLE_TOO_LARGE, ERR_UNAVAILABLE, "the header of the answer is too large" },
    { CURLE_SSL_CACERT_BADFILE, ERR_UNAVAILABLE, "cannot read the certificates of the authorities" },
    { CURLE_BAD_CONTENT_ENCODING, ERR_UNAVAILABLE, "cannot decompress the answer" },
};

static const char *distrust_words(const struct http_outcome *o)
{
    for (size_t i = 0; i < ARRAY_LEN(distrusts); i++)
        if ((unsigned)o->verify_result & distrusts[i].status)
            return distrusts[i].message;
    return "it is for another host name"; /* the only check that libcurl makes itself */
}

/* They may contain text of the peer. */
static void write_message(const char *message, char *ret)
{
    size_t n = 0;

    for (; *message && n < MESSAGE_BYTES_MAX - 1; message++)
        ret[n++] = *message < ' ' || *message == 0x7f ? ' ' : *message;
    ret[n] = '\0';
}

/* The address of the connection. Only libcurl has it: with a proxy it is not the server, and a name may
 * resolve to several addresses. "" when libcurl's message has another form. */
static void write_destination(const char *message, char *ret)
{
    static const char before[] = "Failed to connect to ", behind[] = " after ";
    const char *end = strstr(message, behind);

    ret[0] = '\0';
    if (!end || strncmp(message, before, strlen(before)) != 0)
        return;
    (void)snprintf(ret, MESSAGE_BYTES_MAX, " to %.*s", (int)(end - message - (ptrdiff_t)strlen(before)),
                   message + strlen(before));
}

int http_outcome_error(const struct http_outcome *o, struct error *err)
{
    char message[MESSAGE_BYTES_MAX];

    if (o->code == CURLE_PEER_FAILED_VERIFICATION)
        return error_set(err, ERR_UNAVAILABLE, "server '%s': its certificate is not trusted: %s", o->server,
                         distrust_words(o));
    for (size_t i = 0; i < ARRAY_LEN(outcomes); i++)
        if (outcomes[i].code == o->code)
            return error_set(err, outcomes[i].err, "server '%s': %s", o->server, outcomes[i].message);
    if (o->code == CURLE_COULDNT_CONNECT && o->os_errno) {
        write_destination(o->message, message);
        (void)error_set_errno(err, (int)o->os_errno, "server '%s': cannot connect%s", o->server, message);
        if (o->os_errno == ECONNREFUSED)
            (void)error_set(err, ERR_UNAVAILABLE, "%s (nothing listens there: is the server running?)",
                            err->msg);
        err->code = ERR_UNAVAILABLE; /* whatever the errno */
        return -ERR_UNAVAILABLE;
    }
    write_message(o->message[0] ? o->message : curl_easy_strerror(o->code), message);
    return error_set(err, ERR_UNAVAILABLE, "server '%s': %s%s", o->server,
                     o->was_connected ? "the connection was lost: " : "cannot connect: ", message);
}

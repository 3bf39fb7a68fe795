#include "apiserver/gzip.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#define GZIP_LEVEL 1
#define GZIP_WINDOW_BITS (15 + 16) /* 16 more: the gzip format, not zlib's own */
#define GZIP_MEMORY_LEVEL 8
/* What is packed at most in one go, about half a millisecond. */
#define GZIP_INPUT_BYTES 65536U

struct gzip {
    z_stream stream;
    char *text;
    size_t len;
    size_t at; /* how much of it the stream was given */
    bool is_at_end;
};

/* "q=0", "q=0.0", …: not wanted. */
static bool weight_is_zero(struct str parameter)
{
    struct str name = str_trim(str_next(&parameter, '='));
    struct str value = parameter.s ? str_trim(parameter) : STR_LIT("1");

    if (!str_is(name, "q") && !str_is(name, "Q"))
        return false;
    for (size_t i = 0; i < value.len; i++)
        if (value.s[i] != '0' && value.s[i] != '.')
            return false;
    return value.len > 0;
}

bool gzip_is_accepted(struct str accept_encoding)
{
    struct str rest = accept_encoding;

    while (rest.s) {
        struct str item = str_next(&rest, ',');
        struct str name = str_trim(str_next(&item, ';'));
        bool is_wanted = str_is(name, "gzip");

        while (item.s) {
            struct str parameter = str_trim(str_next(&item, ';'));
            is_wanted = is_wanted && !weight_is_zero(parameter);
        }
        if (is_wanted)
            return true;
    }
    return false;
}

int gzip_new_take(char *text, size_t len, struct gzip **ret, struct error *err)
{
    struct gzip *z = calloc(1, sizeof *z);

    if (!z || deflateInit2(&z->stream, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW_BITS, GZIP_MEMORY_LEVEL,
                           Z_DEFAULT_STRATEGY) != Z_OK) {
        free(z);
        free(text);
        return error_no_memory(err);
    }
    z->text = text;
    z->len = len;
    *ret = z;
    return 0;
}

struct gzip *gzip_free(struct gzip *z)
{
    if (!z)
        return NULL;
    (void)deflateEnd(&z->stream); /* tells when it was not at its end */
    free(z->text);
    free(z);
    return NULL;
}

ssize_t gzip_pull(struct gzip *z, char *to, size_t room)
{
    unsigned asked = room < UINT_MAX ? (unsigned)room : UINT_MAX;

    assert(room > 0);
    z->stream.next_out = (Bytef *)to;
    z->stream.avail_out = asked;
    while (!z->is_at_end && z->stream.avail_out == asked) {
        if (z->stream.avail_in == 0) {
            size_t left = z->len - z->at;
            unsigned more = left < GZIP_INPUT_BYTES ? (unsigned)left : GZIP_INPUT_BYTES;
            z->stream.next_in = (Bytef *)z->text + z->at;
            z->stream.avail_in = more;
            z->at += more;
        }
        z->is_at_end = deflate(&z->stream, z->at == z->len ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_END;
    }
    return z->stream.avail_out < asked ? (ssize_t)(asked - z->stream.avail_out) : -1;
}

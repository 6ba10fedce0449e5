/* gzip by zlib; consecutive members are one text. */
#include "trace/gzip/gzip.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "base/no_memory.h"

#define PACKED 65536
/* Text of metrics packs to a twentieth. A file that grows more than this, beyond so many bytes, was
 * made to fill a memory or a disk. */
#define GROWS_MOST 250
#define GROWS_FREE ((uint64_t)64 << 20)

struct gzip_stream {
    const char *path;
    int         fd;
    bool        ended;
    uint64_t    taken, given; /* bytes, packed and not */
    z_stream    z;
    char       *packed; /* PACKED bytes, or the bytes that the file began with */
};

lm_status gzip_open(const char *path, int fd, const char *begun, size_t n, gzip_stream **out,
                    lm_error *err)
{
    gzip_stream *g      = calloc(1, sizeof *g);
    char        *packed = malloc(n > PACKED ? n : PACKED);

    if (!g || !packed || inflateInit2(&g->z, 15 + 16) != Z_OK) { /* 16: with gzip's header */
        free(packed);
        free(g);
        return no_memory(err);
    }
    memcpy(packed, begun, n);
    g->path       = path;
    g->fd         = fd;
    g->packed     = packed;
    g->z.next_in  = (Bytef *)packed;
    g->z.avail_in = (uInt)n;
    g->taken      = n;
    *out          = g;
    return LM_OK;
}

static lm_status refill(gzip_stream *g, lm_error *err)
{
    ssize_t got;

    do
        got = read(g->fd, g->packed, PACKED);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return lm_error_set(err, LM_E_IO, "%s: %s", g->path, strerror(errno));
    g->ended      = got == 0;
    g->z.next_in  = (Bytef *)g->packed;
    g->z.avail_in = (uInt)got;
    g->taken += (uint64_t)got;
    return LM_OK;
}

lm_status gzip_read(gzip_stream *g, char *to, size_t room, ssize_t *got, lm_error *err)
{
    lm_status status = LM_OK;

    g->z.next_out  = (Bytef *)to;
    g->z.avail_out = (uInt)room;
    while (g->z.avail_out == room && !g->ended) {
        int code;

        if (!g->z.avail_in && (status = refill(g, err)))
            return status;
        if (!g->z.avail_in)
            break;
        code = inflate(&g->z, Z_NO_FLUSH);
        if (code == Z_STREAM_END)
            code = inflateReset(&g->z);
        if (code != Z_OK && code != Z_BUF_ERROR)
            return lm_error_set(err, LM_E_SYNTAX, "%s: broken gzip data: %s", g->path,
                                g->z.msg ? g->z.msg : "unknown");
    }
    *got = (ssize_t)(room - g->z.avail_out);
    g->given += (uint64_t)*got;
    if (g->given > GROWS_FREE && g->given / GROWS_MOST > g->taken)
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "%s: grows to more than %d times its size: unpack it by gunzip, and "
                            "look at what it is",
                            g->path, GROWS_MOST);
    return LM_OK;
}

void gzip_close(gzip_stream *g)
{
    if (!g)
        return;
    inflateEnd(&g->z);
    free(g->packed);
    free(g);
}

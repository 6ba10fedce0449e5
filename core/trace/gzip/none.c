/* A build without zlib reads no packed traces. */
#include "trace/gzip/gzip.h"

lm_status gzip_open(const char *path, int fd, const char *begun, size_t n, gzip_stream **out,
                    lm_error *err)
{
    (void)fd;
    (void)begun;
    (void)n;
    (void)out;
    return lm_error_set(
        err, LM_E_UNSUPPORTED,
        "%s: is gzip, which this build does not read: gunzip it, or build with zlib "
        "(Debian: zlib1g-dev)",
        path);
}

lm_status gzip_read(gzip_stream *g, char *to, size_t room, ssize_t *got, lm_error *err)
{
    (void)g;
    (void)to;
    (void)room;
    *got = 0;
    return lm_error_set(err, LM_E_UNSUPPORTED, "this build reads no gzip");
}

void gzip_close(gzip_stream *g)
{
    (void)g;
}

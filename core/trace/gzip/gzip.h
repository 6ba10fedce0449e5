/** Streams packed by gzip: read with zlib, refused without. */
#ifndef TRACE_GZIP_H
#define TRACE_GZIP_H

#include <stddef.h>
#include <sys/types.h>

#include <layermeter/error.h>

typedef struct gzip_stream gzip_stream;

/** Reads `fd` behind its first n bytes, `begun`, which were read already. Does not own `fd`.
 * LM_E_UNSUPPORTED in a build without zlib. */
lm_status gzip_open(const char *path, int fd, const char *begun, size_t n, gzip_stream **out,
                    lm_error *err);
/** *got is 0 at the end, also of a stream cut short. LM_E_SYNTAX for broken data, LM_E_IO. */
lm_status gzip_read(gzip_stream *g, char *to, size_t room, ssize_t *got, lm_error *err);
void      gzip_close(gzip_stream *g);

#endif

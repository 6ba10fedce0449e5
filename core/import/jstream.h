/** JSON of any size, read as a stream: unwanted values are skipped, not stored. */
#ifndef IMPORT_JSTREAM_H
#define IMPORT_JSTREAM_H

#include <stdint.h>
#include <stdio.h>

#include <layermeter/error.h>

#define JSTREAM_BYTES 65536

/** A file being read. Too large for the stack. */
typedef struct jstream {
    FILE         *file;
    const char   *path;
    const char   *what; /**< end of each message: "no trace of ..., or a damaged one" */
    unsigned char buffer[JSTREAM_BYTES];
    size_t        at, n;
    uint64_t      before; /**< bytes before the buffer */
    lm_error     *err;
} jstream;

/** LM_E_IO, LM_E_NOMEM; free by jstream_close(). */
lm_status jstream_open(const char *path, const char *what, jstream **out, lm_error *err);
void      jstream_close(jstream *s);

/** Reads the next non-blank byte; EOF at the end. */
int jstream_token(jstream *s);
/** Sets the error "PATH: byte N: WHY: WHAT", or that of an unreadable file. */
lm_status jstream_damaged(const jstream *s, const char *why);

/* Values; `c` is the first byte. */

/** Skips a value. */
lm_status jstream_skip(jstream *s, int c);
/** Reads a text and keeps `room` bytes of it; skips other values. */
lm_status jstream_text(jstream *s, int c, char *out, size_t room);
/** Reads a number; NAN for true, false and null. Skips texts, objects and arrays; *out is then
 * unchanged. */
lm_status jstream_number(jstream *s, int c, double *out);

/** Takes the value of a member; its first byte is c. */
typedef lm_status jstream_member(jstream *s, const char *key, int c, void *context);

/** Passes the members of an object to `take`, after its opening brace. Keys are cut at 127
 * bytes. */
lm_status jstream_members(jstream *s, jstream_member *take, void *context);

#endif

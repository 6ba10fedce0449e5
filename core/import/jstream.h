/** JSON of any size, read as a stream: what nobody asks for is passed over and not kept. */
#ifndef IMPORT_JSTREAM_H
#define IMPORT_JSTREAM_H

#include <stdint.h>
#include <stdio.h>

#include <layermeter/error.h>

#define JSTREAM_BYTES 65536

/** A file that is read. Large: no variable of a function. */
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

/** The next byte that is no blank; EOF at the end. */
int jstream_token(jstream *s);
/** The error "PATH: byte N: WHY: WHAT", or that the file cannot be read. */
lm_status jstream_damaged(const jstream *s, const char *why);

/* Values, by their first byte. */

/** Passes over it. */
lm_status jstream_skip(jstream *s, int c);
/** A text, of which `room` bytes are kept; passes over anything else. */
lm_status jstream_text(jstream *s, int c, char *out, size_t room);
/** A number, NAN where it is none; passes over anything else. */
lm_status jstream_number(jstream *s, int c, double *out);

/** Takes the value of a member, whose first byte is c. */
typedef lm_status jstream_member(jstream *s, const char *key, int c, void *context);

/** Members of an object, behind its opening brace. A key is cut at 127 bytes. */
lm_status jstream_members(jstream *s, jstream_member *take, void *context);

#endif

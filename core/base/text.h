/** Converts text to numbers and back; the only code that knows units. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <layermeter/error.h>

/* Each parser takes the whole text (surrounding blanks allowed) and writes *out on success only.
 * The error names the expected and the found text. */

lm_status text_int(const char *text, int64_t *out, lm_error *err);
lm_status text_uint(const char *text, uint64_t *out, lm_error *err);
/** Number of bytes of the control character at `s`; 0: another character, or the end. ASCII ones
 * have one byte. U+0080 to U+009F have two; terminals obey them, too. */
static inline size_t text_control(const char *s)
{
    const unsigned char c = (unsigned char)*s, next = c ? (unsigned char)s[1] : 0;

    if ((c && c < ' ') || c == 127)
        return 1;
    return c == 0xC2 && next >= 0x80 && next < 0xA0 ? 2 : 0;
}

/** Finite numbers only. */
lm_status text_real(const char *text, double *out, lm_error *err);
/** yes|no, true|false, on|off, 1|0 */
lm_status text_bool(const char *text, bool *out, lm_error *err);
/** Bytes: 4096, 64KiB, 25 MiB, 1GB (1e9), 80gb, 80G, 1B. */
lm_status text_bytes(const char *text, int64_t *out, lm_error *err);
/** Seconds: 5min, 200ms, 1.5 s, 2h, 7d, 1w, 50us; a bare number is seconds. */
lm_status text_seconds(const char *text, double *out, lm_error *err);
/** A number of `unit` with or without an SI prefix (k M G T P): "15.7 TFLOP/s" of "FLOP/s"
 * is 1.57e13. The unit must be there. */
lm_status text_quantity(const char *text, const char *unit, double *out, lm_error *err);
/** Whole numbers from 1 up, with k, M, B or G (1e9), T: 300B, 15T. */
lm_status text_amount(const char *text, int64_t *out, lm_error *err);
/** Tokens of a sequence, from 1 up. k and M are powers of 1024 here, as people use them: 4k is
 * 4096. */
lm_status text_length(const char *text, int64_t *out, lm_error *err);
/** A batch of all devices: samples, or tokens, which samples have several of. */
typedef struct batch_told {
    int64_t n; /**< 0: not given */
    bool    tokens;
} batch_told;
/** A batch: 512, or 4Mtokens (4 x 1024 x 1024). */
lm_status text_batch(const char *text, batch_told *out, lm_error *err);
/** Bytes per second: 10Gbit/s, 100Gbps, 100G (bits), 1.25 GB/s, with an SI prefix or without. */
lm_status text_rate(const char *text, double *out, lm_error *err);
/** A shape, "3x224x224": 1 to `max` integers >= 1 joined by x; 4k tokens are 4096. */
lm_status text_shape(const char *text, int64_t *out, size_t max, size_t *n, lm_error *err);
/** Element type by name: f32 f16 bf16 f64 i32 i8 f8 i64 u8; also the names of frameworks: fp16,
 * half, int8. */
lm_status text_dtype(const char *text, int32_t *out, lm_error *err);
/** In place of an element type: products of f32 in TF32. Tensors have no such type. */
#define DTYPE_TF32 (-1)
/** The first of its names; "tf32" of DTYPE_TF32. */
const char *text_dtype_name(int32_t dtype);

/** Index of a word among n names; n: none of them. */
size_t text_place(const char *word, const char *const *name, size_t n);

typedef lm_status (*text_int_parser)(const char *text, int64_t *out, lm_error *err);

/**
 * A list of positive integers: "1,2,4", "1..8", "1..64*2" (each twice the one before),
 * "64..256+32". The last value of a range is its end, even if no step meets it exactly. `parse`
 * reads the single numbers (text_int, or text_bytes for sizes). *out is malloc'ed, in the order of
 * the text.
 */
lm_status text_list(const char *text, text_int_parser parse, int64_t **out, size_t *n,
                    lm_error *err);

/** Splits `text` in place at `separator` and trims blanks. Returns the number of parts, at most
 * max. */
size_t text_split(char *text, char separator, char **part, size_t max);
/** Appends to a text in a buffer of `size` bytes. Cuts text that does not fit. */
void text_add(char *text, size_t size, const char *fmt, ...) LM_PRINTF(3, 4);
/** Trims blanks at both ends, in place; returns the new start. */
char *text_trim(char *text);

/** "4.09 G", "152 k": three digits and an SI prefix. `buffer` of 32 is enough. */
const char *text_si(double value, char *buffer, size_t size);
/** Whole numbers with a comma every three digits: 25,557,032. */
const char *text_grouped(uint64_t value, char *buffer, size_t size);
/** Seconds for people: "45 s", "12.5 min", "23.1 h", "1,200 h". A `buffer` of 40 is enough. */
const char *text_duration(double seconds, char *buffer, size_t size);
/** Shortest decimal that reads back as the same double. A `buffer` of 26 is enough. */
const char *text_exact(double value, char *buffer, size_t size);

/** 64-bit FNV-1a, to detect changed text; not for security. */
uint64_t text_hash(const char *text);
/** Levenshtein distance, at most `limit` + 1. For suggestions; names up to 63 bytes. */
size_t text_distance(const char *a, const char *b, size_t limit);

/** Distance below which a known name is suggested for a misspelt one. */
#define TEXT_NEAR 3
/** Is `known` nearer to `word` than *distance? If so, sets *distance. A name that begins with
 * `word` has distance 1. The comparison ignores case. */
bool text_nearer(const char *word, const char *known, size_t *distance);

#endif

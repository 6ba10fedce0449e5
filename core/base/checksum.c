/* Checksums of files. */
#include "base/checksum.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Constants of 64-bit FNV-1a: http://www.isthe.com/chongo/tech/comp/fnv/ */
#define BASIS UINT64_C(0xcbf29ce484222325)
#define PRIME UINT64_C(0x100000001b3)

static uint64_t add(uint64_t hash, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (text[i] != '\r' || text[i + 1] != '\n')
            hash = (hash ^ (unsigned char)text[i]) * PRIME;
    return hash;
}

uint64_t checksum_of(const char *text, const char *digits)
{
    const char *rest = digits + CHECKSUM_DIGITS;

    return add(add(BASIS, text, (size_t)(digits - text)), rest, strlen(rest));
}

static void print(uint64_t hash, char out[CHECKSUM_DIGITS + 1])
{
    snprintf(out, CHECKSUM_DIGITS + 1, "%016" PRIx64, hash);
}

void checksum_put(char *text, char *digits)
{
    char is[CHECKSUM_DIGITS + 1];

    print(checksum_of(text, digits), is);
    memcpy(digits, is, CHECKSUM_DIGITS);
}

lm_status checksum_check(const char *path, const char *text, const char *digits, const char *again,
                         const char *line, lm_error *err)
{
    char is[CHECKSUM_DIGITS + 1];

    print(checksum_of(text, digits), is);
    if (!strncmp(digits, is, CHECKSUM_DIGITS))
        return LM_OK;
    return lm_error_set(err, LM_E_SYNTAX,
                        "%s: its text is not what its checksum is of: damaged, cut short or "
                        "edited? copy it again, or run '%s' again; where the change is meant, take "
                        "out %s",
                        path, again, line);
}

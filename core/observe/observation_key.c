/* Keys of measured points. */
#include "observe/observation.h"

#include <string.h>

/* A text that fills a buffer; the excess is dropped. */
typedef struct filling {
    char *to, *end; /* end: room for the zero behind it */
} filling;

static void put(filling *f, const char *text)
{
    while (*text && f->to < f->end)
        *f->to++ = *text++;
}

static void put_number(filling *f, int64_t value)
{
    char     digits[24];
    char    *at   = digits + sizeof digits - 1;
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    *at = '\0';
    do
        *--at = (char)('0' + left % 10);
    while (left /= 10);
    if (value < 0)
        *--at = '-';
    put(f, at);
}

/* Without what the library chose. */
static const char *settings_asked(const observation *r)
{
    const char *at = r->settings;

    if (r->kind != OBS_COLLECTIVE ||
        strncmp(at, OBSERVATION_CHOSEN, strlen(OBSERVATION_CHOSEN)) != 0)
        return at;
    at += strcspn(at, " ");
    return at + strspn(at, " ");
}

/* Without snprintf(), because each row needs its key several times: that would take as long as a
 * fit. */
void observation_key(const observation *r, char *buffer, size_t size)
{
    const char *const text[]   = { r->name,
                                   r->input,
                                 r->kind == OBS_KERNEL ? "" : r->algorithm,
                                   r->geometry,
                                   observation_optimizer(r),
                                   settings_asked(r) };
    const bool        alone    = r->phase == PHASE_INFERENCE; /* not part of a step's point */
    const int64_t     number[] = { r->kind == OBS_KERNEL ? (int64_t)r->pass : alone,
                               (int64_t)r->dtype,
                               r->batch,
                               r->ranks,
                               r->hosts,
                               r->bytes,
                               r->bucket_bytes };
    filling f = { buffer, buffer + size - 1 };

    put_number(&f, (int64_t)r->kind);
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++) {
        put(&f, " ");
        put(&f, text[i]);
    }
    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++) {
        put(&f, " ");
        put_number(&f, number[i]);
    }
    if (*r->layout) { /* random folds depend on the key: without a layout it must not change */
        put(&f, " ");
        put(&f, r->layout);
    }
    *f.to = '\0';
}

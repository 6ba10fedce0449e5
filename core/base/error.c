/* One line about an error, in the caller's own struct. */
#include <layermeter/error.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Texts quote parts of files: they are made one line, whatever the file holds. */
static void keep_to_one_line(char *text)
{
    for (size_t n; *text; text += n ? n : 1)
        if ((n = text_control(text)))
            memset(text, '?', n);
}

lm_status lm_error_set(lm_error *err, lm_status code, const char *fmt, ...)
{
    va_list args;

    if (!err)
        return code;
    err->code = code;
    va_start(args, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, args);
    va_end(args);
    keep_to_one_line(err->text);
    return code;
}

void lm_error_prefix(lm_error *err, const char *fmt, ...)
{
    char    old[sizeof err->text];
    va_list args;
    int     n;

    if (!err)
        return;
    memcpy(old, err->text, sizeof old);
    va_start(args, fmt);
    n = vsnprintf(err->text, sizeof err->text, fmt, args);
    va_end(args);
    if (n >= 0 && (size_t)n + 2 < sizeof err->text) {
        char        *to   = err->text + n;
        const size_t room = sizeof err->text - (size_t)n - 3; /* for ": " and the NUL */
        const size_t keep = strlen(old) < room ? strlen(old) : room;

        memcpy(to, ": ", 2);
        memcpy(to + 2, old, keep);
        to[2 + keep] = '\0';
    }
    keep_to_one_line(err->text);
}

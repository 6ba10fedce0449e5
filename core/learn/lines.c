/* Text of learned models, line by line. */
#include "learn/lines.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

lm_status lines_fail(const lines *l, lm_error *err, lm_status code, const char *fmt, ...)
{
    char    text[200];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return lm_error_set(err, code, "%s:%d: %s", l->path, l->line, text);
}

lm_status lines_expect(lines *l, const char *word, char **rest, lm_error *err)
{
    const size_t n = strlen(word);
    char        *begin, *end;

    l->line++;
    if (!l->at || !*l->at)
        return lines_fail(l, err, LM_E_SYNTAX, "the file ends here; expected '%s ...'", word);
    begin = l->at;
    end   = strchr(begin, '\n');
    l->at = end ? end + 1 : begin + strlen(begin);
    if (end)
        *end = '\0';
    if (strncmp(begin, word, n) != 0 || (begin[n] && begin[n] != ' '))
        return lines_fail(l, err, LM_E_SYNTAX, "expected '%s ...', found '%.40s'", word, begin);
    *rest = begin + n;
    return LM_OK;
}

lm_status lines_numbers(const lines *l, char *text, double *out, size_t n, lm_error *err)
{
    for (size_t i = 0; i < n; i++) {
        char *end;

        out[i] = strtod(text, &end);
        if (end == text)
            return lines_fail(l, err, LM_E_SYNTAX, "expected %zu numbers, found %zu", n, i);
        if (!isfinite(out[i]))
            return lines_fail(l, err, LM_E_ARG, "number %zu is %g", i + 1, out[i]);
        text = end;
    }
    if (text[strspn(text, " ")])
        return lines_fail(l, err, LM_E_SYNTAX, "expected %zu numbers, and then '%.20s'", n, text);
    return LM_OK;
}

lm_status lines_counts(const lines *l, char *text, size_t least, size_t most, size_t *out,
                       size_t room, size_t *n, lm_error *err)
{
    *n = 0;
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        uint64_t count;
        lm_error ignored;

        if (text_uint(word, &count, &ignored) || count < least || count > most)
            return lines_fail(l, err, LM_E_SYNTAX,
                              "expected whole numbers from %zu to %zu, found '%.40s'", least, most,
                              word);
        if (*n == room)
            return lines_fail(l, err, LM_E_SYNTAX, "more than %zu numbers", room);
        out[(*n)++] = (size_t)count;
    }
    return LM_OK;
}

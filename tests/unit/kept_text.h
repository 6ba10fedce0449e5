/** What is learned as text: written and read by one description (learn/kept.h). */
#ifndef UNIT_KEPT_TEXT_H
#define UNIT_KEPT_TEXT_H

#include <stdlib.h>

#include "learn/kept.h"
#include "learn/lines.h"

/** Its text, to be freed. */
static inline char *kept_written(const kept_kind *k, const char *name, const void *what)
{
    char *text = NULL;

    return kept_text(k, name, what, &text, NULL) ? NULL : text;
}

/** How a part is described, trees_text() and the like; `text` of it, and what a text makes. */
#define PART(type)                                                              \
    static char *type##_written(type *what)                                     \
    {                                                                           \
        char  *text = NULL;                                                     \
        size_t n;                                                               \
        lines  l = { .out = open_memstream(&text, &n) };                        \
                                                                                \
        type##_text(&l, &what);                                                 \
        fclose(l.out);                                                          \
        return text;                                                            \
    }                                                                           \
                                                                                \
    static type *type##_read(const char *path, const char *text, lm_error *err) \
    {                                                                           \
        char *copy = strdup(text);                                              \
        lines l    = lines_of(NULL, path, copy, err);                           \
        type *read = NULL;                                                      \
                                                                                \
        type##_text(&l, &read);                                                 \
        free(copy);                                                             \
        if (!l.status)                                                          \
            return read;                                                        \
        type##_free(read);                                                      \
        return NULL;                                                            \
    }                                                                           \
    struct type

#endif

/**
 * Text of learned models: lines of a word and items. One description of a line serves to read and
 * to write the values that it points to.
 *
 * The first failure ends reading: `status` keeps it, and later calls change nothing. Callers check
 * `status` before they use a value that was read.
 */
#ifndef LEARN_LINES_H
#define LEARN_LINES_H

#include <float.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <layermeter/error.h>

typedef struct lines {
    FILE       *out;    /**< output; NULL: lines are read */
    const char *path;   /**< of the input, for messages */
    const char *name;   /**< of the learned model (kept.h) */
    char       *at;     /**< the text after the current line; reading changes it */
    const char *end;    /**< of the text */
    char       *item;   /**< the rest of the current line */
    int         line;   /**< number of the current line */
    size_t      number; /**< index of the last number that was read in that line */
    lm_status   status; /**< of the first failure */
    lm_error   *err;
} lines;

/** To read a text; `name` and `path` may be NULL. */
lines lines_of(const char *name, const char *path, char *text, lm_error *err);

typedef enum line_kind {
    LINE_END,
    LINE_REAL,   /**< finite doubles, to the last bit */
    LINE_SINGLE, /**< finite floats, to the last bit */
    LINE_COUNT,  /**< whole numbers */
    LINE_WORD,   /**< a text without blanks */
    LINE_REST,   /**< a text up to the end of the line */
    LINE_CHOICE  /**< one of several words, by its place */
} line_kind;

typedef struct line_item {
    line_kind          kind;
    size_t             n; /**< count of numbers; size of a text; number of words to choose from */
    size_t            *found; /**< counts: actual number, at most n; NULL: n */
    bool               known; /**< reals may be missing: NAN */
    double            *real;
    float             *single;
    size_t            *count; /**< of a choice: its index */
    char              *text;
    const char *const *word;
    double             least, most; /**< limits of numbers */
} line_item;

#define ITEM_REALS(x, how_many, from, to)                                      \
    {                                                                          \
        .kind = LINE_REAL, .n = how_many, .real = x, .least = from, .most = to \
    }
#define ITEM_REAL(x, from, to) ITEM_REALS(x, 1, from, to)
#define ITEM_ANY(x)            ITEM_REALS(x, 1, -DBL_MAX, DBL_MAX)
/** All numbers, or none if the first is NAN. */
#define ITEM_KNOWN(x, how_many, from, to)                                                     \
    {                                                                                         \
        .kind = LINE_REAL, .n = how_many, .known = true, .real = x, .least = from, .most = to \
    }
#define ITEM_SINGLES(x, how_many)                                                           \
    {                                                                                       \
        .kind = LINE_SINGLE, .n = how_many, .single = x, .least = -FLT_MAX, .most = FLT_MAX \
    }
#define ITEM_COUNTS(x, how_many, from, to)                                       \
    {                                                                            \
        .kind = LINE_COUNT, .n = how_many, .count = x, .least = from, .most = to \
    }
#define ITEM_COUNT(x, from, to) ITEM_COUNTS(x, 1, from, to)
#define ITEM_LIST(x, how_many, room, from, to)                                                  \
    {                                                                                           \
        .kind = LINE_COUNT, .n = room, .found = how_many, .count = x, .least = from, .most = to \
    }
#define ITEM_WORD(array)                                     \
    {                                                        \
        .kind = LINE_WORD, .n = sizeof(array), .text = array \
    }
#define ITEM_REST(array)                                     \
    {                                                        \
        .kind = LINE_REST, .n = sizeof(array), .text = array \
    }
#define ITEM_CHOICE(place, words, how_many)                               \
    {                                                                     \
        .kind = LINE_CHOICE, .n = how_many, .count = place, .word = words \
    }

/**
 * Reads or writes a whole line. Reading fails with LM_E_SYNTAX ("path:line: ...") for another word,
 * for fewer or more items, for an invalid number or word, and at the end of the text. It fails with
 * LM_E_ARG for a number out of range.
 *
 * @return `status` is LM_OK
 */
bool lines_line(lines *l, const char *word, const line_item *items);
#define LINE(l, word, ...) \
    lines_line(l, word, (const line_item[]){ __VA_ARGS__, { .kind = LINE_END } })

/** Index of the word that the next line begins with; `at` when writing. 0 for an unknown word,
 * which lines_line() then reports. */
size_t lines_which(const lines *l, const char *const *word, size_t n, size_t at);

/* A line in parts: its word, items, other parts by hand, its end. */
bool lines_begin(lines *l, const char *word);
void lines_items(lines *l, const line_item *items);
void lines_end(lines *l);
#define ITEMS(l, ...) lines_items(l, (const line_item[]){ __VA_ARGS__, { .kind = LINE_END } })

/** Reading: the next item of the line; NULL: none. */
char *lines_item(lines *l);

/** Fails with LM_E_ARG and the text unless `holds`. */
void lines_check(lines *l, bool holds, const char *fmt, ...) LM_PRINTF(3, 4);
/** Fails with `code` and "path:line: ...". */
void lines_fail(lines *l, lm_status code, const char *fmt, ...) LM_PRINTF(3, 4);

/** Zeroed room for n elements. The rest of the text must have at least n bytes, so a truncated file
 * allocates little. NULL after a failure. */
void *lines_array(lines *l, size_t n, size_t size);
/** `what` itself when writing, a zeroed object when reading. NULL after a failure. */
void *lines_made(lines *l, void *what, size_t size);

#endif

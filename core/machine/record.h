/**
 * The grammar of machine files: a section is a record of keys, each "key = value". One description
 * of a key serves both ways: what it points to is written, or is read.
 *
 * The first failure ends reading: `status` keeps it, and whatever is described after it stays as it
 * was. Keys are read by name, in any order.
 */
#ifndef MACHINE_RECORD_H
#define MACHINE_RECORD_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/ini.h"

typedef struct record {
    FILE              *out;  /**< where sections are written; NULL: one is read */
    const char        *name; /**< of what is written, "sharing.*", and its comment or NULL */
    const char        *doc;
    const char        *path;        /**< of the machine file */
    const ini_section *section;     /**< that is read */
    bool              *taken;       /**< of its pairs: described, or taken by hand */
    size_t             at;          /**< all pairs before it are taken */
    size_t             sections;    /**< of the whole file; written up to here */
    char               missing[80]; /**< the first key that is needed and not there */
    lm_status          status;      /**< of the first failure */
    lm_error          *err;
} record;

typedef enum key_kind {
    KEY_REAL,  /**< doubles, finite; a unit may stand behind one */
    KEY_COUNT, /**< a size_t */
    KEY_WHOLE, /**< an int64_t */
    KEY_FLAG,  /**< a bool: yes or no */
    KEY_RANGE, /**< two doubles, "2 .. 8" */
    KEY_SET,   /**< a bool, in a line: the word alone says it */
    KEY_UNSET  /**< the same, of what is not so */
} key_kind;

#define KEY_NUMBERS 8 /**< at most */

typedef struct key {
    const char *name;
    key_kind    kind;
    size_t      at;          /**< where it is, from the start of what is described */
    size_t      n;           /**< of reals: how many; 0: one */
    const char *unit;        /**< of a real; NULL: a bare number */
    double      scale;       /**< the file's number over what is described; 0: 1 */
    int         digits;      /**< written; 0: as many as it takes */
    double      least, most; /**< in the file; `most` 0: any number of `least` or more */
    const char *range;       /**< these two in words, for messages; NULL: the numbers */
    bool        needed;      /**< to be there when it is read */
    bool        above;       /**< written above 0 only. Reals that are not finite never are */
} key;

/** A key of a member of what is described. */
#define KEY(text, what, type, member) .name = text, .kind = what, .at = offsetof(type, member)
#define KEY_ANY                       .least = -HUGE_VAL

/** Begins a section, the star being what `star` says. Nothing where one is read. */
void record_begin(record *r, const char *star);
/** A comment of the section, written. */
void record_note(record *r, const char *fmt, ...) LM_PRINTF(2, 3);

/** n keys of what lies at `of`. LM_E_SYNTAX, LM_E_ARG ("path:line: key: ..."). */
void record_keys(record *r, const key *k, size_t n, void *of);
#define RECORD_KEYS(r, table, of) record_keys(r, table, sizeof(table) / sizeof *(table), of)
/** One of a name that is made, at `at`. */
void record_key(record *r, key k, void *at);

/** "1.2e-11 s/FLOP, se 3e-13, range 1 .. 2": a value, then words that are keys of their own. */
typedef struct record_line {
    const key *word;
    size_t     n;
    int        width; /**< of the name, written */
} record_line;

/** Writes a line: its value at `at`, its words of `of`. Or reads it, of a pair (else NULL). */
void record_value(record *r, const record_line *l, const ini_pair *p, const key *value, void *at,
                  void *of);
/** The same of seconds per `unit`. */
void record_price(record *r, const record_line *l, const ini_pair *p, const char *name,
                  const char *unit, double *price, void *of);

/* By hand. */

/** A pair, written. */
void record_put(record *r, const char *name, const char *fmt, ...) LM_PRINTF(3, 4);
/** Reading: the pair of that name, taken; NULL: there is none. */
const ini_pair *record_take(record *r, const char *name);
/** Reading: the next pair that nothing took; NULL after the last, and after a failure. */
const ini_pair *record_next(record *r);
/** Fails with "path:line: ..."; of the section's line where `p` is NULL. */
void record_fail(record *r, const ini_pair *p, lm_status code, const char *fmt, ...)
    LM_PRINTF(4, 5);
/** Fails with the text that is in `err`, behind "path:line: key: "; nothing for LM_OK. */
void record_failed(record *r, const ini_pair *p, lm_status status);
/** Ends reading: fails for a pair that nothing took, else for a key that is missing. */
void record_close(record *r);

#endif

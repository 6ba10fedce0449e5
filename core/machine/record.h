/**
 * The grammar of machine files: a section is a record of keys, each "key = value". One description
 * of a key serves writing and reading.
 *
 * The first failure ends reading: `status` keeps it, and later keys are not read. Keys are found by
 * name, in any order.
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
    FILE *out; /**< file to write to; NULL: reading */
    /** writing: name of the section, "sharing.*", and its comment or NULL */
    const char        *name;
    const char        *doc;
    const char        *path;        /**< of the machine file */
    const ini_section *section;     /**< the section to read */
    bool              *taken;       /**< per pair of the section: it was read */
    size_t             at;          /**< all pairs before this one were read */
    size_t             sections;    /**< number of sections in the file; when writing, so far */
    char               missing[80]; /**< first required key that is missing */
    lm_status          status;      /**< of the first failure */
    lm_error          *err;
} record;

typedef enum key_kind {
    KEY_REAL,  /**< finite doubles; a unit may follow each */
    KEY_COUNT, /**< a size_t */
    KEY_WHOLE, /**< an int64_t */
    KEY_FLAG,  /**< a bool: yes or no */
    KEY_RANGE, /**< two doubles, "2 .. 8" */
    KEY_SET,   /**< a bool in a line: the word is there or not */
    KEY_UNSET  /**< KEY_SET with the opposite meaning */
} key_kind;

#define KEY_NUMBERS 8 /**< limit for `n` */

typedef struct key {
    const char *name;
    key_kind    kind;
    size_t      at;          /**< offset from the start of the described struct */
    size_t      n;           /**< number of reals; 0: one */
    const char *unit;        /**< of a real; NULL: none */
    double      scale;       /**< number in the file divided by the number in memory; 0: 1 */
    int         digits;      /**< digits when writing; 0: as many as needed */
    double      least, most; /**< limits in the file; `most` 0: no upper limit */
    const char *range;       /**< the limits in words, for messages; NULL: the numbers */
    bool        needed;      /**< required when reading */
    /** written only if above 0. Reals that are not finite are never written */
    bool above;
} key;

/** A key for a member of the described struct. */
#define KEY(text, what, type, member) .name = text, .kind = what, .at = offsetof(type, member)
#define KEY_ANY                       .least = -HUGE_VAL

/** Starts a section in which `star` replaces the star. Does nothing when reading. */
void record_begin(record *r, const char *star);
/** Writes a comment of the section. */
void record_note(record *r, const char *fmt, ...) LM_PRINTF(2, 3);

/** Reads or writes n keys of the struct at `of`. LM_E_SYNTAX, LM_E_ARG ("path:line: key: ..."). */
void record_keys(record *r, const key *k, size_t n, void *of);
#define RECORD_KEYS(r, table, of) record_keys(r, table, sizeof(table) / sizeof *(table), of)
/** One key that is made at run time, for the value at `at`. */
void record_key(record *r, key k, void *at);

/**
 * A line such as "1.2e-11 s/FLOP, se 3e-13, range 1 .. 2": a value, then words, each described by a
 * key.
 */
typedef struct record_line {
    const key *word;
    size_t     n;
    int        width; /**< width of the name when writing */
} record_line;

/**
 * Writes a line: its value from `at`, its words from `of`. Or reads it from a pair; when writing,
 * `p` is NULL.
 */
void record_value(record *r, const record_line *l, const ini_pair *p, const key *value, void *at,
                  void *of);
/** record_value() for seconds per `unit`. */
void record_price(record *r, const record_line *l, const ini_pair *p, const char *name,
                  const char *unit, double *price, void *of);

/* Without a table of keys: */

/** Writes a pair. */
void record_put(record *r, const char *name, const char *fmt, ...) LM_PRINTF(3, 4);
/** Reading: the pair of that name, marked as read; NULL: none. */
const ini_pair *record_take(record *r, const char *name);
/** Reading: the next pair that was not read; NULL after the last, and after a failure. */
const ini_pair *record_next(record *r);
/** Fails with "path:line: ..."; `p` NULL: with the line of the section. */
void record_fail(record *r, const ini_pair *p, lm_status code, const char *fmt, ...)
    LM_PRINTF(4, 5);
/** Fails with the text in `err`, after "path:line: key: "; does nothing for LM_OK. */
void record_failed(record *r, const ini_pair *p, lm_status status);
/** Ends reading: fails for a pair that was not read, else for a missing key. */
void record_close(record *r);

#endif

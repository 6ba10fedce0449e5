/** Typed values: numbers, lists and words that are read from an option or from a key of a file. */
#ifndef BASE_VALUES_H
#define BASE_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <layermeter/error.h>

#include "base/lists.h"

struct arena;
typedef struct value_form value_form;

/** A kind of value. */
typedef struct value_type {
    size_t size; /**< of a value */
    /** Reads all of `text`. Writes *out on success only. Its allocations belong to `room`. */
    lm_status (*read)(const value_form *how, const char *text, struct arena *room, void *out,
                      lm_error *err);
    const void *blank; /**< the default value; NULL: zeros */
} value_type;

/** A type and the limits of its values. */
struct value_form {
    const value_type *type;
    double            least, most; /**< of a number; most 0: none */
    const char *outside;  /**< message for values beyond the limits; the value follows "found" */
    const char *choices;  /**< of a word: "table, csv or json" */
    const char *argument; /**< expected form: NAME=VALUE; type_quantity: its unit */
    bool        or_auto;  /**< a list may be the word `auto`, too */
};

extern const value_type type_text;      /**< const char * */
extern const value_type type_word;      /**< the same, not empty */
extern const value_type type_yes;       /**< bool: yes or no */
extern const value_type type_count;     /**< int64_t, 1 or more */
extern const value_type type_whole;     /**< int64_t within bounds */
extern const value_type type_seed;      /**< uint64_t */
extern const value_type type_real;      /**< double within bounds; NAN: not given */
extern const value_type type_fraction;  /**< double, above 0 and at most 1 */
extern const value_type type_seconds;   /**< double, s, within bounds; NAN: not given */
extern const value_type type_time;      /**< the same, with a unit */
extern const value_type type_amount;    /**< int64_t: 300B, 15T */
extern const value_type type_length;    /**< int64_t within bounds: 512, 4k */
extern const value_type type_rate;      /**< double, bytes/s, above 0; NAN: not given */
extern const value_type type_bytes;     /**< int64_t within bounds */
extern const value_type type_size;      /**< the same, with a unit */
extern const value_type type_dtype;     /**< lm_dtype */
extern const value_type type_counts;    /**< count_list within bounds, of 1,2,4 or 1..64*2 */
extern const value_type type_sizes;     /**< the same in bytes, of 1MiB,2MiB or 1MiB..1GiB*4 */
extern const value_type type_names;     /**< word_list, of A,B */
extern const value_type type_pair;      /**< const char *, NAME=VALUE */
extern const value_type type_ascending; /**< count_list, ascending, each once */
extern const value_type type_choice;    /**< an enum: the position of the word in `choices` */

/** A type whose values `parse(const char *, T *, lm_error *)` reads. */
#define VALUE_TYPE(name, T, parse)                                                            \
    static lm_status name##_read(const value_form *how, const char *text, struct arena *room, \
                                 void *out, lm_error *err)                                    \
    {                                                                                         \
        (void)how;                                                                            \
        (void)room;                                                                           \
        return parse(text, (T *)out, err);                                                    \
    }                                                                                         \
    static const value_type name = { .size = sizeof(T), .read = name##_read }

#endif

/** Suggested points as a table, and in words what they would gain. */
#ifndef CLI_SUGGEST_PRINT_H
#define CLI_SUGGEST_PRINT_H

#include "report/table.h"
#include "suggest/candidates.h"
#include "suggest/suggest.h"

/** What is printed. Owns nothing. */
typedef struct suggest_answer {
    char *const      *asked; /**< names of networks */
    size_t            n_asked;
    const candidates *c;
    const suggestion *s;           /**< of all that is `asked`, in that order */
    const double     *cost, *step; /**< of each candidate, seconds: to measure it, of a step */
    bool              measured;    /**< were observations given? */
    size_t            n_learned;   /**< of which so many times told something */
    bool              machine;     /**< are guesses around a machine file's coefficients? */
    const char       *memory;      /**< as it was given; NULL: not */
    const char       *sweep;       /**< file that was written; NULL: none */
} suggest_answer;

/** The table goes to stdout; words below it, or to stderr where files are wanted. */
lm_status suggest_print(const suggest_answer *a, format f, lm_error *err);

#endif

/** Exact counts of a network, printed: a row for each layer or operation, and the totals. */
#ifndef REPORT_COUNTS_VIEW_H
#define REPORT_COUNTS_VIEW_H

#include "network/bind.h"
#include "report/table.h"

typedef struct counts_question {
    const char *block;    /**< only layers under this name; NULL: all */
    const char *features; /**< counts as a model of this name takes them; NULL: the exact ones */
    bool        totals;   /**< only these */
    bool        unique;   /**< each distinct operation once */
    bool        as_published; /**< the shape is the file's own */
    format      format;
} counts_question;

/** Has any model features of this name? */
bool counts_features_known(const char *name);

/** LM_E_NOTFOUND without layers under the block. */
lm_status counts_print(const bound_network *net, const counts_question *q, FILE *out,
                       lm_error *err);

#endif

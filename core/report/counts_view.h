/** Exact counts of a network, printed: a row for each layer or operation, and the totals. */
#ifndef REPORT_COUNTS_VIEW_H
#define REPORT_COUNTS_VIEW_H

#include "network/bind.h"
#include "report/table.h"

typedef struct counts_question {
    const char *block;        /**< only layers under this name; NULL: all */
    const char *features;     /**< features of the model with this name; NULL: exact counts */
    bool        totals;       /**< only the totals */
    bool        unique;       /**< each distinct operation once */
    bool        as_published; /**< the input shape is that of the file */
    format      format;
} counts_question;

/** Does a model have features under this name? */
bool counts_features_known(const char *name);

/** LM_E_NOTFOUND without layers under the block. */
lm_status counts_print(const bound_network *net, const counts_question *q, FILE *out,
                       lm_error *err);

#endif

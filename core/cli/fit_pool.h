/** layermeter fit, of several files: machines that share a residual. */
#ifndef CLI_FIT_POOL_H
#define CLI_FIT_POOL_H

#include <stddef.h>

#include <layermeter/error.h>

#include "cli/learned_models.h"

/** What is asked; texts are the command line's. */
typedef struct pool_question {
    const char *const *path; /**< observations, a file for each machine */
    size_t             n;
    const char        *outputs; /**< as many machine files, "a.ini,b.ini" */
    const char        *devices; /**< their devices by name, "A,B"; NULL: what the files say */
    const char        *own;     /**< file of datasheets; NULL: the shipped ones */
    const char        *where;   /**< as of --where; NULL: all rows */
    bool               alone;   /**< no residual is learned */
    learned_models    *learned; /**< models to learn of all of them together */
} pool_question;

/**
 * Fits each file's prices of single layers, learns one residual from all of them
 * (singles_learn_pool()) and learned models, writes a machine file for each, and fills a table:
 * rows and errors by machine, then of the residual and of models.
 *
 * @return LM_E_ARG where a list is not as long as that of files, where a file has no single layers;
 *         LM_E_NOTFOUND for a device without a datasheet, what fit_all() returns
 */
lm_status fit_pool(const pool_question *q, workloads *loads, table *t, lm_error *err);

#endif

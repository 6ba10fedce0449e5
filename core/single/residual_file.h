/** Residuals as text: of layers (learned.h) and of kernels (operator_residual.h). */
#ifndef SINGLE_RESIDUAL_FILE_H
#define SINGLE_RESIDUAL_FILE_H

#include "single/lesson.h"

/** A class that a file may have. */
typedef struct residual_class {
    const char *name;
    const named_feature
          *fixed; /**< features that all of the class have; NULL: it has no residual */
    size_t n_fixed;
} residual_class;

/** Writes those of n classes that there are. */
void residual_file_write(FILE *out, const residual_class *class, residual_trees *const *of,
                         size_t n);

/**
 * Reads that text, which is cut up.
 *
 * @param path for messages
 * @param of   n, all NULL; to be freed, also where reading failed
 * @return LM_E_UNSUPPORTED for another version, LM_E_NOTFOUND for a class or feature that nobody
 *         knows, else as trees_read(); all begin with "path:line: "
 */
lm_status residual_file_read(const char *path, char *text, const residual_class *class, size_t n,
                             residual_trees **of, lm_error *err);

#endif

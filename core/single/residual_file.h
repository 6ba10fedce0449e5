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

#define RESIDUAL_CLASSES 16 /**< at most */

/** The text of those of n classes that there are, both ways; `of` is n, all NULL to be read.
 * Refuses features that nobody knows, LM_E_NOTFOUND. */
void residual_text(lines *l, const residual_class *class, size_t n, residual_trees **of);

#endif

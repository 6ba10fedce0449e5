/** Machine files that are installed with the program, by device (configs/machines). */
#ifndef MACHINE_SHIPPED_H
#define MACHINE_SHIPPED_H

#include "fit/calibration.h"

/** What a shipped file says of itself: its heads alone are read. */
typedef struct shipped_machine {
    const char *device; /**< as the datasheets name it */
    const char *path;
    const char *settings;    /**< "amp=f16 layout=nhwc"; "": none */
    const char *source;      /**< of the measurements behind it */
    lm_dtype    dtype;       /**< of weights */
    lm_dtype    product;     /**< of products: calibration_product_dtype() */
    bool        transferred; /**< nothing but a few runs was measured on the device */
    bool        measured;    /**< something was: it may be carried over */
} shipped_machine;

typedef struct shipped_list {
    shipped_machine *machine; /**< by path */
    size_t           n;
    struct arena    *arena; /**< owns all of the above */
} shipped_list;

/** LM_E_SYNTAX for a file that does not say its device. A folder that is not there has none. */
lm_status shipped_open(shipped_list **out, lm_error *err);
void      shipped_free(shipped_list *list);

/**
 * The file of a device: the one whose products are of `dtype`, else (0, or no such file) of 16 bits.
 * NULL: none ships.
 *
 * @param name as the datasheets name it
 */
const shipped_machine *shipped_find(const shipped_list *list, const char *name, lm_dtype dtype);

#endif

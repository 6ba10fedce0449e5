/** Machine files that are installed with the program, by device (configs/machines). */
#ifndef MACHINE_SHIPPED_H
#define MACHINE_SHIPPED_H

#include "fit/calibration.h"

/** Description of a shipped file, from its head only. */
typedef struct shipped_machine {
    const char *device; /**< name as in the datasheets */
    const char *path;
    const char *settings;    /**< "amp=f16 layout=nhwc"; "": none */
    const char *source;      /**< source of its measurements */
    lm_dtype    dtype;       /**< of weights */
    lm_dtype    product;     /**< of products: by settings_rate_dtype() */
    bool        transferred; /**< only a few runs, or nothing, were measured on the device */
    bool        host;        /**< has the time of an eager framework's host */
    bool        measured;    /**< something was measured: the file may be transferred */
} shipped_machine;

typedef struct shipped_list {
    shipped_machine *machine; /**< by path */
    size_t           n;
    struct arena    *arena; /**< owns all of the above */
} shipped_list;

/** LM_E_SYNTAX for a file that does not name its device. A missing folder gives an empty list. */
lm_status shipped_open(shipped_list **out, lm_error *err);
void      shipped_free(shipped_list *list);

/**
 * The file of a device for products of `dtype`; without one, or with dtype 0, the file for 16 bits.
 * NULL: none ships.
 *
 * @param name  as in the datasheets
 * @param dtype DTYPE_TF32 for products in TF32; no other type takes such a file
 */
const shipped_machine *shipped_find(const shipped_list *list, const char *name, lm_dtype dtype);

/**
 * The first measured file with the time of a framework's host, for products in 16 bits (where autocast
 * casts) if `product` is, else for others; without one, for any. NULL: none ships.
 */
const shipped_machine *shipped_host(const shipped_list *list, lm_dtype product);

#endif

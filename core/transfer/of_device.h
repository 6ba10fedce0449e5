/**
 * The machine of a device by its name: the file that ships for it. Where none ships, the files of the
 * devices that were measured are carried over together: what each reached of its datasheet by class of
 * kernels, near devices first, with the spread that leaving each device out shows (transfer.h). That
 * spread says nothing of a device that is farther from all of them than any of them from the others:
 * it takes the nearest file alone, whose spread is assumed.
 */
#ifndef TRANSFER_OF_DEVICE_H
#define TRANSFER_OF_DEVICE_H

#include <limits.h>

#include "fit/calibration.h"

#define OF_DEVICE_NAME   80
#define OF_DEVICE_BESIDE 7
/** Key of the provenance of a machine that was found so: its file, without the folder. */
#define SHIPPED_AS "shipped_as"

typedef struct device_machine {
    char device[OF_DEVICE_NAME]; /**< as its datasheet names it */
    char path[PATH_MAX];       /**< of a file that ships: the device's own, or the nearest one's */
    char from[OF_DEVICE_NAME]; /**< the file's device */
    struct {
        char path[PATH_MAX], from[OF_DEVICE_NAME];
    } beside[OF_DEVICE_BESIDE]; /**< others that are carried over with it */
    size_t n_beside;
} device_machine;

/**
 * Finds a file.
 *
 * @param name    any of the device's names
 * @param devices datasheets that are read before the shipped ones; NULL: none
 * @param dtype   of products; 0: the usual one of those there are
 * @return LM_E_NOTFOUND for an unknown device, and where nothing ships or a datasheet lacks what
 *         tells how near it is
 */
lm_status device_machine_find(const char *name, const char *devices, lm_dtype dtype,
                              device_machine *out, lm_error *err);

/** Reads it, and carries it over where it is of another device. What machine_load() and carry_over()
 * return. */
lm_status device_machine_load(const device_machine *m, const char *devices, calibration **out,
                              lm_error *err);

#endif

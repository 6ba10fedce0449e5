/**
 * The machine of a device: the file that ships for it. If none ships, the files of the measured
 * devices are transferred together (transfer.h): the share of its datasheet that each device
 * reaches, by class of kernels, near devices first. The spread comes from leaving each device out.
 * This spread is not valid for a device that is farther from all of them than any of them is from
 * the others. For such a device only the nearest file is transferred, with an assumed spread. The
 * host's time of an eager framework does not belong to the device: without one in the file, it is that
 * of another file that ships.
 */
#ifndef TRANSFER_OF_DEVICE_H
#define TRANSFER_OF_DEVICE_H

#include <limits.h>

#include "fit/calibration.h"

#define OF_DEVICE_NAME   80
#define OF_DEVICE_BESIDE 7
/** Key of the provenance of such a machine: its file, without the folder. */
#define SHIPPED_AS "shipped_as"

typedef struct device_machine {
    char device[OF_DEVICE_NAME]; /**< name as in its datasheet */
    char path[PATH_MAX];         /**< a file that ships: the device's own, or the nearest one */
    char from[OF_DEVICE_NAME];   /**< device of the file */
    struct {
        char path[PATH_MAX], from[OF_DEVICE_NAME];
    } beside[OF_DEVICE_BESIDE]; /**< other files that are transferred with it */
    size_t n_beside;
    char host[PATH_MAX]; /**< a file that ships with a framework's host, if this one has none; "" */
} device_machine;

/**
 * Finds the file.
 *
 * @param name    any of the device's names
 * @param devices datasheets that are searched before the shipped ones; NULL: none
 * @param dtype   element type of products, or DTYPE_TF32; 0: the usual type
 * @return LM_E_NOTFOUND for an unknown device, and if nothing ships or a datasheet lacks a figure
 *         for the distance
 */
lm_status device_machine_find(const char *name, const char *devices, lm_dtype dtype,
                              device_machine *out, lm_error *err);

/**
 * Reads the file, and transfers it if it belongs to another device. Errors of machine_load() and
 * carry_over().
 */
lm_status device_machine_load(const device_machine *m, const char *devices, calibration **out,
                              lm_error *err);

#endif

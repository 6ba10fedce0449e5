/** Interconnects by name: "nvlink4+ib400" is NVLink 4 within a node and InfiniBand between nodes. */
#ifndef MACHINE_INTERCONNECT_H
#define MACHINE_INTERCONNECT_H

#include <limits.h>

#include "device/device.h"
#include "fit/calibration.h"

/** What a name stands for. */
typedef struct named_interconnect {
    char         path[N_FABRICS][PATH_MAX]; /**< a file of all-reduces that ships; "": none */
    interconnect told;                      /**< between nodes, by a nominal rate; zeros: none */
} named_interconnect;

/**
 * Each part of a name is a file of configs/interconnects, or a nominal rate between nodes: 25gbe,
 * ib400, efa100 (Gbit/s of a node), 8xib400. A nominal rate is divided by LINK_SLOWER, and its
 * bounds are those of LINK_LEAST and LINK_MOST.
 *
 * @return LM_E_NOTFOUND for a name that nobody knows, with those there are; LM_E_ARG for two of one
 *         kind
 */
lm_status interconnect_find(const char *name, named_interconnect *out, lm_error *err);

/** The all-reduces of a machine are those of the interconnect's files from now on, within a node,
 * between nodes, or both, and are noted in its provenance. What machine_load() returns. */
lm_status interconnect_lay(calibration *cal, const named_interconnect *of, lm_error *err);

/** Can a device have it? LM_E_ARG for an NVLink that neither its modules nor its bridges have, and for
 * a newer PCIe than its own. Where the datasheet says nothing it can. */
lm_status interconnect_suits(const char *name, const device *of, lm_error *err);

/** Lays the interconnect that `link` names in place of all that was measured, and puts what it tells
 * between nodes in its place. Nothing where it names none. */
lm_status interconnect_settle(calibration *cal, interconnect *link, lm_error *err);

#endif

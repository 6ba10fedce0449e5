/**
 * Interconnects by name: "nvlink4+ib400" is NVLink 4 within a node and InfiniBand between nodes.
 */
#ifndef MACHINE_INTERCONNECT_H
#define MACHINE_INTERCONNECT_H

#include <limits.h>

#include "device/device.h"
#include "fit/calibration.h"

/** Meaning of a name. */
typedef struct named_interconnect {
    /** per fabric: a shipped file of all-reduces; "": none */
    char         path[N_FABRICS][PATH_MAX];
    interconnect told; /**< between nodes, from a nominal rate; zeros: none */
} named_interconnect;

/**
 * Each part of a name is a file of configs/interconnects, or a nominal rate between nodes: 25gbe,
 * ib400, efa100 (Gbit/s per node), 8xib400, or an InfiniBand generation, hdr, 8xndr. A nominal rate
 * has the latency LINK_MESSAGE.
 *
 * @return LM_E_NOTFOUND for an unknown name; the text lists the known ones. LM_E_ARG for two parts
 *         of one kind
 */
lm_status interconnect_find(const char *name, named_interconnect *out, lm_error *err);

/**
 * Replaces a machine's all-reduces within a node, between nodes, or both, by those of the
 * interconnect's files, and notes this in the provenance. Errors of machine_load().
 */
lm_status interconnect_lay(calibration *cal, const named_interconnect *of, lm_error *err);

/**
 * Can the device have this interconnect? LM_E_ARG for an NVLink that neither its modules nor its
 * bridges have, and for a newer PCIe than its own. If the datasheet says nothing, it can.
 */
lm_status interconnect_suits(const char *name, const device *of, lm_error *err);

/**
 * Replaces the measured interconnect by the one that `link` names, and sets `link` to the rate
 * between nodes, if the name has one. Does nothing without a name.
 */
lm_status interconnect_settle(calibration *cal, interconnect *link, lm_error *err);

#endif

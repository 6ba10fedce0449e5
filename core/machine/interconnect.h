/**
 * Interconnects by name: "nvlink4+ib400" is NVLink 4 within a node and InfiniBand between nodes.
 */
#ifndef MACHINE_INTERCONNECT_H
#define MACHINE_INTERCONNECT_H

#include <limits.h>

#include "device/device.h"
#include "fit/calibration.h"

/** Devices of a node with several adapters: boards of accelerators have up to 8. */
#define NODE_DEVICES 8

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
 * A device uses the adapters next to it (NVIDIA/nccl, issue 412: each flow enters and leaves a node by
 * the adapter next to its first and last device). So a part of the devices of a node has a part of its
 * rate. On 10 nodes of 8 H100 (xxrjun/nccl-tests-cluster) 1, 2 and 4 devices of each send 49, 93 and
 * 181 GB/s, one adapter of 400 Gbit/s each. NODE_DEVICES share more adapters than these; with fewer
 * adapters than devices each device reaches one.
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

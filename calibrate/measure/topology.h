/**
 * Connections of this host: network cards, and the distance of a GPU from each. Read from files of
 * the system.
 */
#ifndef CALIBRATE_TOPOLOGY_H
#define CALIBRATE_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Provenance: `network_infiniband` and `network_ethernet`, each card with rate, state and NUMA
 * node; with `bus_id` (of a GPU, NULL: none) also the number of bus switches and bridges that card
 * and GPU share; `gpu_numa`. Unknown values and virtual links are left out.
 */
void topology_describe(const char *system, const char *bus_id,
                       void (*put)(void *context, const char *key, const char *value),
                       void *context);

/** Writes $LAYERMETER_SYSTEM_ROOT/sys, or /sys, to `buffer`, and returns it. */
const char *topology_system(char *buffer, size_t size);

/**
 * Do messages between this number of hosts, over a network of this name ("Socket", "IB", as in
 * NCCL), bypass an existing InfiniBand?
 */
bool topology_detours(const char *system, int64_t hosts, const char *network);

/** Does the host have an active InfiniBand card (RoCE included)? */
bool topology_has_infiniband(const char *system);

#endif

/** What connects this host: network cards, and how near a GPU is to each. By the system's own files. */
#ifndef CALIBRATE_TOPOLOGY_H
#define CALIBRATE_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Provenance: `network_infiniband` and `network_ethernet`, each card with its rate, state and NUMA
 * node, and with `bus_id` (of a GPU, NULL: none) how many switches and bridges of the bus the two
 * share; `gpu_numa`. What the system does not say is left out, virtual links are.
 */
void topology_describe(const char *system, const char *bus_id,
                       void (*put)(void *context, const char *key, const char *value),
                       void *context);

/** $LAYERMETER_SYSTEM_ROOT/sys, or /sys; in `buffer`, which it returns. */
const char *topology_system(char *buffer, size_t size);

/** Do messages between so many hosts over a network of this name ("Socket", "IB", as NCCL calls them)
 * pass by the InfiniBand that there is? */
bool topology_detours(const char *system, int64_t hosts, const char *network);

/** Has the host an active InfiniBand card (RoCE included)? */
bool topology_has_infiniband(const char *system);

#endif

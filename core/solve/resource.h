/** Resources of a device that bound its kernels. */
#ifndef SOLVE_RESOURCE_H
#define SOLVE_RESOURCE_H

/**
 * The resource of a device that a price depends on. It determines how a price is transferred to
 * another device.
 */
typedef enum resource {
    RESOURCE_HOST,      /**< the program that feeds the device: independent of the device */
    RESOURCE_FLOPS,     /**< peak arithmetic rate */
    RESOURCE_BANDWIDTH, /**< bandwidth of the memory */
    RESOURCE_DEPTH,     /**< sequential steps on one multiprocessor: its share of the peak */
    N_RESOURCES
} resource;

/** "host", "flops", "bandwidth", "depth" */
const char *resource_name(resource r);
/** N_RESOURCES: unknown name. */
resource resource_parse(const char *name);

#endif

/** Public datasheets of devices: peak arithmetic, memory, clock, power. */
#ifndef DEVICE_DEVICE_H
#define DEVICE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include <layermeter/error.h>
#include <layermeter/types.h>

/** Figures of a datasheet. */
typedef enum device_figure {
    DEVICE_F64, /**< peaks in FLOP/s, dense, at `DEVICE_CLOCK`, of the fastest unit */
    DEVICE_F32, /**< without tensor cores */
    DEVICE_TF32,
    DEVICE_F16, /**< accumulated in f32 if tensor cores leave the choice */
    DEVICE_BF16,
    DEVICE_F8,
    DEVICE_BANDWIDTH, /**< of the memory, bytes/s, 1 GB = 1e9 B as everywhere */
    DEVICE_MEMORY,    /**< bytes */
    DEVICE_L2,        /**< bytes */
    DEVICE_MULTIPROCESSORS,
    DEVICE_CORES,        /**< f32 multiply-adds a clock, all multiprocessors together */
    DEVICE_TENSOR_CORES, /**< all multiprocessors together; unknown of boards without any */
    DEVICE_BUS,          /**< of the memory, bits */
    DEVICE_L1,           /**< bytes of each multiprocessor, with the shared memory in it */
    DEVICE_SHARED,       /**< most shared memory of a multiprocessor, bytes */
    DEVICE_THREADS,      /**< most threads of a multiprocessor at once */
    DEVICE_CLOCK,        /**< boost, Hz; of boards without boost the constant clock */
    DEVICE_POWER,        /**< limit as shipped, watts */
    N_DEVICE_FIGURES
} device_figure;

/** Power supply of a device, which tells how near its peak it can stay. */
typedef enum device_class {
    DEVICE_CLASS_UNKNOWN,
    DEVICE_SLOT,   /**< from the slot alone: 75 W or less */
    DEVICE_CARD,   /**< a card with its own connector */
    DEVICE_MODULE, /**< a module on a carrier board (SXM) */
    N_DEVICE_CLASSES
} device_class;

/** One device. Owned by its list. */
typedef struct device {
    const char  *name;          /**< of its section */
    const char  *also;          /**< other names, "A, B"; NULL: none */
    const char  *architecture;  /**< this and the next five: NULL if unknown */
    const char  *capability;    /**< compute capability, "7.0" */
    const char  *link;          /**< of a usual node, and between such nodes: "nvlink4+8xib400" */
    const char  *bridge;        /**< that its connector takes, "nvlink3" */
    const char  *source, *note; /**< source of the figures; remarks */
    const char  *path;          /**< of its file */
    int          line;          /**< of its section */
    device_class power_class;   /**< DEVICE_CLASS_UNKNOWN: not given */
    double       figure[N_DEVICE_FIGURES]; /**< NAN: not given */
} device;

typedef struct device_list {
    device       *device; /**< in the files' order */
    size_t        n;
    struct arena *arena; /**< owns all of the above */
} device_list;

/** A figure in a file: its key, and the unit of its values. */
typedef struct device_key {
    const char *key;  /**< "bandwidth" */
    const char *unit; /**< "B/s"; "": a count */
} device_key;

extern const device_key device_keys[N_DEVICE_FIGURES];
/** "slot", "card", "module"; "" if unknown. */
extern const char *const device_class_names[N_DEVICE_CLASSES];

/**
 * Reads the devices of `own` (NULL: none), then the shipped ones. Of two devices of one name the
 * first is found.
 *
 * A section is a device. Its keys are those of device_keys and also, architecture, capability,
 * class, link, bridge, source, note; absent values are unknown.
 *
 * @return LM_E_IO, LM_E_SYNTAX, LM_E_NOTFOUND for an unknown key, LM_E_ARG for a value; the text
 * begins with file:line
 */
lm_status devices_open(const char *own, device_list **out, lm_error *err);
/** One file alone. */
lm_status devices_load(const char *path, device_list **out, lm_error *err);
void      devices_free(device_list *list);

/** Finds a device by one of its names. Case, blanks, punctuation and a leading "NVIDIA" do not
 * count. LM_E_NOTFOUND names those that come near. */
lm_status devices_find(const device_list *list, const char *name, const device **out,
                       lm_error *err);

/** Figures of a shipped device; all NAN for a NULL or unknown name. As devices_open(). */
lm_status device_figures(const char *name, double figure[N_DEVICE_FIGURES], lm_error *err);

/** Are these names of one device? Case, blanks, punctuation and a leading "NVIDIA" do not count. */
bool device_same_name(const char *a, const char *b);

/** Peak of an element type, FLOP/s; NAN: unknown, or not computed with. */
double device_peak(const device *d, lm_dtype dtype);

#endif

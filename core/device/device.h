/** Public datasheets of devices: peak arithmetic, memory, clock, power. */
#ifndef DEVICE_DEVICE_H
#define DEVICE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include <layermeter/error.h>
#include <layermeter/types.h>

/** Figures of a datasheet. */
typedef enum device_figure {
    /** peak rates in FLOP/s, without sparsity, at `DEVICE_CLOCK`, of the fastest unit */
    DEVICE_F64,
    DEVICE_F32,        /**< without matrix cores */
    DEVICE_F32_MATRIX, /**< of matrix cores that multiply in f32 (AMD's); NAN: there are none */
    DEVICE_TF32,
    DEVICE_F16, /**< accumulated in f32 if tensor cores have the choice */
    DEVICE_BF16,
    DEVICE_F8,
    DEVICE_BANDWIDTH, /**< of the memory, bytes/s; 1 GB = 1e9 B */
    DEVICE_MEMORY,    /**< bytes */
    DEVICE_L2,        /**< bytes */
    DEVICE_MULTIPROCESSORS,
    DEVICE_CORES,        /**< f32 multiply-adds per clock, all multiprocessors together */
    DEVICE_TENSOR_CORES, /**< all multiprocessors together; 0: a board without any */
    DEVICE_RT_CORES,     /**< the same of units for ray tracing */
    DEVICE_BUS,          /**< width of the memory bus, bits */
    DEVICE_L1,           /**< bytes per multiprocessor, including its shared memory */
    DEVICE_SHARED,       /**< most shared memory of a multiprocessor, bytes */
    DEVICE_THREADS,      /**< most threads on a multiprocessor at once */
    DEVICE_CLOCK,        /**< boost clock, Hz; the constant clock of boards without boost */
    DEVICE_BASE_CLOCK,   /**< Hz */
    DEVICE_POWER,        /**< default power limit, W */
    N_DEVICE_FIGURES
} device_figure;

/** Power supply of a device. It tells how near its peak the device can stay. */
typedef enum device_class {
    DEVICE_CLASS_UNKNOWN,
    DEVICE_SLOT,   /**< from the slot alone: 75 W or less */
    DEVICE_CARD,   /**< a card with its own connector */
    DEVICE_MODULE, /**< a module on a carrier board (SXM) */
    N_DEVICE_CLASSES
} device_class;

/** One device. Owned by its list. */
typedef struct device {
    const char *name;         /**< name of its section */
    const char *also;         /**< other names, "A, B"; NULL: none */
    const char *architecture; /**< this and the next five: NULL if unknown */
    const char *capability;   /**< CUDA compute capability, "7.0" */
    /** interconnect of a usual node, and between such nodes: "nvlink4+8xib400" */
    const char  *link;
    const char  *bridge;                   /**< interconnect that its connector takes, "nvlink3" */
    const char  *source, *note;            /**< document with the figures; remarks */
    const char  *path;                     /**< path of its file */
    int          line;                     /**< line of its section */
    device_class power_class;              /**< DEVICE_CLASS_UNKNOWN: not given */
    double       figure[N_DEVICE_FIGURES]; /**< NAN: not given */
} device;

typedef struct device_list {
    device       *device; /**< in the files' order */
    size_t        n;
    struct arena *arena; /**< owns all of the above */
} device_list;

/** A figure in a file: its key, and the unit of its values. */
typedef struct device_key {
    const char *key;      /**< "bandwidth" */
    const char *unit;     /**< "B/s"; "": a count */
    bool        may_lack; /**< 0 is a value: there are boards without any */
} device_key;

extern const device_key device_keys[N_DEVICE_FIGURES];
/** "slot", "card", "module"; "" if unknown. */
extern const char *const device_class_names[N_DEVICE_CLASSES];

/**
 * Reads the devices of `own` (NULL: none), then the shipped ones. If two devices have one name, the
 * first is found.
 *
 * A section is a device. Its keys are those of device_keys and also, architecture, capability,
 * class, link, bridge, source, note. Missing values are unknown.
 *
 * @return LM_E_IO, LM_E_SYNTAX, LM_E_NOTFOUND for an unknown key, LM_E_ARG for a wrong value; the
 *         text begins with file:line
 */
lm_status devices_open(const char *own, device_list **out, lm_error *err);
/** Reads one file only. */
lm_status devices_load(const char *path, device_list **out, lm_error *err);
void      devices_free(device_list *list);

/**
 * Finds a device by one of its names. Case, blanks, punctuation and a leading "NVIDIA" are ignored.
 * LM_E_NOTFOUND suggests similar names.
 */
lm_status devices_find(const device_list *list, const char *name, const device **out,
                       lm_error *err);

/** Figures of a shipped device; all NAN for a NULL or unknown name. Errors as devices_open(). */
lm_status device_figures(const char *name, double figure[N_DEVICE_FIGURES], lm_error *err);

/**
 * Are these names of the same device? Case, blanks, punctuation and a leading "NVIDIA" are ignored.
 */
bool device_same_name(const char *a, const char *b);

/**
 * Clock of the memory as drivers report it, Hz: on each line of the bus two bits pass in a cycle. NAN:
 * bandwidth or bus are unknown.
 */
double device_memory_clock(const double figure[N_DEVICE_FIGURES]);

/** Peak rate of products of an element type or of DTYPE_TF32, FLOP/s; NAN: unknown, or not
 * supported. */
double device_peak(const device *d, lm_dtype dtype);

/**
 * Share of the peak of f32 that a device reaches with one instruction of each of a multiprocessor's
 * four warp schedulers in a clock: 128 lanes of 32-bit arithmetic. Kepler has 192, and needs pairs
 * of independent instructions for the others (Kepler GK110 whitepaper, "Quad warp scheduler"). With
 * products of matrices it reaches 57.6 % at most (Lai & Seznec 2013, "Performance upper bound
 * analysis and optimization of SGEMM on Fermi and Kepler GPUs"). 1 for all others, and if unknown.
 */
double device_issued(const device *d);

#endif

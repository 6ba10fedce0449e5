/** State of a device at one moment. */
#ifndef SAMPLE_DEVICE_SAMPLE_H
#define SAMPLE_DEVICE_SAMPLE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/** Causes that hold a clock down: bits as NVML and nvidia-smi number them ("NVML API Reference
 * Guide", clocks event reasons). CPUs have HELD_HARD_THERMAL alone. */
enum {
    HELD_IDLE         = 0x1,   /**< nothing to do */
    HELD_SETTINGS     = 0x2,   /**< clocks set by a user */
    HELD_POWER_CAP    = 0x4,   /**< the power limit */
    HELD_HARDWARE     = 0x8,   /**< the hardware, to half of the clock or less */
    HELD_SYNC_BOOST   = 0x10,  /**< a GPU of the same group */
    HELD_THERMAL      = 0x20,  /**< heat, by the driver */
    HELD_HARD_THERMAL = 0x40,  /**< heat, by the hardware */
    HELD_POWER_BRAKE  = 0x80,  /**< the power supply */
    HELD_DISPLAY      = 0x100, /**< clocks that a display asks for */
    HELD_BY_HARDSHIP =
        HELD_POWER_CAP | HELD_HARDWARE | HELD_THERMAL | HELD_HARD_THERMAL | HELD_POWER_BRAKE
};

/** NAN: unknown. */
typedef struct device_sample {
    double   time;         /**< s since 1970 */
    double   busy;         /**< % of the time since the last sample in which anything ran */
    double   memory_busy;  /**< % of the time in which memory was read or written */
    double   memory_bytes; /**< in use */
    double   watts;        /**< drawn; newer GPUs: mean of the last second */
    double   limit_watts;  /**< limit of `watts` */
    double   joules;       /**< used since some moment in the past: only differences count */
    double   clock_mhz, memory_clock_mhz; /**< clock_mhz: of the multiprocessors or cores */
    double   celsius;
    uint64_t held;       /**< HELD_* */
    bool     held_known; /**< else `held` is 0 and says nothing */
    bool     lost;       /**< the device is gone */
} device_sample;

static inline device_sample device_sample_unknown(void)
{
    return (device_sample){ .time             = NAN,
                            .busy             = NAN,
                            .memory_busy      = NAN,
                            .memory_bytes     = NAN,
                            .watts            = NAN,
                            .limit_watts      = NAN,
                            .joules           = NAN,
                            .clock_mhz        = NAN,
                            .memory_clock_mhz = NAN,
                            .celsius          = NAN };
}

#endif

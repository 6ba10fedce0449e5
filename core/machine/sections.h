/** The sections of machine files: their names and contents. Private to this room. */
#ifndef MACHINE_SECTIONS_H
#define MACHINE_SECTIONS_H

#include "fit/calibration.h"
#include "machine/record.h"

#define SECTION_STAR    192 /**< room for the text of a star */
#define SECTION_MACHINE "machine"
#define SECTION_KIND    "KIND."    /**< prefix of a name: any kind of collective, then a point */
#define SECTION_COUNT   "sections" /**< key with the number of sections */
/** key with the checksum of all other bytes of the file (base/checksum.h) */
#define SECTION_SUM "checksum"

typedef struct section {
    /** "sharing.*": the star is any text; or SECTION_KIND "*": the whole name is */
    const char *name;
    /** comment; further lines begin with "; ". NULL: the section writes its own, or has none */
    const char *doc;
    /** Writes all sections of this name, each after record_begin(); or reads one. */
    void (*both)(record *r, calibration *cal, const char *star);
    bool coefficients; /**< a machine file needs at least one such section */
} section;

/* head.c */
void head_both(record *r, calibration *cal, const char *star);
void provenance_both(record *r, calibration *cal, const char *star);
void measured_both(record *r, calibration *cal, const char *star);
/* formulas.c */
void formula_both(record *r, calibration *cal, const char *star);
void intervals_both(record *r, calibration *cal, const char *star);
/* singles.c */
void kernels_both(record *r, calibration *cal, const char *star);
void layers_both(record *r, calibration *cal, const char *star);
void layers_device_both(record *r, calibration *cal, const char *star);
void composed_both(record *r, calibration *cal, const char *star);
/* learned.c */
void kernels_learned_both(record *r, calibration *cal, const char *star);
void layers_learned_both(record *r, calibration *cal, const char *star);
void learned_both(record *r, calibration *cal, const char *star);
/* ranks.c */
void collectives_both(record *r, calibration *cal, const char *star);
void curves_both(record *r, calibration *cal, const char *star);
void overlap_both(record *r, calibration *cal, const char *star);
void laid_both(record *r, calibration *cal, const char *star);
void laid_factors_both(record *r, calibration *cal, const char *star);
void sharing_both(record *r, calibration *cal, const char *star);
void latency_both(record *r, calibration *cal, const char *star);
/* host.c */
void host_both(record *r, calibration *cal, const char *star);
/* power.c */
void power_both(record *r, calibration *cal, const char *star);
/* limits.c */
void limits_both(record *r, calibration *cal, const char *star);
void limit_both(record *r, calibration *cal, const char *star);

/** Returns `there`, or zeroed memory if it is NULL. NULL and a failure when out of memory. */
void *section_room(record *r, void *there, size_t size);

/** LM_E_ARG for an implausibly large coefficient: such a file is not written. */
lm_status formulas_check(const calibration *cal, const char *path, lm_error *err);
/** Checks, after all sections are read, that formulas and collectives fit together. */
lm_status formulas_join(calibration *cal, const char *path, lm_error *err);
/** Reads the residuals of layers and kernels from beside a machine file. */
void residuals_load(calibration *cal);
/** Drafts the files of learned parts beside a machine file. */
lm_status learned_files_save(const calibration *cal, const char *path, file_drafts *to,
                             lm_error *err);

#endif

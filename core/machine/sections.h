/** The sections of machine files: what each is called, and what it holds. Within this room. */
#ifndef MACHINE_SECTIONS_H
#define MACHINE_SECTIONS_H

#include "fit/calibration.h"
#include "machine/record.h"

#define SECTION_STAR    192 /**< room for what a star stands for */
#define SECTION_MACHINE "machine"
#define SECTION_KIND    "KIND."    /**< in front of a name: any kind of collective, and a point */
#define SECTION_COUNT   "sections" /**< the key of it that says how many there are */
#define SECTION_SUM     "checksum" /**< that of all else of the file (base/checksum.h) */

typedef struct section {
    const char
        *name; /**< "sharing.*": the star stands for any text; or SECTION_KIND "*", all of it */
    const char *doc; /**< its comment, further lines beginning with "; "; NULL: its own, or none */
    /** Writes all of them that there are, each behind record_begin(); or reads one. */
    void (*both)(record *r, calibration *cal, const char *star);
    bool coefficients; /**< a machine file has one of these at least */
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
void sharing_both(record *r, calibration *cal, const char *star);
void latency_both(record *r, calibration *cal, const char *star);
/* host.c */
void host_both(record *r, calibration *cal, const char *star);
/* power.c */
void power_both(record *r, calibration *cal, const char *star);
/* limits.c */
void limits_both(record *r, calibration *cal, const char *star);
void limit_both(record *r, calibration *cal, const char *star);

/** What `there` is, or room for it, zeroed: NULL with a failure when memory runs out. */
void *section_room(record *r, void *there, size_t size);

/** LM_E_ARG where nothing takes as long as a coefficient says: such a file is not written. */
lm_status formulas_check(const calibration *cal, const char *path, lm_error *err);
/** What formulas and collectives must hold together, once all is read. */
lm_status formulas_join(calibration *cal, const char *path, lm_error *err);
/** Reads what prices of layers and kernels leave over, from beside a machine file. */
void residuals_load(calibration *cal);
/** Drafts what was learned beside a machine file. */
lm_status learned_files_save(const calibration *cal, const char *path, file_drafts *to,
                             lm_error *err);

#endif

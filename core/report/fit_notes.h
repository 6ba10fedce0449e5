/**
 * Notes on a fit, on stderr (notes.h): results, unused rows, and what the data do not determine.
 */
#ifndef REPORT_FIT_NOTES_H
#define REPORT_FIT_NOTES_H

#include "assemble/assembly.h"
#include "predict/laid_fit.h"

/** Results for residuals, learned models and powers; also if the fit failed later. */
void fit_notes_found(const char *path, const assembly *a, const taught_models *t);
/** Machine and coefficients that steps under layouts corrected. */
void fit_notes_laid(const char *path, const laid_fit *f, bool kernels);
/** Unused rows, undetermined coefficients, and the runs of a correction. */
void fit_notes_warnings(const assembly *a);
/** Notes for several machines. `asked`: the user wants a residual; `done`: the fit succeeded. */
void fit_notes_several(const assemblies *a, const taught_models *t, bool asked, bool done);

/**
 * An incomplete last line; flagged times that are left out, or used because nothing better exists;
 * the first few doubts of each kind (doubts.h).
 */
void fit_notes_flagged(const observations *obs, const points *p);

#endif

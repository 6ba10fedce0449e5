/** Notes on a fit, on stderr (notes.h): what was found, unused rows, what the data leave open. */
#ifndef REPORT_FIT_NOTES_H
#define REPORT_FIT_NOTES_H

#include "assemble/assembly.h"
#include "predict/laid_fit.h"

/** What was found of residuals, learned models and powers; also where the fit failed later. */
void fit_notes_found(const char *path, const assembly *a, const taught_models *t);
/** What steps under layouts corrected, on what machine. */
void fit_notes_laid(const char *path, const laid_fit *f);
/** Unused rows, what the data cannot tell, and the runs that correct. */
void fit_notes_warnings(const assembly *a);
/** Of several machines. `asked`: a residual was asked for; `done`: the fit did not fail. */
void fit_notes_several(const assemblies *a, const taught_models *t, bool asked, bool done);

/** A last line that is cut short; flagged times that are left out, or used for want of better ones;
 * and of times that cannot be (doubts.h) the first few of each kind. */
void fit_notes_flagged(const observations *obs, const points *p);

#endif

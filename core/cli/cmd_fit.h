/** `layermeter fit`: its messages on stderr. */
#ifndef CLI_CMD_FIT_H
#define CLI_CMD_FIT_H

#include "assemble/assembly.h"
#include "predict/laid_fit.h"

/** What was found of residuals, learned models and powers; also where the fit failed later. */
void fit_print_found(const char *path, const assembly *a, const taught_models *t);
/** What steps under layouts corrected, on what machine. */
void fit_print_laid(const char *path, const laid_fit *f);
/** Unused rows, what the data cannot tell, and the runs that correct. */
void fit_print_warnings(const assembly *a);
/** Of several machines. `asked`: a residual was asked for; `done`: the fit did not fail. */
void fit_print_several(const assemblies *a, const taught_models *t, bool asked, bool done);

#endif

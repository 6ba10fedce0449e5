/** Elements of a type as numbers, and numbers rounded to elements. */
#ifndef CALIBRATE_VERIFY_ELEMENTS_H
#define CALIBRATE_VERIFY_ELEMENTS_H

#include <layermeter/types.h>

/** Writes a value, rounded to the nearest of the type, ties to even; whole numbers are cut. FP8 is
 * not written. */
void element_write(lm_dtype type, void *at, double value);
/** LM_F8 is read as e4m3; LM_U8 and others as signed bytes. */
double element_read(lm_dtype type, const void *at);

/** Relative error of one operation in the type; 0: whole numbers. */
double element_epsilon(lm_dtype type);

#endif

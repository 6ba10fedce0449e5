/** Looks at devices as CSV: names of columns as nvidia-smi's, which core/trace reads. */
#ifndef SAMPLE_SAMPLE_CSV_H
#define SAMPLE_SAMPLE_CSV_H

#include <stdio.h>

#include "sample/device_sample.h"

/** The heading: times in s since 1970; the device is "0", ..., "cpu". */
void sample_csv_head(FILE *out);

/** A row; what the device does not say is empty. What holds the clock is a number in hexadecimal,
 * HELD_*, as nvidia-smi prints it. */
void sample_csv_row(FILE *out, const char *index, const device_sample *s);

#endif

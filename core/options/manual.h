/** The first page of the manual; pages of commands are a form of their help. */
#ifndef OPTIONS_MANUAL_H
#define OPTIONS_MANUAL_H

#include "options/options.h"

/** Prints layermeter(1) as roff: one line per command. `doc` describes the program in one line. */
void manual_print_overview(const command *const *commands, size_t n, const char *doc, FILE *out);

#endif

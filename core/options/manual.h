/** The manual's first page; those of commands are a form of their help. */
#ifndef OPTIONS_MANUAL_H
#define OPTIONS_MANUAL_H

#include "options/options.h"

/** layermeter(1), as roff: all commands with a line each. `doc`: what the program is, a line. */
void manual_print_overview(const command *const *commands, size_t n, const char *doc, FILE *out);

#endif

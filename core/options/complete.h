/** Completion of command lines; that of a command's own words is a form of its help. */
#ifndef OPTIONS_COMPLETE_H
#define OPTIONS_COMPLETE_H

#include "options/options.h"

/** Names of commands that begin with `typed`, a line each: "name<TAB>meaning". */
void complete_commands(const command *const *commands, size_t n, const char *typed, FILE *out);

#endif

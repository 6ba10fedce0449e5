/** Completion of command names; the completion of a command's options is a form of its help. */
#ifndef OPTIONS_COMPLETE_H
#define OPTIONS_COMPLETE_H

#include "options/options.h"

/** Prints the commands that begin with `typed`, one per line: "name<TAB>meaning". */
void complete_commands(const command *const *commands, size_t n, const char *typed, FILE *out);

#endif

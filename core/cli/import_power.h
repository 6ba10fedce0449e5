/** layermeter import power LOG: what a run drew, without its start-up. */
#ifndef CLI_IMPORT_POWER_H
#define CLI_IMPORT_POWER_H

#include "cli/options.h"

/** By their place in the command's own table. */
typedef struct power_places {
    int output, metric, gpu, interval, format;
} power_places;

/** "power". */
bool import_is_power(const char *what);
/** The exit status. */
int import_power(const options *o, const power_places *at);

#endif

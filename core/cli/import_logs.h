/** layermeter import nccl-tests|osu: logs of all-reduce benchmarks as observations. */
#ifndef CLI_IMPORT_LOGS_H
#define CLI_IMPORT_LOGS_H

#include "cli/options.h"
#include "import/logs.h"

/** Places of its options in the command's table. */
typedef struct log_places {
    int output, ranks, hosts, algorithm;
} log_places;

/** Is this the name of a tool whose logs can be read? */
bool import_is_log(const char *tool);

/** Reads the logs that are arguments 1 and up, by the tool that is argument 0. Returns the exit
 * code. */
int import_logs(const options *o, const log_places *at);

/** Rows of the files that are arguments 1 and up, to `path`; NULL: to stdout. */
lm_status import_write(const options *o, const char *path, const log_rows *rows, lm_error *err);

#endif

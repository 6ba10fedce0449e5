/* layermeter calibrate: executes layermeter-calibrate, the only program with MPI and the vendors'
 * libraries. It replaces this process, so that mpirun sees one process for each rank. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/no_memory.h"
#include "base/place.h"
#include "cli/commands.h"

/* The name of the program in help and messages. */
static char title[] = "layermeter calibrate";

static int hand_over(int argc, char **argv)
{
    char    **passed = calloc((size_t)argc + 1, sizeof *passed);
    char      beside[PATH_MAX];
    lm_error  err;
    const int bad = passed ? place_installed(LAYERMETER_BIN_DIR "/layermeter-calibrate", beside,
                                             sizeof beside, &err)
                           : no_memory(&err);

    if (!bad) {
        passed[0] = title;
        for (int i = 1; i < argc; i++)
            passed[i] = argv[i];
        execv(beside, passed);
        if (errno == ENOENT)
            execvp("layermeter-calibrate", passed);
        if (errno == ENOENT)
            lm_error_set(&err, LM_E_NOTFOUND,
                         "there is neither %s nor a layermeter-calibrate in PATH: build it with "
                         "-DLAYERMETER_CALIBRATE=ON",
                         beside);
        else
            lm_error_set(&err, LM_E_IO, "layermeter-calibrate: %s", strerror(errno));
    }
    free(passed);
    return report_failure(&err);
}

const command cmd_calibrate = {
    .name      = "calibrate",
    .doc       = "Measure this machine or cluster, fit, and write its machine file",
    .hand_over = hand_over,
};

/** layermeter validate --leave-out device: each machine by all others and its datasheet. */
#ifndef CLI_VALIDATE_MACHINES_H
#define CLI_VALIDATE_MACHINES_H

#include "cli/options.h"
#include "cli/validate_print.h"

/** As the command line says it; NULL: not given. */
typedef struct machines_question {
    const options *o;     /**< a file for each machine, and plugins */
    const char    *names; /**< of their devices, in the files' order */
    const char    *datasheets, *where, *learn;
    const char    *models; /**< NULL: the default one */
    judging_form   form;
} machines_question;

/** Exit status, after a message where it is not EXIT_DONE. */
int validate_machines(const machines_question *q);

#endif

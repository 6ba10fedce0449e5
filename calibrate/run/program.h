/** The program layermeter-calibrate as a function. */
#ifndef CALIBRATE_RUN_PROGRAM_H
#define CALIBRATE_RUN_PROGRAM_H

/** Arguments and result as main(). Under MPI it ends the process itself. */
int calibrate_main(int argc, char **argv);

#endif

/** The program layermeter-calibrate, as a function. */
#ifndef CALIBRATE_RUN_PROGRAM_H
#define CALIBRATE_RUN_PROGRAM_H

/** Takes what main() does and returns its exit status; under MPI it ends the process itself. */
int calibrate_main(int argc, char **argv);

#endif

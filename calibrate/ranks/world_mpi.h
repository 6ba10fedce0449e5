/** The communicator behind a world: for the MPI backend only. */
#ifndef CALIBRATE_WORLD_MPI_H
#define CALIBRATE_WORLD_MPI_H

#include <mpi.h>

#include "ranks/world.h"

MPI_Comm world_communicator(const world *w);

#endif

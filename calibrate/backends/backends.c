/* The backends of this build. */
#include "measure/backend.h"

const backend_type *const backends[] = {
    &backend_sim,
#ifdef LAYERMETER_HAVE_ONEDNN
    &backend_onednn,
#endif
#ifdef LAYERMETER_HAVE_CUDA
    &backend_cudnn,
#endif
#ifdef LAYERMETER_HAVE_MPI
    &backend_mpi,
#endif
#ifdef LAYERMETER_HAVE_NCCL
    &backend_nccl,
#endif
    NULL,
};

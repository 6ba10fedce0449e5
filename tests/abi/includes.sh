#!/bin/sh
# includes.sh SOURCE_FOLDER
# core/ and plugins/ know of no vendor: neither MPI nor CUDA nor oneDNN. Plugins include the public
# headers and those beside them, and of the C library what computes but does not act.
set -eu
cd "$1"
if grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]([^>"]*/)?(mpi|cuda|cudnn|cublas|nccl|nvml|hip|dnnl|oneapi|mkl)' \
    core plugins; then
    echo "a vendor's header below core/ or plugins/"
    exit 1
fi
if grep -rnE '^[[:space:]]*#[[:space:]]*include' plugins |
    grep -vE '<(layermeter/(kernel|plugin|types)|limits|math|stdbool|stddef|stdint|string)\.h>|"[a-z_]+\.h"'; then
    echo "a plugin includes more than the public headers and those beside it"
    exit 1
fi

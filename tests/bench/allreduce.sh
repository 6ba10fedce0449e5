#!/bin/sh
# Our all-reduce over MPI beside a plain loop over MPI_Allreduce, in one process and in turns: 'median_ratio'
# and 'minimum_ratio' are ours / plain, the goal is 0.95 to 1.05. "memory": messages from memory, as gradients
# are; "cache": always the same message, as OSU's osu_allreduce measures. Where more runs than there are cores
# (ranks spin), look at the minima. Not a test: machines are shared and noisy.
# usage: tests/bench/allreduce.sh [RANKS [SECONDS [BYTES...]]]     (default: 2 ranks, 1 s each, 1 KiB to 256 MiB)
set -eu

here=$(cd "$(dirname "$0")/../.." && pwd)
ranks=${1:-2}
seconds=${2:-1}
[ $# -gt 2 ] && shift 2 || set -- 1024 65536 1048576 16777216 67108864 268435456
command -v mpirun >/dev/null || { echo "allreduce.sh: no mpirun (Debian: openmpi-bin)" >&2; exit 1; }

"$here/examples/setup.sh" build
build=$here/build/bench
mkdir -p "$build"
{ cmake -S "$here" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DLAYERMETER_TESTS=OFF -DLAYERMETER_WITH_MPI=ON &&
  ninja -C "$build" bench_allreduce; } >"$build.log" 2>&1 || { tail -n 20 "$build.log" >&2; exit 1; }

OMPI_ALLOW_RUN_AS_ROOT=1
OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
many=
mpirun --oversubscribe -np 1 true >/dev/null 2>&1 && many=--oversubscribe
mpirun $many -np "$ranks" "$build/bin/bench_allreduce" "$seconds" "$@" | { column -s, -t 2>/dev/null || cat; }

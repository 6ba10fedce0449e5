#!/bin/sh
# The native step, in ratios. First on one rank: the step run whole over the sum of its phases run one by one
# ('step_over_phases', goal 0.98 to 1.02; 'least_over_least' the same of the minima and 'cpu_over_cpu' of the
# thread's CPU time, where the machine is shared). Then on several: the all-reduce of one message behind the backward pass ('sync_ms' in the row of
# progress none) against what is left of it behind a backward pass with buckets, moved on by polling between
# kernels and by a thread; 'hidden' is the share that is gone, 'worth' how much faster the whole step is
# (below 1: slower). All in turns within one process. Where ranks have no core to spare - as many ranks as
# cores, or more - an all-reduce takes from the backward pass what it hides behind it: 'worth' tells, not
# 'hidden'. Not a test: machines are shared and noisy.
# usage: tests/bench/overlap.sh [SECONDS ["RANKS..." ["NETWORK IMAGE BATCH"...]]]   (default: 2 s a way, 2 and 4
#        ranks, resnet18, resnet50 and vgg16 at 64 pixels, 8 images)
set -eu

here=$(cd "$(dirname "$0")/../.." && pwd)
seconds=${1:-2}
ranks=${2:-2 4}
[ $# -gt 2 ] && shift 2 || set -- "resnet18 64 8" "resnet50 64 8" "vgg16 64 8"
command -v mpirun >/dev/null || { echo "overlap.sh: no mpirun (Debian: openmpi-bin)" >&2; exit 1; }

"$here/examples/setup.sh" build
build=$here/build/bench
mkdir -p "$build"
{ cmake -S "$here" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DLAYERMETER_TESTS=OFF -DLAYERMETER_WITH_MPI=ON \
        -DLAYERMETER_WITH_ONEDNN=ON && ninja -C "$build" all bench_step; } >"$build.log" 2>&1 ||
    { tail -n 20 "$build.log" >&2; exit 1; }

OMPI_ALLOW_RUN_AS_ROOT=1
OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
LAYERMETER_PLUGIN_PATH=$build/lib/layermeter/plugins
LAYERMETER_MODEL_PATH=$here/models
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM LAYERMETER_PLUGIN_PATH LAYERMETER_MODEL_PATH
many=
mpirun --oversubscribe -np 1 true >/dev/null 2>&1 && many=--oversubscribe

echo "# $(nproc) cores; load $(cut -d' ' -f1-3 /proc/loadavg 2>/dev/null || echo unknown)"
for n in 1 $ranks; do
    first=yes
    for subject in "$@"; do
        # shellcheck disable=SC2086 # words on purpose
        mpirun $many -np "$n" "$build/bin/bench_step" "$seconds" $subject | if [ $first ]; then cat; else sed 1d; fi
        first=
    done | { column -s, -t 2>/dev/null || cat; }
done

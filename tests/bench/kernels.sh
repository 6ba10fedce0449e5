#!/bin/sh
# Our convolutions, linear layers and batch norms beside PyTorch's: twenty shapes on one CPU thread, three
# passes, both measured in turn ROUNDS times (default 5); of each the least time counts. Both use oneDNN:
# Debian's python3-torch even the same library. What PyTorch adds are reorders of tensors between its layout
# and the library's, which a network whose tensors stay in the library's layout does not need.
# usage: tests/bench/kernels.sh [ROUNDS]
set -eu

here=$(cd "$(dirname "$0")/../.." && pwd)
rounds=${1:-5}
python=$(for p in /usr/bin/python3 python3; do
             "$p" -c 'import torch' 2>/dev/null && { echo "$p"; break; }
         done || true)
[ -n "$python" ] || { echo "kernels.sh: no python3 with torch (Debian: python3-torch)" >&2; exit 1; }

"$here/examples/setup.sh" build
build=$here/build/bench
mkdir -p "$build"
{ cmake -S "$here" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DLAYERMETER_TESTS=OFF \
        -DLAYERMETER_WITH_ONEDNN=ON && ninja -C "$build"; } >"$build.log" 2>&1 ||
    { tail -n 20 "$build.log" >&2; exit 1; }
PATH=$build/bin:$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$python" "$here/tests/bench/kernels.py" networks "$work"
{
    printf '[sweep]\nbackend = onednn\nthreads = 1\nwarmup = 2\nmin_repeats = 5\nmax_repeats = 200\n'
    printf 'max_seconds = 0.3\nprecision = 0\n'
    for net in "$work"/*.ini; do
        batch=$("$python" -c "
import sys
sys.path.insert(0, '$here/tests/bench')
import kernels
print(kernels.SHAPES['$(basename "$net" .ini)'][1][0])")
        printf '\n[kernels.%s]\nnetworks = %s\nbatch = %s\n' "$(basename "$net" .ini)" "$net" "$batch"
    done
} >"$work/kernels.sweep"

for i in $(seq "$rounds"); do
    OMP_NUM_THREADS=1 layermeter-calibrate "$work/kernels.sweep" -o "$work/ours$i.csv" --quiet
    # PyTorch allocates what it returns: let malloc keep it, so that no page is made ready in the measured time
    MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=8589934592 MALLOC_TOP_PAD_=268435456 \
    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 "$python" "$here/tests/bench/kernels.py" measure >"$work/torch$i.csv"
    echo "round $i of $rounds" >&2
done
"$python" "$here/tests/bench/kernels.py" compare "$work"/ours*.csv -- "$work"/torch*.csv

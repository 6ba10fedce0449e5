#!/bin/sh
# From a fresh Debian 12 to a scaling curve: installs what is missing, builds, calibrates this machine's
# CPU, predicts ResNet-50, and then measures ResNet-50 to show how far off the prediction was.
#
# usage: examples/quickstart.sh [RESULTS]           (default: quickstart-results, beside this checkout's README)
#        examples/quickstart.sh --no-calibration    builds the program alone, and predicts for a GPU that it knows
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
results=${1:-$here/quickstart-results}
build=$here/build/quickstart
began=$(date +%s)

say() {
    printf '\n== %s (%d s so far)\n' "$*" $(($(date +%s) - began))
}

# build_with ON|OFF: the program, with or without layermeter-calibrate
build_with() {
    mkdir -p "$here/build"
    cmake -S "$here" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DLAYERMETER_TESTS=OFF -DLAYERMETER_CALIBRATE="$1" \
          -DLAYERMETER_WITH_MPI="$1" -DLAYERMETER_WITH_ONEDNN="$1" >"$build.log" 2>&1 ||
        { tail -n 20 "$build.log" >&2; exit 1; }
    ninja -C "$build" >>"$build.log" 2>&1 || { tail -n 20 "$build.log" >&2; exit 1; }
    PATH=$build/bin:$PATH
}

if [ "$results" = --no-calibration ]; then
    say "1. Packages"
    "$here/examples/setup.sh" program
    say "2. Build"
    build_with OFF
    say "3. Predict: ResNet-50 on 8 nodes of one H100 each"
    layermeter plan resnet50 --device H100 --nodes 8
    say "Done: the program is $build/bin/layermeter"
    exit 0
fi

say "1. Packages"
"$here/examples/setup.sh" build run

say "2. Build"
build_with ON
mkdir -p "$results"

# Open MPI refuses root, and more ranks than cores, unless told. One thread a rank is set by the sweeps.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1
two_ranks() {
    mpirun -np 2 --oversubscribe --bind-to none "$@"
}

say "3. Calibrate: six networks, forward, backward, all-reduce and update, on 1 and 2 ranks, and fit"
two_ranks layermeter calibrate "$here/configs/sweeps/quickstart.ini" -o "$results" --force --budget 150s

say "4. Predict ResNet-50, which the calibration has not seen"
layermeter predict resnet50 --machine "$results/machine.ini" --batch 1,2,4
echo
echo "No network was measured, all ranks are on this host: the curve assumes one of 10 Gbit/s between nodes."
network='--bandwidth 10Gbit/s'
# shellcheck disable=SC2086 # words
layermeter scale resnet50 --machine "$results/machine.ini" --batch 4 --nodes '1..64*2' $network \
    --plot "$results/resnet50.svg"
# shellcheck disable=SC2086
layermeter scale resnet50 --machine "$results/machine.ini" --batch 4 --nodes '1..64*2' $network --format csv \
    --plot "$results/resnet50.png" >"$results/resnet50.csv" 2>"$build.plot.log" ||
    { cat "$build.plot.log" >&2; exit 1; }

say "5. Measure ResNet-50 now, and compare"
two_ranks layermeter calibrate "$here/configs/sweeps/quickstart-check.ini" -o "$results/check.csv" --force
echo
layermeter validate "$results/check.csv" --machine "$results/machine.ini" --points
echo
layermeter validate "$results/check.csv" --machine "$results/machine.ini" --pooled

say "Done"
echo "observations  $results/observations.csv"
echo "coefficients  $results/machine.ini"
echo "report        $results/report.txt"
echo "curve         $results/resnet50.csv"
echo "plot          $results/resnet50.svg, $results/resnet50.png"
echo "check         $results/check.csv"

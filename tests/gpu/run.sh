#!/bin/sh
# What only a real GPU can show. Stages, which go on with what the one before left in WORK (default: build-gpu in
# the source folder):
#   build    the program and its tests with CUDA; fails where CUDA, cuDNN 9 or a compiler is missing
#   kernels  every kernel's result beside a CPU's, counted by class: the tests gpu_*
#   sweep    SWEEP (default standard-gpu) within BUDGET (default: what is left of the call), gone on with where it was
#            cut short: machine file and report
#   torch    PyTorch with torchvision, where it is, on the same device: our times beside its times, and how far the
#            machine file's predictions are from networks that the sweep has not measured
#   all      one after the other
# A stage that fails does not keep the others from running, unless it is the first.
# usage: [WORK=FOLDER] [SWEEP=NAME] [BUDGET=TIME] [MINUTES=N] [LAYERMETER_CARRY=FOLDER] tests/gpu/run.sh [-o FOLDER] STAGE...
#   -o FOLDER   what came of it so far, in five files at most: results.tar.gz (all of it), the machine file,
#               observations and report of the sweep, and what is printed
#   MINUTES     the whole call ends within (default 9)
# Where commands have ten minutes: 'build kernels', then 'build sweep', then 'build torch', each with a folder of its
# own (-o): if the machine stays the same, a second 'build' takes seconds; if not, all is in the folders.
#
# Needed: a C compiler, CMake, make or ninja, a CUDA toolkit (or pip's nvidia-* packages) with cuDNN 9, and inih,
# LAPACKE and cmocka: installed, or carried (tests/gpu/carry.sh). Without a GPU: 77, and a word.
set -eu

source=$(cd "$(dirname "$0")/../.." && pwd)
work=${WORK:-$source/build-gpu}
sweep=${SWEEP:-standard-gpu}
minutes=${MINUTES:-9}
began=$(date +%s)
folder=

if [ "${1:-}" = -o ]; then
    [ $# -ge 2 ] || { echo "run.sh: -o needs a folder" >&2; exit 2; }
    folder=$2
    shift 2
fi
if [ $# -eq 0 ]; then
    sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$0"
    exit 2
fi
[ "$1" != all ] || set -- build kernels sweep torch
for stage; do
    case $stage in
    build | kernels | sweep | torch) ;;
    *) echo "run.sh: no stage '$stage'" >&2; exit 2 ;;
    esac
done
if ! { [ -e /dev/nvidiactl ] || nvidia-smi >/dev/null 2>&1; }; then
    echo "skipped: no NVIDIA GPU: neither /dev/nvidiactl nor nvidia-smi"
    exit 77
fi
build=$work/build
out=$work/results
mkdir -p "$build" "$out"
if [ -n "${LAYERMETER_CARRY:-}" ]; then
    carry=$(cd "$LAYERMETER_CARRY" && pwd)
    own_libraries=${LD_LIBRARY_PATH:-}
    PKG_CONFIG_PATH=$carry/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
    LD_LIBRARY_PATH=$carry/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export PKG_CONFIG_PATH LD_LIBRARY_PATH
    if ! command -v pkg-config >/dev/null; then
        PATH=$PATH:$carry/bin # its own
        export PATH
    fi
fi

left() { # seconds of this call
    echo $((minutes * 60 - $(date +%s) + began))
}

# within SECONDS COMMAND...: 124 if it was ended
within() {
    seconds=$1
    shift
    if command -v timeout >/dev/null; then
        timeout -k 10 "$seconds" "$@"
    else
        "$@"
    fi
}

stage_build() {
    # another compiler than those it is developed with may warn of more
    set -- -DCMAKE_BUILD_TYPE=Release -DLAYERMETER_WERROR=OFF -DLAYERMETER_WITH_CUDA=ON -DLAYERMETER_WITH_ONNX=OFF
    if [ ! -e "$build/CMakeCache.txt" ] && command -v ninja >/dev/null; then
        set -- "$@" -G Ninja
    fi
    # shellcheck disable=SC2086
    within "$(left)" cmake -S "$source" -B "$build" "$@" ${CMAKE_OPTIONS:-} >"$out/configure.log" 2>&1 ||
        { tail -n 20 "$out/configure.log"; return 1; }
    within "$(left)" cmake --build "$build" -j "$(nproc)" >"$out/build.log" 2>&1 || { tail -n 30 "$out/build.log"; return 1; }
    echo "build: done; $(grep -c 'warning:' "$out/build.log" || true) warnings in $out/build.log"
}

stage_kernels() {
    status=0
    within "$(left)" ctest --test-dir "$build" -R '^(gpu_|unit_cuda_source|unit_cuda_plans|unit_ports)' -V --timeout 400 \
        >"$out/kernels.log" 2>&1 || status=$?
    sed -n 's/^[0-9]*: \(class \)/\1/p' "$out/kernels.log"
    sed -n 's/^[0-9]*: \(differs: \|\[  FAILED  \]\|\[   LINE   \]\)/\1/p' "$out/kernels.log" | head -n 40
    grep -E '^ *[0-9]+/[0-9]+ Test|tests passed' "$out/kernels.log" || tail -n 20 "$out/kernels.log"
    if grep -qE 'gpu_[a-z_]+ .*Skipped' "$out/kernels.log"; then
        echo "kernels: some were skipped, although there is a GPU:"
        grep -E '^[0-9]+: skipped' "$out/kernels.log" | sort -u
        return 1
    fi
    return $status
}

stage_sweep() {
    status=0
    resume=
    seconds_left=$(($(left) - 30))
    [ $seconds_left -ge 60 ] || { echo "sweep: $seconds_left s are left of this call: too few"; return 1; }
    [ ! -e "$out/$sweep/observations.csv" ] || resume=--resume
    # shellcheck disable=SC2086
    within "$(left)" "$build/bin/layermeter-calibrate" "$source/configs/sweeps/$sweep.ini" -o "$out/$sweep/" \
        --budget "${BUDGET:-${seconds_left}s}" $resume 2>"$out/sweep.log" || status=$?
    tail -n 3 "$out/sweep.log"
    [ ! -e "$out/$sweep/report.txt" ] || cat "$out/$sweep/report.txt"
    if [ $status -eq 124 ]; then
        echo "sweep: not at its end when this call's $minutes minutes were: call this stage again"
    fi
    return $status
}

# collect FILE NETWORK...: of what was measured when the time was over, as much as there is
collect() {
    file=$1
    shift
    status=0
    # what was carried is not for Python
    within $(($(left) / 2)) env LD_LIBRARY_PATH="${own_libraries-${LD_LIBRARY_PATH:-}}" "$python" "$source/examples/pytorch/collect.py" "$@" --batch 1,16,64,256 --image 64,224 \
        --math tf32 --device cuda --seconds 0.5 --resume -o "$file" 2>>"$out/torch.log" || status=$?
    if [ $status -eq 124 ] || [ $status -eq 0 ]; then
        return 0
    fi
    tail -n 10 "$out/torch.log"
    return 1
}

stage_torch() {
    machine=$out/$sweep/machine.ini
    python=$(for p in ${PYTHON:-} python3 /usr/bin/python3; do
                 "$p" -c 'import torch, torchvision; assert torch.cuda.is_available()' 2>/dev/null && { echo "$p"; break; }
             done || true)
    if [ -z "$python" ]; then
        echo "torch: skipped: no python3 with torch and torchvision that finds the GPU"
        return 0
    fi
    : >"$out/torch.log"
    collect "$out/torch-same.csv" resnet18 resnet50 mobilenet_v2 vgg16 densenet121 || return 1
    collect "$out/torch-unseen.csv" resnet34 resnet101 efficientnet_b0 vgg13 densenet169 || return 1
    if [ -e "$out/$sweep/observations.csv" ]; then
        "$python" "$source/tests/gpu/compare.py" "$out/$sweep/observations.csv" "$out/torch-same.csv" >"$out/torch-measured.txt" ||
            return 1
        echo "torch: our times over PyTorch's of the same points:"
        grep 'median ratio' "$out/torch-measured.txt"
    fi
    if [ ! -e "$machine" ]; then
        echo "torch: no machine file here; anywhere: layermeter validate torch-unseen.csv --machine MACHINE.ini"
        return 0
    fi
    "$build/bin/layermeter" validate "$out/torch-unseen.csv" --machine "$machine" --points >"$out/torch-predicted.txt" || return 1
    echo "torch: predictions beside PyTorch, of networks that the sweep has not measured:"
    "$build/bin/layermeter" validate "$out/torch-unseen.csv" --machine "$machine"
}

# Few files, whatever there is by now.
hand_over() {
    mkdir -p "$folder"
    tar -czf "$folder/results.tar.gz" -C "$work" results
    for file in machine.ini observations.csv report.txt; do
        [ ! -e "$out/$sweep/$file" ] || cp "$out/$sweep/$file" "$folder/$sweep-$file"
    done
    cp "$out/said.txt" "$folder/said.txt"
}

failed=0
for stage; do
    status=0
    "stage_$stage" >"$out/$stage.txt" 2>&1 || status=$?
    cat "$out/$stage.txt"
    cat "$out/$stage.txt" >>"$out/said.txt"
    if [ $status -ne 0 ]; then
        failed=1
        echo "FAILED: $stage" | tee -a "$out/said.txt"
        [ "$stage" != build ] || break
    fi
done
[ -z "$folder" ] || hand_over
exit $failed

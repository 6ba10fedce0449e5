#!/bin/sh
# What only a real GPU can show. Stages, each of at most ten minutes, each by itself; what one leaves is in
# OUT (default: gpu-results) and serves the next:
#   build    the program and its tests with CUDA; fails where CUDA, cuDNN 9 or a compiler is missing
#   kernels  every kernel's result beside a CPU's: the tests gpu_*
#   sweep    a sweep of networks (SWEEP, default quick-gpu), resumed where it was cut short: machine file and report
#   torch    the same networks in PyTorch on the same device, where there is PyTorch with torchvision, and how
#            far the machine file's predictions are from it
#   all      one after the other
# usage: [OUT=FOLDER] [SWEEP=NAME] [LAYERMETER_CARRY=FOLDER] tests/gpu/run.sh STAGE...
#
# Needed: a C compiler, CMake, make or ninja, a CUDA toolkit (or pip's nvidia-* packages) with cuDNN 9, and inih,
# LAPACKE and cmocka: installed, or carried (tests/gpu/carry.sh). Without a GPU: 77, and a word.
set -eu

source=$(cd "$(dirname "$0")/../.." && pwd)
out=${OUT:-$PWD/gpu-results}
sweep=${SWEEP:-quick-gpu}
build=$out/build
minutes=${MINUTES:-9} # of a stage's programs

if [ $# -eq 0 ]; then
    sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$0"
    exit 2
fi
if ! { [ -e /dev/nvidiactl ] || nvidia-smi >/dev/null 2>&1; }; then
    echo "skipped: no NVIDIA GPU: neither /dev/nvidiactl nor nvidia-smi"
    exit 77
fi
mkdir -p "$out"
if [ -n "${LAYERMETER_CARRY:-}" ]; then
    carry=$(cd "$LAYERMETER_CARRY" && pwd)
    PKG_CONFIG_PATH=$carry/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
    LD_LIBRARY_PATH=$carry/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export PKG_CONFIG_PATH LD_LIBRARY_PATH
    if ! command -v pkg-config >/dev/null; then
        echo "run.sh: no pkg-config, by which CMake finds what is carried" >&2
        exit 1
    fi
fi

# within SECONDS COMMAND...
within() {
    seconds=$1
    shift
    if command -v timeout >/dev/null; then
        timeout "$seconds" "$@"
    else
        "$@"
    fi
}

stage_build() {
    cmake -S "$source" -B "$build" -DCMAKE_BUILD_TYPE=Release -DLAYERMETER_WITH_CUDA=ON -DLAYERMETER_WITH_ONNX=OFF \
        ${CMAKE_OPTIONS:-} >"$out/configure.log" 2>&1 || { tail -n 20 "$out/configure.log"; return 1; }
    cmake --build "$build" -j "$(nproc)" >"$out/build.log" 2>&1 || { tail -n 30 "$out/build.log"; return 1; }
    echo "build: $("$build/bin/layermeter-calibrate" --version 2>/dev/null || echo done), $(grep -c . "$out/build.log") lines in $out/build.log"
}

stage_kernels() {
    (cd "$build" && within $((minutes * 60)) ctest -R '^(gpu_|unit_cuda|unit_ports)' --output-on-failure) >"$out/kernels.log" 2>&1 ||
        { tail -n 60 "$out/kernels.log"; return 1; }
    if grep -q 'Skipped' "$out/kernels.log"; then
        grep 'Skipped' "$out/kernels.log"
        echo "kernels: some were skipped, although there is a GPU"
        return 1
    fi
    tail -n 4 "$out/kernels.log"
}

stage_sweep() {
    status=0
    # a sweep that takes longer goes on with what it has the next time
    within $((minutes * 60)) "$build/bin/layermeter-calibrate" "$source/configs/sweeps/$sweep.ini" -o "$out/$sweep/" --resume \
        2>"$out/sweep.log" || status=$?
    tail -n 3 "$out/sweep.log"
    if [ $status -eq 124 ]; then
        echo "sweep: not at its end after $minutes minutes: call this stage again"
    fi
    return $status
}

stage_torch() {
    python=$(for p in ${PYTHON:-} python3 /usr/bin/python3; do
                 "$p" -c 'import torch, torchvision; assert torch.cuda.is_available()' 2>/dev/null && { echo "$p"; break; }
             done || true)
    if [ -z "$python" ]; then
        echo "torch: skipped: no python3 with torch and torchvision that finds the GPU"
        return 0
    fi
    within $((minutes * 30)) "$python" "$source/examples/pytorch/collect.py" resnet18 resnet50 mobilenet_v2 vgg16 densenet121 \
        --batch 1,16,64,256 --image 64,224 --math tf32 --device cuda --resume -o "$out/torch.csv" 2>"$out/torch.log" ||
        { tail -n 10 "$out/torch.log"; return 1; }
    "$build/bin/layermeter" validate "$out/torch.csv" --machine "$out/$sweep/machine.ini" --points >"$out/torch-predicted.txt" ||
        return 1
    echo "torch: predictions beside PyTorch on this GPU (networks that $sweep has measured are among them):"
    "$build/bin/layermeter" validate "$out/torch.csv" --machine "$out/$sweep/machine.ini"
    "$python" "$source/tests/gpu/compare.py" "$out/$sweep/observations.csv" "$out/torch.csv" | tee "$out/torch-measured.txt"
}

[ "$1" != all ] || set -- build kernels sweep torch
for stage; do
    case $stage in
    build | kernels | sweep | torch) "stage_$stage" || { echo "FAILED: $stage"; exit 1; } ;;
    *) echo "run.sh: no stage '$stage'" >&2; exit 2 ;;
    esac
done

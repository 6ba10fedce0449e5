#!/bin/sh
# What only a real GPU can show, in stages. Results are in WORK (default: build-gpu in the source folder); a later call goes on
# there.
#   build    the program and its tests with CUDA; fails where CUDA, cuDNN 9 or a compiler is missing
#   smoke    every class of kernel, element type, layout and launch runs (smoke.ini), and computes what a CPU does. A skipped
#            row fails the stage, except bf16 and flash attention before compute capability 8.0
#   sanity   large products and a copy beside the datasheet in configs/devices.ini: bf16 and the copy reach half to all of its
#            figures; f32 (IEEE) at most its peak; tf32 more than f32's peak, or half of its own where both are about the same
#   kernels  every kernel's result beside a CPU's, counted by class: the tests gpu_*
#   sanitizer  the same under compute-sanitizer, if it is installed
#   sweep    SWEEP (default standard-gpu, or a file) within BUDGET (default: the rest of the call): machine file and report
#   nccl     with several GPUs and mpirun: all-reduces of 64 KiB to 16 MiB over all GPUs, beside those of nccl-tests if
#            all_reduce_perf is in PATH; then one rank is killed, and the others must end
#   torch    if PyTorch and torchvision are installed: PyTorch's times on this GPU beside ours, and beside predictions of the
#            machine file for networks that the sweep did not measure
#   machine  the sweep's machine file, named after its device, for configs/machines/
#   all      one after the other
# After a failed stage the others still run, unless the build failed or nothing runs at all. A stage that this very program has
# done is passed over.
# usage: [VARIABLE=VALUE...] tests/gpu/run.sh [-o FOLDER] STAGE...
#   -o FOLDER   results so far, in five files at most: results.tar.gz (all of it), the sweep's machine file, observations and
#               report, and what was printed
#   WORK, SWEEP, BUDGET   as above
#   MINUTES     the call ends within (default 9)
#   PROGRESS    seconds between lines about what is under way (default 30; 0: none)
#   PYTHON      the Python with PyTorch (default: python3)
#   DEVICES     a file of datasheets of your own (layermeter devices)
#   LAYERMETER_CARRY      folder of libraries from tests/gpu/carry.sh
#   FAKE=BUILD  without a GPU: the fake device and programs of that build folder; SIDE=N is the side of products (default 8192)
# Commands that may take ten minutes: tests/gpu/day.sh.
# Exit status: 0; 1: a stage failed; 124: none failed, but the time was over, so give the same call again; 2: misuse; 77: no GPU.
#
# Needed: a C compiler, CMake, make or ninja, a CUDA toolkit (or pip's nvidia-* packages) with cuDNN 9, and inih, LAPACKE and
# cmocka, installed or carried (tests/gpu/carry.sh).
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
[ "$1" != all ] || set -- build smoke sanity kernels sanitizer sweep nccl torch machine
for stage; do
    case $stage in
    build | smoke | sanity | kernels | sanitizer | sweep | nccl | torch | machine) ;;
    *) echo "run.sh: no stage '$stage'" >&2; exit 2 ;;
    esac
done
if [ -z "${FAKE:-}" ] && ! { [ -e /dev/nvidiactl ] || nvidia-smi >/dev/null 2>&1; }; then
    echo "skipped: no NVIDIA GPU: neither /dev/nvidiactl nor nvidia-smi (is its driver loaded? containers need --gpus all)"
    exit 77
fi
mkdir -p "$work"
work=$(cd "$work" && pwd) # for those who go elsewhere
build=${FAKE:-$work/build}
out=$work/results
calibrate=$build/bin/layermeter-calibrate${FAKE:+-fake}
found=$(basename "$sweep" .ini)
mkdir -p "$build" "$out" "$work/done"
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
    [ "$seconds" -ge 1 ] || return 124 # to timeout 0 is for ever
    if command -v timeout >/dev/null; then
        timeout -k 10 "$seconds" "$@"
    else
        "$@"
    fi
}

# by this very program
mark() {
    cksum <"$calibrate" 2>/dev/null || echo none
}

# Rows without a time that a GPU of this age should have: before compute capability 8.0 there is neither bf16 nor flash attention.
wanted() {
    capability=$(sed -n 's/^# gpu_kind: compute capability \([0-9]*\)[.].*/\1/p' "$1" | head -n 1)
    grep -v '^#' "$1" | awk -F, -v old="$([ "${capability:-9}" -ge 8 ] || echo 1)" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $NF == "ok" || (old && ($(at["dtype"]) == "bf16" || $(at["settings"]) ~ /mixed=bf16/)) { next }
        old && $(at["dtype"]) == "f16" && /^(network,gpt2|kernel,attention)/ && !/attention=plain/ { next }
        { print }'
}

# compared CSV WHERE: a kernel that computes something else than a CPU
compared() {
    said_of=$(sed -n 's/^# verified: //p' "$1" | head -n 1)
    [ -n "$said_of" ] || return 0
    echo "$2: $said_of"
    case $said_of in
    *', 0 differ, '*) return 0 ;;
    *) return 1 ;;
    esac
}

# measure SWEEP NAME [SECONDS]: all of it into NAME.csv, gone on with where this program was cut short
measure() {
    resume=--resume
    if [ ! -e "$out/$2.csv" ] || [ "$(cat "$work/done/$2.began" 2>/dev/null)" != "$(mark)" ]; then
        resume=
        rm -f "$out/$2.csv"
        mark >"$work/done/$2.began"
    fi
    [ -n "$resume" ] || : >"$out/$2.log"
    measured=0
    # paths of networks are those of this folder
    # shellcheck disable=SC2086
    (cd "$source/tests/gpu" && within "${3:-$(left)}" ${launcher:-} "$calibrate" "$1" -o "$out/$2.csv" $resume) >>"$out/$2.log" 2>&1 || measured=$?
    [ $measured -eq 124 ] || sed -n "s/^layermeter-calibrate[a-z-]*: /$2: /p" "$out/$2.log" | sort -u # warnings and errors
    return $measured
}

# Why rows were skipped, with the number of points.
reasons() {
    sed -n 's/^\[.*: skipped-[a-z]* (\(.*\)), [0-9]* s left$/\1/p' "$out/$1.log" | sort | uniq -c | sort -rn | head -n 10 |
        sed "s/^ *\([0-9]*\) /$1: \1 points: /"
}

# On the device that is not there two are enough: ctest has all of them.
on_gpu="test_cuda_attention_gpu test_cuda_convs_gpu test_cuda_loops_gpu test_cuda_ops_gpu test_cuda_pools_gpu test_cuda_step_gpu"
on_host="test_cuda_source test_cuda_plans test_ports"
if [ -n "${FAKE:-}" ]; then
    on_gpu="test_cuda_ops test_cuda_step"
    on_host=
fi

stage_build() {
    if [ -n "${FAKE:-}" ]; then
        [ -x "$calibrate" ] || { echo "build: no $calibrate"; return 1; }
        return 0
    fi
    # another compiler than those it is developed with may warn of more
    set -- -DCMAKE_BUILD_TYPE=Release -DLAYERMETER_WERROR=OFF -DLAYERMETER_WITH_CUDA=ON -DLAYERMETER_WITH_ONNX=OFF
    if [ ! -e "$build/CMakeCache.txt" ] && command -v ninja >/dev/null; then
        set -- "$@" -G Ninja
    fi
    # shellcheck disable=SC2086
    within "$(left)" cmake -S "$source" -B "$build" "$@" ${CMAKE_OPTIONS:-} >"$out/configure.log" 2>&1 ||
        {
            tail -n 20 "$out/configure.log"
            echo "build: Debian and Ubuntu: apt-get install -y cmake ninja-build gcc pkg-config libinih-dev liblapacke-dev libcmocka-dev libopenmpi-dev"
            echo "build: without a toolkit: pip install nvidia-cuda-runtime nvidia-cuda-nvrtc nvidia-cublas nvidia-cudnn-cu13 (or -cu12 of each)"
            return 1
        }
    # what the stages run
    set -- layermeter_program layermeter-calibrate plugins/all
    for program in $on_gpu $on_host gpu_plans; do
        set -- "$@" "$program"
    done
    within "$(left)" cmake --build "$build" -j "$(nproc)" --target "$@" >"$out/build.log" 2>&1 || { tail -n 30 "$out/build.log"; return 1; }
    echo "build: done; $(grep -c 'warning:' "$out/build.log" || true) warnings in $out/build.log"
}

# Two thirds of the call, so that others have some. Products in FP8 are not on every device. 3: nothing runs
stage_smoke() {
    cut=0
    measure "$source/tests/gpu/smoke.ini" smoke $(($(left) * 2 / 3)) || cut=$?
    if [ $cut -ne 0 ]; then
        echo "smoke: cut short ($cut) after $(grep -c ',ok$' "$out/smoke.csv" 2>/dev/null || true) rows"
        return $cut
    fi
    wanted "$out/smoke.csv" >"$out/smoke.skipped"
    skipped=$(wc -l <"$out/smoke.skipped")
    echo "smoke: $(grep -c ',ok$' "$out/smoke.csv" || true) rows, $((skipped)) skipped"
    if [ "$skipped" -ne 0 ]; then
        head -n 20 "$out/smoke.skipped"
        reasons smoke
        echo "smoke: a GPU of this age runs all of it: free memory (nvidia-smi), and cuDNN 9.6 or later, not 9.10.0 or 9.10.1; versions are in $out/smoke.csv"
        grep -q ',ok$' "$out/smoke.csv" || return 3
        return 1
    fi
    compared "$out/smoke.csv" smoke || return 1
    cut=0
    measure "$source/tests/gpu/smoke_f8.ini" smoke_f8 >"$out/smoke_f8.words" || cut=$?
    if grep -q 'has no FP8' "$out/smoke_f8.words"; then
        echo "smoke: $(sed 's/.*smoke_f8.ini: //' "$out/smoke_f8.words")"
        return 0
    fi
    cat "$out/smoke_f8.words"
    [ $cut -eq 0 ] || return $cut
    skipped=$(grep -v '^#' "$out/smoke_f8.csv" | grep -v ',status$' | grep -cv ',ok$' || true)
    echo "smoke: $(grep -c ',ok$' "$out/smoke_f8.csv" || true) rows in FP8, $skipped skipped"
    [ "$skipped" -eq 0 ] || { grep ',skipped-[a-z]*$' "$out/smoke_f8.csv" | head -n 20; reasons smoke_f8; return 1; }
}

# Peaks are of the sheet's clock, so that none is passed; half is what no well-made product or copy falls short of.
stage_sanity() {
    sed "s/8192/${SIDE:-8192}/g" "$source/tests/gpu/sanity.ini" >"$out/sanity.ini"
    measure "$out/sanity.ini" sanity || return $?
    gpu=$(sed -n 's/^# gpu: //p' "$out/sanity.csv" | head -n 1)
    : >"$out/sheet.csv"
    # shellcheck disable=SC2086
    "$build/bin/layermeter" devices ${DEVICES:+--devices "$DEVICES"} --format csv "$gpu" >"$out/sheet.csv" 2>"$out/sheet.log" ||
        echo "sanity: not judged: $(cat "$out/sheet.log") (DEVICES=FILE names datasheets of your own)"
    grep -v '^#' "$out/sanity.csv" | awk -F, -v old="$(grep -q '^# gpu_kind: compute capability [1-7][.]' "$out/sanity.csv" && echo 1)" '
        function judge(what, rate, low, high, sheet) {
            if (rate == "") { missing = what !~ /bf16/ || !old; print "sanity: " what (missing ? ": not measured" : ": not on this device"); bad = bad || missing; return }
            verdict = sheet == "" ? "no datasheet" : rate >= low && rate <= high ? "as the datasheet has it" : "NOT as the datasheet has it"
            bad = bad || verdict ~ /NOT/
            printf "sanity: %s: %.4g T/s%s, %s\n", what, rate / 1e12, sheet == "" ? "" : sprintf(", %.1f %% of %.4g T/s", 100 * rate / sheet, sheet / 1e12), verdict
        }
        FILENAME != "-" { # a datasheet: its columns, then its values
            for (i = 1; i <= NF; i++) if (FNR == 1) name[i] = $i; else if (name[i] ~ /_per_s$/) peak[name[i]] = $i + 0 ? $i + 0 : ""
            next
        }
        FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $(at["status"]) != "ok" || $(at["phase"]) != "forward" { next }
        {
            split($(at["geometry"]), word, " ")
            for (i in word) { split(word[i], pair, "="); of[pair[1]] = pair[2] }
            s = $(at["seconds"])
        }
        $(at["name"]) == "gemm" {
            rate[$(at["dtype"]) ($(at["settings"]) ~ /math=tf32/ ? " tf32" : "")] = 2 * of["batch"] * of["m"] * of["n"] * of["k"] / s
        }
        $(at["name"]) == "copy" { rate["copy"] = 2 * of["bytes"] / s } # read and written
        END {
            f32 = peak["f32_flop_per_s"]; tf32 = peak["tf32_flop_per_s"]; bf16 = peak["bf16_flop_per_s"]
            bandwidth = peak["bandwidth_bytes_per_s"]
            judge("product in f32 (IEEE), FLOP", rate["f32"], 0, f32, f32)
            judge("product in tf32, FLOP", rate["f32 tf32"], tf32 > 1.5 * f32 ? f32 : tf32 / 2, tf32, tf32)
            judge("product in bf16, FLOP", rate["bf16"], bf16 / 2, bf16, bf16)
            judge("copy, bytes", rate["copy"], bandwidth / 2, bandwidth, bandwidth)
            exit bad
        }' "$out/sheet.csv" - && return 0
    sed -n 's/^# \(gpu_\(clock[a-z_]*\|power_limit\|temperature\|ecc\|management\): .*\)/sanity: \1/p' "$out/sanity.csv"
    echo "sanity: look for other work on the GPU (nvidia-smi), for what holds its clock (nvidia-smi -q -d CLOCK,POWER,PERFORMANCE), and for MIG;"
    echo "sanity: a variant with other figures than $gpu has in configs/devices.ini has them in DEVICES=FILE; measured: $out/sanity.csv"
    return 1
}

# run_tests LOG PROGRAM... -- COMMAND...: each by that command, if any; those that failed into `wrong`, those that the call's end
# cut short into `cut`. Those that have been done under the command are passed over.
run_tests() {
    log=$1
    programs=
    shift
    while [ "$1" != -- ]; do
        programs="$programs $1"
        shift
    done
    shift
    cut=
    for program in $programs; do
        status=0
        passed=$work/done/sanitizer-$program
        [ $# -eq 0 ] || [ "$(cat "$passed" 2>/dev/null)" != "$(mark)" ] || continue
        within "$(left)" env LAYERMETER_PLUGIN_PATH="$build/lib/layermeter/plugins" LAYERMETER_MODEL_PATH="$source/models" \
            LAYERMETER_SOURCE="$source" LAYERMETER_BUILD="$build" "$@" "$build/bin/$program" >>"$log" 2>&1 || status=$?
        case "$status $on_host" in
        "0 "* | "77 "*$program*) [ $# -eq 0 ] || mark >"$passed" ;;
        "124 "*) cut="$cut $program" ;;
        "77 "*) wrong="$wrong $program (skipped, although there is a GPU)" ;;
        *) wrong="$wrong $program ($status)" ;;
        esac
    done
}

stage_kernels() {
    wrong=
    : >"$out/kernels.log"
    # shellcheck disable=SC2086
    run_tests "$out/kernels.log" $on_gpu $on_host --
    sed -n '/^class /p' "$out/kernels.log"
    grep -E '^(differs: |\[  FAILED  \]|\[   LINE   \])' "$out/kernels.log" | head -n 40 || true
    [ -z "$wrong" ] || { tail -n 20 "$out/kernels.log"; echo "kernels: wrong:$wrong; all of it in $out/kernels.log"; return 1; }
    [ -z "$cut" ] || { echo "kernels: not at their end when the call's $minutes minutes were:$cut"; return 124; }
}

stage_sanitizer() {
    tool=
    for each in compute-sanitizer ${CUDA_ROOT:+"$CUDA_ROOT/bin/compute-sanitizer"} /usr/local/cuda/bin/compute-sanitizer /usr/local/cuda/compute-sanitizer/compute-sanitizer; do
        [ -n "$tool" ] || ! command -v "$each" >/dev/null || tool=$each
    done
    if [ -z "$tool" ]; then
        echo "sanitizer: skipped: no compute-sanitizer, neither in PATH nor in /usr/local/cuda (it is a package of the toolkit: cuda-sanitizer-*)"
        return 0
    fi
    wrong=
    : >"$out/sanitizer.log"
    # shellcheck disable=SC2086
    run_tests "$out/sanitizer.log" $on_gpu -- "$tool" --tool memcheck --error-exitcode 9
    [ -z "$wrong" ] || { grep '^=========' "$out/sanitizer.log" | head -n 20; echo "sanitizer: wrong:$wrong; all of it in $out/sanitizer.log"; return 1; }
    [ -z "$cut" ] || { echo "sanitizer: not at its end when the call's $minutes minutes were:$cut"; return 124; }
    echo "sanitizer: no error"
}

stage_sweep() {
    status=0
    resume=
    seconds_left=$(($(left) - 30))
    [ $seconds_left -ge 60 ] || { echo "sweep: $seconds_left s are left of this call: too few"; return 124; }
    file=$source/configs/sweeps/$sweep.ini
    [ ! -e "$sweep" ] || file=$sweep
    [ ! -e "$out/$found/observations.csv" ] || resume=--resume
    # shellcheck disable=SC2086
    within "$(left)" "$calibrate" "$file" -o "$out/$found/" \
        --budget "${BUDGET:-${seconds_left}s}" $resume 2>"$out/sweep.log" || status=$?
    [ $status -eq 124 ] || sed -n 's/^layermeter-calibrate[a-z-]*: /sweep: /p' "$out/sweep.log" | sort -u
    tail -n 3 "$out/sweep.log"
    # the rest is in the file
    [ ! -e "$out/$found/report.txt" ] || sed -n '/^How far the times/,/^Coefficients/p' "$out/$found/report.txt" | sed '$d'
    return $status
}

# Microseconds of nccl-tests' all-reduces in place beside ours, by size.
beside_nccl_tests() {
    awk '
        FILENAME ~ /perf/ { if ($1 ~ /^[0-9]+$/ && NF >= 10) theirs[$1] = $10; next }
        !/^#/ { split($0, f, ","); if (f[1] == "kind") { for (i in f) at[f[i]] = i } else if (f[at["status"]] == "ok" && f[at["algorithm"]] == "default") { ours[f[at["bytes"]]] = 1e6 * f[at["seconds"]]; chosen[f[at["bytes"]]] = f[at["settings"]] } }
        END {
            for (bytes = 65536; bytes <= 16777216; bytes *= 4)
                if (ours[bytes])
                    printf "nccl: all-reduce of %d KiB: %.1f us%s%s\n", bytes / 1024, ours[bytes], theirs[bytes] ? sprintf(", nccl-tests %.1f us", theirs[bytes]) : "", chosen[bytes] ? ", " chosen[bytes] : ""
        }' "$1" "$2"
}

# The rank kills itself once there are times.
stage_nccl() {
    gpus=${LAYERMETER_FAKE_DEVICES:-1}
    [ -n "${FAKE:-}" ] || gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU' || true)
    [ "$gpus" -ge 2 ] || { echo "nccl: skipped: one GPU"; return 0; }
    command -v mpirun >/dev/null || { echo "nccl: skipped: no mpirun (Debian and Ubuntu: openmpi-bin)"; return 0; }
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
    bind="--bind-to none"
    mpirun --oversubscribe -np 1 true >/dev/null 2>&1 && bind="$bind --oversubscribe"
    sed "s/^ranks .*/ranks = $gpus/" "$source/tests/gpu/nccl.ini" >"$out/nccl.ini"
    [ -z "${FAKE:-}" ] || sed -i -e 's/16MiB/256KiB/' -e 's/^min_repeats.*/min_repeats = 2/' -e 's/^max_repeats.*/max_repeats = 2/' "$out/nccl.ini"
    launcher="mpirun $bind -np $gpus"
    status=0
    measure "$out/nccl.ini" nccl || status=$?
    launcher=
    if grep -q "this build has no backend 'nccl'" "$out/nccl.log"; then
        echo "nccl: skipped: it was built without NCCL or MPI (Debian and Ubuntu: libopenmpi-dev, libnccl-dev; pip: nvidia-nccl-cu13 or -cu12): then remove $build"
        return 0
    fi
    [ $status -eq 0 ] || return $status
    : >"$out/nccl-perf.txt"
    ! command -v all_reduce_perf >/dev/null ||
        within "$(left)" all_reduce_perf -b 64K -e 16M -f 4 -g "$gpus" >"$out/nccl-perf.txt" 2>&1 || echo "nccl: all_reduce_perf fails: $out/nccl-perf.txt"
    beside_nccl_tests "$out/nccl-perf.txt" "$out/nccl.csv"
    cat >"$out/killed.sh" <<'END_KILLED'
#!/bin/sh
csv=$1
shift
if [ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}" = 1 ]; then
    (while [ "$(grep ',ok$' "$csv" 2>/dev/null | wc -l)" -lt 2 ]; do sleep 0.1; done; kill -9 $$) &
fi
exec "$@"
END_KILLED
    chmod +x "$out/killed.sh"
    rm -f "$out/killed.csv"
    began_kill=$(date +%s)
    # shellcheck disable=SC2086
    (cd "$source/tests/gpu" && within 120 mpirun $bind -np "$gpus" "$out/killed.sh" "$out/killed.csv" "$calibrate" "$out/nccl.ini" -o "$out/killed.csv" --quiet) >"$out/killed.log" 2>&1 &&
        { echo "nccl: a rank that was killed is no failure"; return 1; }
    lasted=$(($(date +%s) - began_kill))
    grep -m 1 -e '^layermeter-calibrate[a-z-]*: [^w]' -e 'exited on signal' "$out/killed.log" >"$out/killed.txt" ||
        { echo "nccl: a rank was killed, and no word of it after $lasted s: $out/killed.log"; return 1; }
    echo "nccl: a rank was killed between points; the run ended, $lasted s after its start: $(cat "$out/killed.txt")"
}

# collect FILE NETWORK...: of what was measured when the time was over, as much as there is
collect() {
    file=$1
    shift
    status=0
    # what was carried is not for Python
    within $(($(left) / 2)) env LD_LIBRARY_PATH="${own_libraries-${LD_LIBRARY_PATH:-}}" "$python" "$source/examples/pytorch/collect.py" "$@" --batch 1,16,64,256 --image 64,224 \
        --phases training,inference --math tf32 --device cuda --seconds 0.5 --resume -o "$file" 2>>"$out/torch.log" || status=$?
    if [ $status -eq 124 ] || [ $status -eq 0 ]; then
        return 0
    fi
    tail -n 10 "$out/torch.log"
    return 1
}

stage_torch() {
    machine=$out/$found/machine.ini
    python=$(for p in ${PYTHON:-} python3 /usr/bin/python3; do
                 "$p" -c 'import torch, torchvision; assert torch.cuda.is_available()' 2>/dev/null && { echo "$p"; break; }
             done || true)
    if [ -z "$python" ]; then
        echo "torch: skipped: no python3 with torch and torchvision that finds the GPU (pip install torch torchvision; PYTHON names another)"
        return 0
    fi
    : >"$out/torch.log"
    collect "$out/torch-same.csv" resnet18 resnet50 mobilenet_v2 vgg16 densenet121 || return 1
    collect "$out/torch-unseen.csv" resnet34 resnet101 efficientnet_b0 vgg13 densenet169 || return 1
    if [ -e "$out/$found/observations.csv" ]; then
        if "$python" "$source/tests/gpu/compare.py" "$out/$found/observations.csv" "$out/torch-same.csv" >"$out/torch-measured.txt"; then
            echo "torch: our times over PyTorch's of the same points:"
            grep 'median ratio' "$out/torch-measured.txt"
        else
            echo "torch: the sweep has measured none of PyTorch's points (networks, batches and images of $out/torch-same.csv)"
        fi
    fi
    if [ ! -e "$machine" ]; then
        echo "torch: no predictions, as there is no machine file: stage sweep first; or layermeter validate $out/torch-unseen.csv --machine MACHINE.ini"
        return 0
    fi
    "$build/bin/layermeter" validate "$out/torch-unseen.csv" --machine "$machine" --points >"$out/torch-predicted.txt" || return 1
    echo "torch: predictions beside PyTorch, of networks that the sweep has not measured:"
    "$build/bin/layermeter" validate "$out/torch-unseen.csv" --machine "$machine"
    # what PyTorch's host takes, by the networks that both have measured
    where=$(sed -n -e 's/^dtype = /dtype=/p' -e '/^\[provenance\]/,/^$/s/^settings = //p' "$machine" | tr '\n ' ',,' | sed 's/,$//')
    "$build/bin/layermeter" fit "$out/$found/observations.csv" --where "$where" --host "$out/torch-same.csv" -o "$out/machine-eager.ini" \
        >"$out/torch-host.txt" 2>&1 || {
            echo "torch: no time of PyTorch's host: $(tail -n 1 "$out/torch-host.txt")"
            grep -q 'has no information about the host' "$out/torch-host.txt" # its GPU is the slower one
            return
        }
    echo "torch: $(grep ' of the host for an operation' "$out/torch-host.txt")"
    "$python" "$source/tests/gpu/compare.py" "$out/machine-eager.ini" "$out/torch-unseen.csv" "$build/bin/layermeter" --framework eager \
        >"$out/torch-eager.txt" || return 1
    echo "torch: with it, of networks that the sweep has not measured: $(tail -n 1 "$out/torch-eager.txt")"
}

# Names of devices have blanks.
stage_machine() {
    from=$out/$found/machine.ini
    [ -e "$from" ] || { echo "machine: no machine file: stage sweep first"; return 1; }
    name=$(sed -n '/^\[provenance\]/,/^\[measured/s/^gpu = //p' "$from" | head -n 1 | tr 'A-Z ' 'a-z_')
    [ -n "$name" ] || { echo "machine: $from does not say of which GPU it is"; return 1; }
    "$build/bin/layermeter" predict resnet18 --batch 16 --machine "$from" >"$out/predicted.txt" || return 1
    cp "$from" "$out/$name.ini"
    echo "machine: $name.ini, for configs/machines/:"
    sed -n '/^\[provenance\]/,/^$/{/^\(date\|program\|gpu[a-z_]*\|cuda[a-z_]*\|cudnn\|cublaslt\|nvrtc\|nccl\|settings\) = /p;}' "$from"
}

# Few files, whatever there is by now.
hand_over() {
    mkdir -p "$folder"
    tar -czf "$folder/results.tar.gz" -C "$work" results
    for file in machine.ini observations.csv report.txt; do
        [ ! -e "$out/$found/$file" ] || cp "$out/$found/$file" "$folder/$found-$file"
    done
    cp "$out/said.txt" "$folder/said.txt"
}

# Each 30 s the last line of what is under way. Its sleeps are short: whoever ends it need not wait for one.
tell() {
    passed=0
    while sleep 1; do
        passed=$((passed + 1))
        [ $passed -ge "$every" ] || continue
        passed=0
        newest=$(ls -t "$out"/*.log 2>/dev/null | head -n 1)
        echo "-- $stage: $(left) s of this call are left${newest:+: $(tail -n 1 "$newest" | cut -c 1-160)}" >&2
    done
}

every=${PROGRESS:-30}
done_of=
failed=
unfinished=
for stage; do
    if [ "$stage" != build ] && [ "$(cat "$work/done/$stage" 2>/dev/null)" = "$(mark)" ]; then
        echo "$stage: done before"
        done_of="$done_of $stage"
        continue
    fi
    echo "-- $stage: $(left) s of this call are left" >&2
    teller=
    [ "$every" -eq 0 ] || { tell & teller=$!; }
    status=0
    "stage_$stage" >"$out/$stage.txt" 2>&1 || status=$?
    [ -z "$teller" ] || { kill "$teller" && wait "$teller"; } 2>/dev/null || true
    cat "$out/$stage.txt"
    cat "$out/$stage.txt" >>"$out/said.txt"
    if [ $status -eq 0 ]; then
        mark >"$work/done/$stage"
        done_of="$done_of $stage"
        continue
    fi
    if [ $status -eq 124 ]; then
        unfinished="$unfinished $stage"
        echo "NOT FINISHED: $stage: the time of this call was over" | tee -a "$out/said.txt"
    else
        failed="$failed $stage"
        echo "FAILED: $stage" | tee -a "$out/said.txt"
        rm -f "$work/done/$stage.began" # measured anew
    fi
    case $stage-$status in
    build-* | smoke-3) break ;;
    esac
done
echo "-- done:${done_of:- nothing}${failed:+; failed:$failed, whose words are above and all of it in $out}${unfinished:+; not finished:$unfinished, which the same call goes on with}" >&2
[ -z "$folder" ] || hand_over
[ -z "$failed" ] || exit 1
[ -z "$unfinished" ] || exit 124

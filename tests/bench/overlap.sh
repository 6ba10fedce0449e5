#!/bin/sh
# The native step, in ratios. First on one rank: the step run whole over the sum of its phases run one by one
# ('step_over_phases', goal 0.98 to 1.02; 'least_over_least' the same of the minima and 'cpu_over_cpu' of the
# thread's CPU time, where the machine is shared). Then on several: the all-reduce of one message behind the backward pass ('sync_ms' in the row of
# progress none) against what is left of it behind a backward pass with buckets, moved on by polling between
# kernels and by a thread; 'hidden' is the share that is gone, 'worth' how much faster the whole step is
# (below 1: slower). All in turns within one process. Where ranks have no core to spare - as many ranks as
# cores, or more - an all-reduce takes from the backward pass what it hides behind it: 'worth' tells, not
# 'hidden'. Last, for each number of ranks, what a machine file says of it: calibrated with other networks, in one
# message and in buckets of 1 MiB and 25 MiB, it predicts what is exposed of these networks' all-reduces in other
# buckets, and their steps, beside the middle of three measurements ('error'; goal of exposed: 20 %). What is exposed is
# between some microseconds and a tenth of a step: 'again' is how far the second of them is off the first, which no
# prediction of one beats, and 'of 5 %' the error where what is below 5 % of the step counts as that much. Where ranks share
# cores the scheduler decides who is given one when the last message comes. Not a test: machines are shared and noisy.
# usage: tests/bench/overlap.sh [SECONDS ["RANKS..." ["NETWORK IMAGE BATCH"...]]]   (default: 2 s a way, 2 and 4
#        ranks, resnet18, resnet50 and vgg16 at 64 pixels, 8 images); with KEEP=FOLDER, which is there, what was measured stays in it
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

# what the machine file is made from, but for the networks that are asked for
others="resnet18 resnet34 alexnet vgg11 squeezenet1_1 mobilenet_v2 mnasnet1_0"
asked=$(for subject in "$@"; do printf '%s ' "${subject%% *}"; done)
known=$(for name in $others; do case " $asked " in *" $name "*) ;; *) printf '%s, ' "$name" ;; esac; done)
work=${KEEP:-$(mktemp -d)}
[ "${KEEP:-}" ] || trap 'rm -rf "$work"' EXIT

sweep() { # FILE BUCKETS NETWORKS IMAGE BATCH RANKS
    printf '[networks.%s]\nnetworks = %s\nimage = %s\nbatch = %s\nranks = %s\nbucket = %s\nprogress = poll\n' \
        "$(echo "$3" | cut -d, -f1)" "$3" "$4" "$5" "$6" "$2" >>"$1"
}
begin() { # FILE REPEATS
    printf '[sweep]\nbackend = onednn\ncollective = mpi\nmin_repeats = %s\nmax_repeats = %s\nretries = 1\n' "$2" $(($2 + 4)) >"$1"
}
# mean of |second / first - 1| of a phase in two files of the same points
again() { # FIRST SECOND PHASE
    awk -F, -v phase="$3" '/^#/ { next } $1 == "kind" { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["phase"] != phase || $at["seconds"] == "" { next }
        { key = $at["name"] " " $at["bucket_bytes"] }
        FILENAME == ARGV[1] { first[key] = $at["seconds"]; next }
        key in first { off = $at["seconds"] / first[key] - 1; sum += off < 0 ? -off : off; n++ }
        END { if (n) printf "%.1f %%", 100 * sum / n }' "$1" "$2"
}
# of each row of three files the one whose time is in the middle; rows that a sweep measures twice to see drift aside
middle() { # FILE FILE FILE
    awk -F, 'FNR == 1 { file++ }
        /^#/ { if (file == 1) print; next }
        $1 == "kind" { for (i = 1; i <= NF; i++) at[$i] = i; if (file == 1) print; next }
        $at["flags"] ~ /anchor/ { next }
        { key = $at["name"] " " $at["phase"] " " $at["bucket_bytes"] }
        file == 1 { order[++n] = key }
        { row[key, file] = $0; value[key, file] = $at["seconds"] + 0 }
        END { for (i = 1; i <= n; i++) { a = value[order[i], 1]; b = value[order[i], 2]; c = value[order[i], 3]
              m = a < b ? (b < c ? 2 : a < c ? 3 : 1) : (a < c ? 1 : b < c ? 3 : 2)
              print row[order[i], m] } }' "$@"
}

# mean errors of what is exposed, plain and of 5 % of the step at least
errors() { # EXPOSED STEPS: CSV of validate --points
    awk -F, '$1 == "network" { next } { key = $1 " " $2 " " $3 " " $5 }
        FILENAME == ARGV[1] { measured[key] = $6; predicted[key] = $7; next }
        { off = predicted[key] - measured[key]; off = off < 0 ? -off : off; least = 0.05 * $6
          plain += off / measured[key]; floor += off / (measured[key] > least ? measured[key] : least); n++
          step = $7 / $6 - 1; steps += step < 0 ? -step : step }
        END { if (n) printf "exposed %.1f %%, of 5 %% %.1f %%, steps %.1f %%", 100 * plain / n, 100 * floor / n, 100 * steps / n }' "$1" "$2"
}

for n in $ranks; do
    begin "$work/known.ini" 11
    sweep "$work/known.ini" "0, 1MiB, 25MiB" "${known%, }" 64 "4, 8" "1, $n"
    printf '[collectives]\nbytes = 4KiB..64MiB*4\nalgorithms = default, nonblocking\nranks = %s\n' "$n" >>"$work/known.ini"
    begin "$work/asked.ini" 21 # few points, and what they tell is judged by
    for subject in "$@"; do
        # shellcheck disable=SC2086 # words on purpose
        sweep "$work/asked.ini" "256KiB, 4MiB, 64MiB" $subject "$n"
    done
    for what in again third; do
        cp "$work/asked.ini" "$work/$what.ini"
    done
    for what in known asked again third; do
        # shellcheck disable=SC2086
        mpirun $many -np "$n" "$build/bin/layermeter-calibrate" "$work/$what.ini" -o "$work/$what-$n.csv" --quiet \
            2>"$work/log" || { cat "$work/log" >&2; exit 1; }
    done
    middle "$work/asked-$n.csv" "$work/again-$n.csv" "$work/third-$n.csv" >"$work/middle-$n.csv"
    "$build/bin/layermeter" fit "$work/known-$n.csv" -o "$work/$n.ini" >/dev/null 2>&1
    echo "# $n ranks: $(sed -n '/^\[overlap\]/,/^$/p' "$work/$n.ini" | grep -E ' (s|byte)(/|$)' | tr '\n' ';')"
    for phase in exposed overlapped; do
        "$build/bin/layermeter" validate "$work/middle-$n.csv" --machine "$work/$n.ini" --model layermeter \
            --phase "$phase" --points 2>/dev/null
        "$build/bin/layermeter" validate "$work/middle-$n.csv" --machine "$work/$n.ini" --model layermeter \
            --phase "$phase" --points --format csv >"$work/$phase.csv" 2>/dev/null
    done
    echo "# $n ranks, error: $(errors "$work/exposed.csv" "$work/overlapped.csv"); again: exposed" \
        "$(again "$work/asked-$n.csv" "$work/again-$n.csv" sync), steps $(again "$work/asked-$n.csv" "$work/again-$n.csv" step)"
done

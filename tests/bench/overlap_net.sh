#!/bin/sh
# What is left of all-reduces behind a backward pass where a network is what they wait for: native steps on hosts in
# namespaces behind a switch of known bandwidth and delay (netns.sh). A machine file of some networks, in one message and
# in buckets, predicts what is exposed of other networks' all-reduces in other buckets, and their steps, beside what is
# measured ('error'; goal of exposed: 20 %). Beside overlap.sh, whose ranks exchange messages through memory, by the
# cores that compute. Not a test: machines are shared and noisy. Needs what netns.sh needs.
# usage: tests/bench/overlap_net.sh ["HOSTS..." [MBIT [DELAY_US]]]      (default: 2 and 4 hosts, 400 Mbit/s, 500 us)
set -eu

here=$(cd "$(dirname "$0")/../.." && pwd)
hosts=${1:-2 4}
mbit=${2:-400}
delay=${3:-500}
known="squeezenet1_1, mnasnet1_0, efficientnet_b0"
asked="mobilenet_v2, shufflenet_v2_x1_0"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sweep() { # FILE BUCKETS NETWORKS HOSTS
    printf '[sweep]\nbackend = onednn\ncollective = mpi\nmin_repeats = 3\nmax_repeats = 5\nretries = 0\n' >"$1"
    printf '[networks]\nnetworks = %s\nimage = 128\nbatch = 4, 8\nnodes = %s\nbucket = %s\nprogress = poll\n' "$3" "$4" "$2" >>"$1"
}
for n in $hosts; do
    sweep "$work/known.ini" "0, 1MiB, 4MiB" "$known" "1, $n"
    printf '[collectives]\nbytes = 4KiB..16MiB*4\nalgorithms = default, nonblocking\nnodes = %s\n' "$n" >>"$work/known.ini"
    sweep "$work/asked.ini" "512KiB, 2MiB, 64MiB" "$asked" "$n"
    for what in known asked; do
        SWEEP=$work/$what.ini KEEP=$work/$what.csv "$here/tests/bench/netns.sh" "$n" "$mbit" "$delay"
    done
    PATH=$here/build/bench/bin:$PATH
    LAYERMETER_PLUGIN_PATH=$here/build/bench/lib/layermeter/plugins
    LAYERMETER_MODEL_PATH=$here/models
    export LAYERMETER_PLUGIN_PATH LAYERMETER_MODEL_PATH
    layermeter fit "$work/known.csv" -o "$work/m.ini" >/dev/null 2>&1
    echo "# $n hosts: $(sed -n '/^\[overlap\]/,/^$/p' "$work/m.ini" | grep -E ' s(/|$)' | tr '\n' ';')"
    for phase in exposed overlapped; do
        layermeter validate "$work/asked.csv" --machine "$work/m.ini" --model layermeter --phase "$phase" --points 2>/dev/null
    done
done

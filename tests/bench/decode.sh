#!/bin/sh
# How far decoding and prompts of language models are off on this machine's CPU: decode.ini is measured and fitted, then GPT-2 and TinyLlama,
# which are not in it, at four contexts and four lengths each. No test: it measures times, and prints figures of this machine.
#
#   tests/bench/decode.sh                  some six minutes on two idle cores, 7 GB of memory
#   tests/bench/decode.sh FITTED ASKED     observations that were measured before: what is fitted, what is asked
#
# LAYERMETER_BIN  folder of the program; default: build/bin
# NETWORKS        that are asked; default: gpt2 tinyllama_1_1b
# CPU_TIME        yes: seconds of the thread instead of those on the wall, for a machine that is at work otherwise
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
bin=${LAYERMETER_BIN:-$here/../../build/bin}
export LAYERMETER_PLUGIN_PATH="${LAYERMETER_PLUGIN_PATH:-$bin/../lib/layermeter/plugins}" OPENBLAS_NUM_THREADS=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fitted=${1:-$work/fitted.csv} asked=${2:-$work/asked.csv}

# sweep NAME: the networks that are asked, one section each
asked_sweep() {
    sed '/^\[networks\]/,$d' "$here/../../configs/sweeps/decode.ini"
    for network in ${NETWORKS:-gpt2 tinyllama_1_1b}; do
        printf '[networks.%s]\nphases = inference\nnetworks = ' "$network"
        for context in 64 192 448 960; do
            printf '%s:attention=plain:sequence=1:context=%s, \\\n' "$network" "$context"
        done
        printf '%s:attention=plain:sequence=%s, \\\n' "$network" 32 "$network" 64 "$network" 128
        printf '%s:attention=plain:sequence=256\n' "$network"
    done
}

# of the thread, where it was alone with its core or not
by_cpu_time() {
    awk -F, -v OFS=, '
        /^#/ { print; next }
        !head { for (i = 1; i <= NF; i++) at[$i] = i; head = 1; print; next }
        $at["cpu_seconds"] != "" {
            $at["seconds"] = $at["cpu_seconds"]; $at["min_seconds"] = $at["p95_seconds"] = ""
            sub(/contended ?/, "", $at["flags"])
        }
        { print }' "$1"
}

if [ $# -lt 2 ]; then
    asked_sweep >"$work/asked.ini"
    "$bin/layermeter" calibrate "$here/../../configs/sweeps/decode.ini" -o "$fitted" --quiet
    "$bin/layermeter" calibrate "$work/asked.ini" -o "$asked" --quiet
fi
if [ "${CPU_TIME:-no}" = yes ]; then
    by_cpu_time "$fitted" >"$work/a.csv" && fitted=$work/a.csv
    by_cpu_time "$asked" >"$work/b.csv" && asked=$work/b.csv
fi
"$bin/layermeter" fit "$fitted" -o "$work/m.ini" >/dev/null 2>&1
for what in decoding prompts; do
    awk -v decoding="$([ $what = decoding ] && echo 1 || echo 0)" \
        '!/^network,/ || (/:context=/ ? 1 : 0) == decoding' "$asked" >"$work/part.csv"
    echo "$what, by a fit to other networks:"
    "$bin/layermeter" validate "$work/part.csv" --machine "$work/m.ini" 2>/dev/null
done

#!/bin/sh
# What 10,000 points of a scan over nodes, batches and buckets cost as a process, beside the same program with
# a single point and beside the least model, whose steps are four products. Not a test: machines are shared.
# usage: tests/bench/scale.sh [MACHINE]     default: machine.ini beside this, model counts
#
# Prints for each model and format processor seconds of 1 point, of 10,000 and of 40,000 (wall seconds of the
# 10,000 beside them: they grow with what else runs), points a processor second without the start, seconds against
# those of the first line, and how the cost of a point grows from 10,000 to 40,000 (1: linear; curves of buckets have
# four times as many points then, their turning points cost the same).
#
# LAYERMETER_BIN  folder of the program; default: build/bin
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc -O2 -o "$work/timer" "$here/timer.c"
PATH=${LAYERMETER_BIN:-$here/../../build/bin}:$PATH

if [ $# -gt 0 ]; then
    machine=$1
    models='convmeter layermeter'
else
    machine=$here/machine.ini
    models='counts'
fi
buckets=1MiB,4MiB,8MiB,16MiB,25MiB
# run ARGUMENTS: wall seconds, peak memory, processor seconds
run() { "$work/timer" 9 layermeter scale resnet50 --machine "$machine" "$@"; }

printf '%-11s %-8s %-6s %8s %8s %8s %8s %9s %6s %7s\n' model sync format '1 point' '10,000' wall '40,000' points/s ratio growth
first=
for model in $models; do
    for sync in once buckets; do
        # convmeter does not tell the all-reduce from the update: it has no buckets
        [ "$model $sync" = 'convmeter buckets' ] && continue
        [ "$sync" = once ] && grid='--batch 1..100' || grid="--batch 1..20 --bucket $buckets"
        for format in table csv json; do
            one=$(run --model "$model" --format "$format" --nodes 1 --batch 1)
            # shellcheck disable=SC2086 # words
            some=$(run --model "$model" --format "$format" --nodes 1..100 $grid)
            # shellcheck disable=SC2086
            many=$(run --model "$model" --format "$format" --nodes 1..400 $grid)
            first=${first:-${some##* }}
            awk -v one="${one##* }" -v some="${some##* }" -v wall="${some%% *}" -v many="${many##* }" -v first="$first" \
                -v what="$(printf '%-11s %-8s %-6s' "$model" "$sync" "$format")" 'BEGIN {
                printf "%s %8.4f %8.4f %8.4f %8.4f %9.0f %6.2f %7.2f\n", what, one, some, wall, many,
                    10000 / (some - one), some / first, (many - one) / (some - one) / 4 }'
        done
    done
done

#!/bin/sh
# What 10,000 points of a scan over nodes, batches and buckets cost as a process, beside the same program with
# a single point and beside the least model, whose steps are four products. Not a test: machines are shared.
# usage: LAYERMETER_BIN=build/bin tests/bench/scale.sh [MACHINE] (default: machine.ini beside this, model counts)
#
# Prints for each model and format: seconds of 1 point, of 10,000 and of 40,000, points a second without the
# start, seconds against those of the first line, and how the cost of a point grows (1: linear).
set -eu
: "${LAYERMETER_BIN:?}"
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc -O2 -o "$work/timer" "$here/timer.c"
PATH=$LAYERMETER_BIN:$PATH

if [ $# -gt 0 ]; then
    machine=$1
    models='convmeter layermeter'
else
    machine=$here/machine.ini
    models='counts'
fi
buckets=1MiB,4MiB,8MiB,16MiB,25MiB
seconds() { "$work/timer" 9 layermeter scale resnet50 --machine "$machine" "$@" | cut -d' ' -f1; }

printf '%-11s %-13s %-7s %10s %10s %10s %10s %9s %7s\n' model sync format '1 point' '10,000' '40,000' points/s ratio growth
first=
for model in $models; do
    for sync in once buckets; do
        [ "$sync" = once ] && set -- --sync once || set -- --bucket "$buckets"
        # convmeter does not tell the all-reduce from the update: it has no buckets
        [ "$model $sync" = 'convmeter buckets' ] && continue
        for format in table csv; do
            one=$(seconds --model "$model" --format "$format" --nodes 1 --batch 1 --sync once)
            if [ "$sync" = once ]; then
                some=$(seconds --model "$model" --format "$format" --nodes 1..100 --batch 1..100)
                many=$(seconds --model "$model" --format "$format" --nodes 1..400 --batch 1..100)
            else
                some=$(seconds --model "$model" --format "$format" --nodes 1..100 --batch 1..20 "$@")
                many=$(seconds --model "$model" --format "$format" --nodes 1..400 --batch 1..20 "$@")
            fi
            first=${first:-$some}
            awk -v m="$model" -v s="$sync" -v f="$format" -v o="$one" -v a="$some" -v b="$many" -v first="$first" 'BEGIN {
                printf "%-11s %-13s %-7s %10.4f %10.4f %10.4f %10.0f %9.2f %7.2f\n", m, s, f, o, a, b,
                    10000 / (a - o), a / first, (b - o) / (a - o) / 4 }'
        done
    done
done

#!/bin/sh
# Seconds of `layermeter report` as a process, of two machines, over more and more points (nodes x machines): at most
# 2 s for the 7 nodes that it takes by default, and linear: what a point takes beyond that stays what it is.
# Not a test: machines are shared and noisy. Medians of 5 runs.
# usage: LAYERMETER_BIN=build/bin tests/bench/report.sh [MACHINE.ini MACHINE.ini]
set -eu
: "${LAYERMETER_BIN:?}"
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ $# -eq 2 ]; then
    cp "$1" "$work/a.ini"
    cp "$2" "$work/b.ini"
    model=layermeter
else
    cp "$here/machine.ini" "$work/a.ini"
    sed 's/= 2e-11 s/= 1e-11 s/' "$here/machine.ini" >"$work/b.ini"
    model=counts
fi
cc -O2 -o "$work/timer" "$here/timer.c"
cd "$work"

echo "points,seconds,bytes_of_page"
for nodes in 1..64*2 1..64+2 1..512+4 1..4096+8 1..8192+4; do
    seconds=$("$work/timer" 5 "$LAYERMETER_BIN/layermeter" report resnet50 --machine a.ini --machine b.ini \
        --model $model --nodes "$nodes" --sync ddp -o page.html | cut -d' ' -f1)
    points=$(sed -n '/<section id="scaling">/,/<\/section>/p' page.html | grep -c '^<tr><th scope="row">')
    echo "$points,$seconds,$(wc -c <page.html)"
done

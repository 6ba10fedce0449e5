#!/bin/sh
# The exam on two folders, of which one holds little, lacks files or cannot be read: what can be asked is answered, what cannot says so
# in a line. Reads $LAYERMETER_DATA; skips where its data sets are absent.
set -u
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
data=${LAYERMETER_DATA:-${LAYERMETER_SOURCE:?}/../shared/data}
for file in torch_cpu/observations.csv deepbench/conv.csv allreduce_public/scaling.csv; do
    [ -r "$data/$file" ] || { echo "skipped: no $data/$file (set LAYERMETER_DATA)"; exit 77; }
done
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/a/torch_cpu" "$work/a/deepbench" "$work/b/torch_cpu" "$work/b/deepbench" "$work/b/allreduce_public" || exit 1
cd "$work" || exit 1

fail() {
    echo "FAILED: $*"
    cat out
    exit 1
}
ask() { # expected exit status, data sets...
    want=$1
    shift
    LAYERMETER_DATA=$work/a LAYERMETER_HELDOUT=$work/b sh "$here/run.sh" --every "$@" >out 2>&1
    got=$?
    [ $got -eq "$want" ] || fail "$*: exit status $got, expected $want"
    ! grep -q Traceback out || fail "$*: stopped"
}
says() {
    grep -q -e "$1" out || fail "does not say '$1'"
}

# ---- every other row; five rows that no formula can be fitted to; no file ------------------------------------------------
awk 'NR == 1 || NR % 2' "$data/torch_cpu/observations.csv" >a/torch_cpu/observations.csv
awk 'NR == 1 || NR % 2 == 0' "$data/torch_cpu/observations.csv" >b/torch_cpu/observations.csv
head -n 3 "$data/deepbench/conv.csv" >a/deepbench/conv.csv
head -n 200 "$data/deepbench/conv.csv" >b/deepbench/conv.csv
cp "$data/allreduce_public/scaling.csv" b/allreduce_public/
ask 0 torch_cpu deepbench scaling
says '^torch_cpu  *step, held out  *all '
says '^skipped: deepbench: .*, held out: .*too few rows'
says '^deepbench  *convolutions, forward, new system, ten parts: mean'
says '^scaling  *step on 6 to 16 nodes from 1 to 4  *bert_base '

# ---- a time that is none: the other questions are answered ------------------------------------------------------------------
awk -F, -v OFS=, 'NR == 5 { for (i = 3; i <= NF; i++) $i = "oops" } 1' b/torch_cpu/observations.csv >broken.csv
mv broken.csv b/torch_cpu/observations.csv
ask 1 torch_cpu deepbench
says "^run.sh: torch_cpu: torch_cpu.py:[0-9]*: ValueError: .*oops"
says '^deepbench  *convolutions, forward, new system'

# ---- nothing in common ------------------------------------------------------------------------------------------------------
rm b/torch_cpu/observations.csv b/allreduce_public/scaling.csv
ask 77 torch_cpu scaling
says '^skipped: torch_cpu: nothing held out'

#!/bin/sh
# Element types and settings: each has coefficients, and a machine file, of its own.
. "$(dirname -- "$0")/common.sh"
need_calibrate
cp "$here/roundtrip/truth.ini" "$here/roundtrip/compare.awk" "$work"
cp -R "$here/inputs/." "$work" && cd "$work" || exit 1

{ simulated truth.ini; cat; } >sweep.ini <<'END'
[networks]
networks = alexnet, vgg16, squeezenet1_1, resnet18, mobilenet_v2
batch    = 1..64*8
image    = 64, 128
ranks    = 1, 2

[networks.other]
networks = alexnet, vgg16, squeezenet1_1, resnet18, mobilenet_v2
batch    = 1..64*8
image    = 64
dtype    = f32, bf16
layout   = nchw, nhwc

[collectives]
bytes = 4KiB..64MiB*16
ranks = 2, 4, 8
END

# ---- a folder has a machine file of each, and they are those of fits by hand ----------------------
layermeter calibrate sweep.ini -o cluster/ 2>err || fail "$(cat err)"
[ "$(ls cluster | tr '\n' ' ')" = "machine-bf16-nchw-ieee.ini machine-bf16-nhwc-ieee.ini machine-f32-nhwc-ieee.ini machine.ini \
observations.csv report.json report.txt " ] || fail "$(ls cluster)"
for found in machine-bf16-nchw-ieee machine-bf16-nhwc-ieee machine-f32-nhwc-ieee machine; do
    grep -q "  $found.ini  *dtype=" cluster/report.txt || grep -q "^$found.ini  *dtype=" cluster/report.txt || fail "$(cat cluster/report.txt)"
    awk -v model=counts -v mode=exact -f compare.awk truth.ini cluster/$found.ini >off
    [ "$(tail -n 1 off | cut -d' ' -f1,2)" = "12 0" ] || fail "$found: $(cat off)"
done
grep -q '^coefficients of dtype=bf16 layout=nhwc math=ieee in machine-bf16-nhwc-ieee.ini: ' err || fail "$(cat err)"
layermeter fit cluster/observations.csv --where dtype=bf16,layout=nhwc -o by_hand.ini >out 2>&1 || fail "$(cat out)"
cmp by_hand.ini cluster/machine-bf16-nhwc-ieee.ini || fail "a fit by hand differs"
grep -q '^dtype = bf16' by_hand.ini && grep -q '^settings = layout=nhwc math=ieee$' by_hand.ini || fail "$(head -n 30 by_hand.ini)"
layermeter validate cluster/observations.csv --where dtype=f32,layout=nchw --pooled >out || fail "a choice is refused"

# ---- without a choice they are not mixed ----------------------------------------------------------
for command in "fit cluster/observations.csv -o mixed.ini" "validate cluster/observations.csv"; do
    layermeter $command >out 2>err && fail "$command: mixed"
    grep -q 'choose with --where: dtype=f32 layout=nchw math=ieee; ' err && [ ! -s out ] || fail "$command: $(cat err)"
done
[ ! -e mixed.ini ] || fail "a machine file of a refused fit"
layermeter fit cluster/observations.csv --where dtype=f16 -o mixed.ini >out 2>err && fail "f16 is not there"
grep -q "nothing was measured with 'dtype=f16'; there is: dtype=f32" err || fail "$(cat err)"
# a machine's coefficients are compared with whatever there is
layermeter validate cluster/observations.csv --machine cluster/machine.ini --pooled >out 2>err || fail "$(cat err)"

# ---- what another sweep left goes ------------------------------------------------------------------
sed '/^.networks.other/,/^layout/d' sweep.ini >plain.ini
echo mine >cluster/machine-mine.ini # of nobody's sweep
layermeter calibrate plain.ini -o cluster/ --force --quiet || fail "again"
[ "$(ls cluster | tr '\n' ' ')" = "machine-mine.ini machine.ini observations.csv report.json report.txt " ] || fail "$(ls cluster)"
[ "$(cat cluster/machine-mine.ini)" = mine ] || fail "a file of somebody's own was replaced"

# ---- a budget aims at the first -------------------------------------------------------------------
layermeter calibrate sweep.ini -o short/ --budget 3s --quiet 2>err || fail "$(cat err)"
awk -F, '/^network/ && $3 == "step" { of[$6 " " $14]++ } END { exit !(of["f32 layout=nchw math=ieee"] >= 10) }' OFS=, \
    short/observations.csv || fail "$(cat short/observations.csv)"
awk -v model=counts -v mode=exact -f compare.awk truth.ini short/machine.ini >off
[ "$(tail -n 1 off | cut -d' ' -f1,2)" = "12 0" ] || fail "$(cat off)"

# ---- what a point is expected to take is told once -------------------------------------------------
# a hundred times the speed to expect, and less time; the batch script asks for twice that and ten minutes
sed 's/^max_repeats .*/max_repeats = 1000\nmin_repeats = 1000/; s/^min_repeats .*1$//' plain.ini >long.ini
sed 's/^warmup .*/&\nflops_per_second = 4e12\nbytes_per_second = 4e11/' long.ini >fast.ini
for file in long fast; do
    seconds=$(layermeter calibrate $file.ini --dry-run | sed -n 's/.*), about \([0-9.e+]*\) s; .*/\1/p')
    minutes=$(layermeter calibrate $file.ini -o x/ --slurm - | awk -F'[=:]' '/--time/ { print 60 * $2 + $3 }')
    awk -v s="$seconds" -v m="$minutes" 'BEGIN { want = (600 + 2 * s) / 60; exit !(s > 0 && m >= want - 0.2 * want / 10 && m <= want * 1.02 + 1) }' ||
        fail "$file: $seconds s, $minutes min"
    echo "$seconds" >$file.seconds
done
awk 'NR == 1 { long = $1 } END { exit !($1 < long / 5) }' long.seconds fast.seconds || fail "$(cat long.seconds fast.seconds)"

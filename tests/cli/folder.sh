#!/bin/sh
# layermeter calibrate: one command leaves observations, machine file and report in a folder, or says why not.
. "$(dirname -- "$0")/common.sh"
need_calibrate
cp "$here/roundtrip/truth.ini" "$here/roundtrip/compare.awk" "$work"
cp -R "$here/inputs/." "$work" && cd "$work" || exit 1

{ simulated truth.ini; cat; } >sweep.ini <<'END'
[networks]
networks = alexnet, vgg16, squeezenet1_1, resnet18, mobilenet_v2
batch    = 1..64*8
image    = 64, 128
ranks    = 1, 2, 8

[collectives]
bytes = 4KiB..64MiB*16
ranks = 2, 4, 8
END

# ---- one command -------------------------------------------------------------------------------
layermeter calibrate sweep.ini -o cluster/ >out 2>err || fail "$(cat err)"
[ ! -s out ] || fail "words on stdout: $(cat out)"
[ "$(ls cluster | tr '\n' ' ')" = "machine.ini observations.csv report.json report.txt " ] || fail "$(ls cluster)"
grep -q '^coefficients in cluster/machine.ini: a step of a network left out is off by [0-9.]* %$' err || fail "$(cat err)"
# known coefficients come back, and a fit by hand writes the same file
awk -v model=counts -v mode=exact -f compare.awk truth.ini cluster/machine.ini >found
read -r compared off rest <<END
$(tail -n 1 found)
END
[ "$compared" -eq 12 ] && [ "$off" -eq 0 ] || fail "$(cat found)"
layermeter fit cluster/observations.csv -o by_hand.ini >out 2>&1 || fail "$(cat out)"
cmp by_hand.ini cluster/machine.ini || fail "a fit by hand differs"
for word in 'resnet18  ' 'layermeter  allreduce.default.one  ' 'compute_backend  *sim' '105 points' '(all)  ' 'disturbed: '; do
    grep -q -e "$word" cluster/report.txt || fail "the report lacks '$word': $(cat cluster/report.txt)"
done
grep -q '"trust": {' cluster/report.json && grep -q '"points_measured": 105' cluster/report.json || fail "$(cat cluster/report.json)"

# ---- again -------------------------------------------------------------------------------------
cp -R cluster kept
refused 'cluster/observations.csv: exists already: --resume' layermeter calibrate sweep.ini -o cluster
diff -r cluster kept || fail "a refused run changed the folder"
head -n 60 kept/observations.csv >cluster/observations.csv
rm cluster/machine.ini
layermeter calibrate sweep.ini -o cluster --resume --quiet >out 2>&1 || fail "$(cat out)"
[ ! -s out ] || fail "--quiet: $(cat out)"
diff cluster/machine.ini kept/machine.ini || fail "a resumed run found something else"
grep -q 'were there before' cluster/report.txt || fail "$(cat cluster/report.txt)"

# a machine file and reports of before stay beside observations that are gone on with, and are written anew
head -n 60 kept/observations.csv >cluster/observations.csv
layermeter calibrate sweep.ini -o cluster --resume --quiet >out 2>&1 || fail "$(cat out)"
diff cluster/machine.ini kept/machine.ini || fail "resumed beside a machine file: something else was found"
# without observations they are somebody's
mkdir someone && cp machine.ini someone
for how in '' --resume; do
    refused 'someone/machine.ini: exists already, and is not of a run into this folder: --force' \
        layermeter calibrate sweep.ini -o someone --quiet $how
done
cmp machine.ini someone/machine.ini && [ "$(ls someone)" = machine.ini ] || fail "a refused run wrote something"

# ---- too little for a fit ----------------------------------------------------------------------
sed -e '/^.collectives/,$d' -e 's/^networks .*/networks = tiny.ini/' -e 's/^batch .*/batch = 1/' \
    -e '/^image /d' -e '/^ranks /d' sweep.ini >one.ini
sed 's/^.networks./[kernels]/' one.ini >kernels.ini
layermeter calibrate kernels.ini -o cluster --force --quiet 2>err || fail "too little for a fit: $(cat err)"
grep -q '^no machine file, the observations are kept: cluster/observations.csv: too few rows' err || fail "$(cat err)"
[ ! -e cluster/machine.ini ] || fail "a machine file of other observations is left"
grep -q '"fitted": false' cluster/report.json || fail "$(cat cluster/report.json)"
grep -q '^kernel,conv' cluster/observations.csv || fail "$(cat cluster/observations.csv)"
layermeter calibrate one.ini -o cluster --force --quiet 2>err || fail "too little for all formulas: $(cat err)"
grep -q '^cluster/machine.ini lacks, for too few points, the parts: forward backward update sync$' err || fail "$(cat err)"
grep -q '^network,tiny.ini,step' cluster/observations.csv || fail "$(cat cluster/observations.csv)"

# ---- refusals ----------------------------------------------------------------------------------
refused 'truth.ini: is a file: -o takes a folder' layermeter calibrate sweep.ini -o truth.ini
refused 'none/cluster: No such file or directory: the folder above it must be there' layermeter calibrate sweep.ini -o none/cluster
mkdir blocked blocked/machine.ini
refused 'blocked/machine.ini: ' layermeter calibrate sweep.ini -o blocked --force --quiet
rm -r blocked && mkdir blocked blocked/machine.ini
refused 'blocked/machine.ini: ' layermeter calibrate sweep.ini -o blocked --quiet
[ ! -e blocked/observations.csv ] || fail "measured, although nothing could be made of it"
[ ! -e blocked/report.txt ] || fail "a report of a run that failed"

# ---- a folder that is named like a sweep is not taken for one ----------------------------------
mkdir quick
layermeter calibrate quick --dry-run >out 2>&1 || grep -q 'quick.ini: this build has no backend' out || fail "$(cat out)"

# ---- without the program -----------------------------------------------------------------------
mkdir alone alone/bin && cp "$LAYERMETER_BIN/layermeter" alone/bin/
refused 'there is neither .*alone/bin/layermeter-calibrate nor a layermeter-calibrate in PATH' \
    env PATH=/usr/bin:/bin alone/bin/layermeter calibrate sweep.ini -o x
[ ! -e x ] || fail "something was written"

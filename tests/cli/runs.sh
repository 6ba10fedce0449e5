# A machine whose traffic has become a fifth slower since its sweep is learned from three runs.
#
# The truth is simulated, by counts of layers that our own model does not know: 1 % noise. Its runs, of networks the
# sweep has, are what the same truth says with inputs, outputs and weights at 1.2 times their price.
. "$(dirname -- "$0")/common.sh"
need_calibrate
cd "$work" || exit 1

# change COUNTS FACTOR: of the machine on stdin
change() {
    awk -v what="$1" -v by="$2" '/^\[/ { on = /^\[counts/ } on && $0 ~ "^(" what ") " { $3 = by * $3 } { print }'
}

# step NETWORK BATCH MACHINE MODEL: s, and its interval
step() {
    layermeter predict "$1" --machine "$3" --model "$4" --image 128 --batch "$2" --format csv 2>why >row ||
        fail "$*: $(cat why)"
    awk -F, 'NR == 1 { for (k = 1; k <= NF; k++) at[$k] = k; next }
        { print $at["step_ms"] / 1e3, $at["step_low_ms"] / 1e3, $at["step_high_ms"] / 1e3 }' row
}

# one device that computes faster than the simulated CPU, so that traffic matters
change flops 0.05 <"$here/roundtrip/truth.ini" >before.ini
change 'inputs|outputs|weights' 1.2 <before.ini >now.ini
cat >sweep.ini <<END
[sweep]
backend     = sim
warmup      = 0
min_repeats = 5
max_repeats = 5

[sim]
machine = before.ini
model   = counts
noise   = 0.01
seed    = 3

[networks]
networks = alexnet, vgg11, squeezenet1_1, resnet18, mobilenet_v2, densenet121
batch    = 1..64*8
image    = 64, 128
END
layermeter-calibrate sweep.ini -o observations.csv --quiet || fail "cannot be simulated"
layermeter fit observations.csv -o machine.ini >words 2>&1 || fail "fit: $(cat words)"

# runs MACHINE: of three networks
runs() {
    echo kind,name,phase,input,batch,ranks,seconds
    for network in alexnet squeezenet1_1 densenet121; do
        seconds=$(step "$network" 16 "$1" counts | cut -d' ' -f1) || exit 1
        echo "network,$network,step,3x128x128,16,1,$seconds"
    done
}

# ---- a change is learned, and of other networks, too
runs now.ini >runs.csv
layermeter fit observations.csv --correct runs.csv -o corrected.ini >words 2>&1 || fail "correct: $(cat words)"
grep 'runs.csv' words
grep -q '^layermeter: runs.csv: 3 runs of 3 networks: .* left out of the correction: corrected by host' words ||
    fail "$(cat words)"
grep -q '^corrected_by = 3 runs of 3 networks: host x.* of runs.csv$' corrected.ini || fail "nothing is noted"
for network in resnet18 mobilenet_v2 vgg11 resnet50; do
    echo "$network $(step "$network" 16 now.ini counts | cut -d' ' -f1) $(step "$network" 16 machine.ini layermeter)" \
        "$(step "$network" 16 corrected.ini layermeter)"
done >found
awk '{ before = $3 / $2 - 1; after = $6 / $2 - 1; before *= before < 0 ? -1 : 1; after *= after < 0 ? -1 : 1
        printf "%s: %.1f %% off, corrected %.1f %%\n", $1, 100 * before, 100 * after
        if (after > 0.7 * before || $2 < $7 || $2 > $8) bad = 1 }
    END { exit NR != 4 || bad }' found || fail "networks that were not run: $(cat found)"

# ---- the same rows behind those of the sweep are the same runs; there they judge the fit's interval, too
{ cat observations.csv; awk -F, '
    NR == FNR { if (!/^#/ && ++n <= 2) { c = NF; for (k = 1; k <= NF; k++) if (n == 1) name[k] = $k; else as[name[k]] = $k }; next }
    FNR == 1 { for (k = 1; k <= NF; k++) at[$k] = k; next }
    { for (k = 1; k <= c; k++)
          printf "%s%s", name[k] in at ? $at[name[k]] : name[k] ~ /^(dtype|settings|threads)$/ ? as[name[k]] : "", k < c ? "," : "\n" }
    ' observations.csv runs.csv; } >both.csv
layermeter fit both.csv --correct both.csv -o same.ini >words 2>&1 || fail "one file: $(cat words)"
grep -q 'whole steps of' words && fail "one file: $(cat words)"
[ "$(step resnet50 16 same.ini layermeter | cut -d' ' -f1)" = \
    "$(step resnet50 16 corrected.ini layermeter | cut -d' ' -f1)" ] ||
    fail "one file says something else: $(cat words)"

# ---- runs that go each their own way teach nothing: the file is that of the fit
awk -F, -v OFS=, 'NR > 1 { $7 *= NR == 2 ? 2 : NR == 3 ? 0.5 : 1 } { print }' runs.csv >odd.csv
layermeter fit observations.csv --correct odd.csv -o odd.ini >words 2>&1 || fail "odd: $(cat words)"
grep -q 'that does not help, and nothing is corrected$' words || fail "odd: $(cat words)"
cmp machine.ini odd.ini || fail "odd runs changed the machine file"

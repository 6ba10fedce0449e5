#!/bin/sh
# What goes in must come out: simulated times of known coefficients, measured and fitted, give them back.
#
# Without noise to 1e-9; prices of all-reduces to 1e-4, as their normal equations hold them apart. With 2 % noise on each repetition (the median of 5 counts) within the standard
# errors that the fit states: none beyond 4, about 1 in 20 beyond 2, about 1 in 12 within a tenth. The
# weights of relative least squares are the measured times themselves; the bias that this brings, 2 s^2 for
# times with relative deviation s, is a quarter of a thousandth here, below the standard errors.
. "$(dirname -- "$0")/common.sh"
need_calibrate

# simulate MODEL NOISE SEED: writes sweep, observations and machine file in the current folder
simulate() {
    cat >sweep.ini <<END
[sweep]
backend     = sim
warmup      = 0
min_repeats = 5
max_repeats = 5

[sim]
machine = truth.ini
model   = $1
noise   = $2
seed    = $3

[networks]
networks = alexnet, vgg16, squeezenet1_1, resnet18, mobilenet_v2
batch    = 1..64*8
image    = 64, 128
ranks    = 1, 2, 8
END
    # the other models do not tell the all-reduce from the update
    [ "$1" != counts ] || cat >>sweep.ini <<END

[collectives]
bytes = 4KiB..64MiB*16
ranks = 2, 4, 8
END
    rm -f observations.csv
    layermeter-calibrate sweep.ini -o observations.csv --quiet || fail "$*: cannot be simulated"
    layermeter fit observations.csv -o fitted.ini >words 2>&1 || fail "$*: $(cat words)"
}

# compare MODEL MODE
compare() {
    awk -v model="$1" -v mode="$2" -f compare.awk truth.ini fitted.ini
}

cp "$here/roundtrip/truth.ini" "$here/roundtrip/compare.awk" "$work" && cd "$work" || exit 1

for model in counts convmeter nnls; do
    there=$(awk -v m="[$model." 'index($0, "[") == 1 { on = index($0, m) == 1 } on && / s\// { n++ } END { print n }' \
        truth.ini)
    simulate "$model" 0 1
    compare "$model" exact >found
    read -r compared off rest <<END
$(tail -n 1 found)
END
    echo "$model, no noise: $compared of $there coefficients, $off off"
    [ "$off" -eq 0 ] && [ "$compared" -eq "$there" ] || fail "$(cat found)"

    if [ "$model" = counts ]; then # within one node, by start, steps, bytes and the pipeline's term
        awk -v model=allreduce -v mode=exact -v tolerance=1e-4 -f compare.awk truth.ini fitted.ini >found
        [ "$(tail -n 1 found)" = '6 0 0 0 0' ] || fail "all-reduces: $(cat found)"
    fi

    : >all
    for seed in 1 2 3 4 5 6; do
        simulate "$model" 0.02 "$seed"
        compare "$model" se >found
        grep -v '^[0-9]' found
        tail -n 1 found >>all
    done
    awk -v model="$model" '
        { n += $1; off += $2; beyond += $3; near += $4; aside += $5 }
        END {
            print model ", 2 % noise, 6 seeds: " n " coefficients, " off " off, " beyond \
                " beyond 2 standard errors, " near " within a tenth of one, " aside + 0 " formulas set aside"
            exit !(n >= 60 && off == 0 && beyond <= 0.12 * n && near <= 0.25 * n && aside <= 5)
        }' all || fail "$model: the standard errors do not describe the errors"
done

#!/bin/sh
# Nicolai's tables (master thesis, Heidelberg 2025): time, power and energy of single operations and of networks as their sums.
# Published figures are of an A30 and an RTX 2080 Ti. Beside them: 'nicolai', the method as published (random forests on attributes of
# modules); 'nicolai, sizes', the same forests on sizes of what is read and written, where they are better; ours, prices with a residual.
# All on the same rows: operations of three networks on this machine's CPU, in two minutes, and public data where they are.
#
# usage: examples/papers/nicolai.sh [RESULTS]        (default: papers-results/nicolai)
#
# With the public data 17 minutes on a busy machine of two cores.
set -eu
. "$(dirname "$0")/common.sh"

cat >"$results/operations.ini" <<'END'
[sweep]
backend     = onednn
threads     = 1
min_repeats = 3
max_repeats = 8
max_seconds = 0.1
cache       = cold    ; as in a network, where each operation finds its input alone in the caches

[layers]
networks = resnet18, mobilenet_v2, squeezenet1_1
batch    = 4, 16
image    = 64, 128
phases   = training, inference
END
cat >"$results/networks.ini" <<'END'
[sweep]
backend     = onednn
threads     = 1
min_repeats = 3
max_repeats = 8
max_seconds = 0.3

[networks]
networks = resnet18, mobilenet_v2, squeezenet1_1
batch    = 4, 16
image    = 64, 128
phases   = training, inference
END

echo "Nicolai: operations of networks, each distinct one measured once"
layermeter show resnet18 --unique --batch 2 --image 64 | sed -n 1,8p
measure operations "$results/operations.ini"
measure networks "$results/networks.ini"
ours=residual,
for features in published encoding=0; do
    fitted=$results/operations.$features.ini
    layermeter fit "$results/operations/observations.csv" -o "$fitted" --model nicolai ${ours:+--residual auto} --learn "$features,parts=2" >"$results/fit.txt" 2>&1 ||
        { tail -n 3 "$results/fit.txt" >&2; exit 1; }
    layermeter validate "$results/operations/observations.csv" --leave-out kfold=5 --model "${ours}nicolai" --learn "$features,parts=2" --pooled \
        --format csv >"$results/operations.$features.csv" 2>"$results/operations.txt"
    layermeter validate "$results/networks/observations.csv" --machine "$fitted" --model "${ours}nicolai" --pooled \
        --format csv >"$results/networks.$features.csv" 2>"$results/networks.txt"
    ours='' # the same on both kinds of features
done

# both TABLE WHAT PUBLISHED PHASE: a row by both kinds of features.
both() {
    row "$2" "$3" "$(mape "$results/$1.published.csv" '(all)' "$4" nicolai)" "$(mape "$results/$1.encoding=0.csv" '(all)' "$4" nicolai)" \
        "$(mape "$results/$1.published.csv" '(all)' "$4" residual)"
}

heading "Operations, random rows, on this CPU" nicolai 'nicolai, sizes'
for phase in inference forward backward step; do
    both operations $phase - $phase
done
heading "Networks never measured, as sums of their operations, on this CPU" nicolai 'nicolai, sizes'
both networks "training step (published of an A30)" 74 step
both networks inference - inference

if exam nicolai2025; then
    heading "Public data, time, power and energy: operations and networks (published: networks only)" nicolai 'nicolai, sizes'
    examined nicolai 'nicolai, sizes' residual,layermeter
    grep -E '1 - R2|^data set' "$results/exam.txt" | sed 's/^/  /' || true
fi
if [ -d "$data/nicolai2025" ] &&
    LAYERMETER_DATA=$data "$source/tests/accuracy/run.sh" --every --csv "$results/exam.csv" energy >"$results/clocks.txt" 2>&1; then
    heading "Public data, 900 MHz, where no model learned; published: the author's forest, which learned other operations there" nicolai
    examined nicolai layermeter
fi
page resnet18 "$results/networks/machine.ini"

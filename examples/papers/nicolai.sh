#!/bin/sh
# Nicolai's tables (master thesis, Heidelberg 2025): time, power and energy of single operations and of networks as their sums.
# Published figures are of an A30 and an RTX 2080 Ti; beside them the method as published ('nicolai': random forests) and ours on the
# same rows: of the operations of two networks on this machine's CPU, in two minutes, and of the public data where they are.
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
layermeter fit "$results/operations/observations.csv" -o "$results/operations.fit.ini" --model nicolai --learn published >"$results/fit.txt" 2>&1 ||
    { tail -n 3 "$results/fit.txt" >&2; exit 1; }
layermeter validate "$results/operations/observations.csv" --leave-out kfold=5 --model layermeter,nicolai --learn published --pooled \
    --format csv >"$results/operations.csv" 2>"$results/operations.txt"
layermeter validate "$results/networks/observations.csv" --machine "$results/operations.fit.ini" --model layermeter,nicolai --pooled \
    --format csv >"$results/networks.csv" 2>"$results/networks.txt"

heading "Operations, random rows, on this CPU" nicolai
for phase in inference forward backward step; do
    row "$phase" - "$(mape "$results/operations.csv" '(all)' $phase nicolai)" \
        "$(mape "$results/operations.csv" '(all)' $phase layermeter)"
done
heading "Networks never measured, as sums of their operations, on this CPU" nicolai
row "training step (published of an A30)" 74 "$(mape "$results/networks.csv" '(all)' step nicolai)" \
    "$(mape "$results/networks.csv" '(all)' step layermeter)"
row "inference" - "$(mape "$results/networks.csv" '(all)' inference nicolai)" "$(mape "$results/networks.csv" '(all)' inference layermeter)"

if exam nicolai2025; then
    heading "Public data, time, power and energy: operations and networks (published: networks only)" nicolai
    examined nicolai layermeter
    grep -E '1 - R2|^data set' "$results/exam.txt" | sed 's/^/  /' || true
fi
if [ -d "$data/nicolai2025" ] &&
    LAYERMETER_DATA=$data "$source/tests/accuracy/run.sh" --every --csv "$results/exam.csv" energy >"$results/clocks.txt" 2>&1; then
    heading "Public data, 900 MHz, where no model learned; published: the author's forest, which learned other operations there" nicolai
    examined nicolai layermeter
fi
page resnet18 "$results/networks/machine.ini"

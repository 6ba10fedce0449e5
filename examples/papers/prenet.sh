#!/bin/sh
# The tables of PreNeT (Pourali, Boukani, Khazaei 2025, arXiv:2412.15519): the published figure where one is known, the method as
# published, and ours.
#
# The data of the paper are not public: single layers of its six types are drawn over its ranges (configs/sweeps/layers.ini) and measured on
# this machine's CPU, and so is a transformer. GPUs that were not measured are those of Justus et al. 2018, where $LAYERMETER_DATA has them.
#
# usage: examples/papers/prenet.sh [--times N] [RESULTS]    (default: so many times the layers of the sweep, 2; papers-results/prenet)
#
# With --times 1 the layers are measured in two minutes on a busy machine of two cores; teaching the learners takes longer than that.
#
# LEARN   how learners are taught (layermeter fit --help); default: passes=60000
set -eu
times=2
if [ "${1:-}" = --times ]; then
    times=${2:?"--times: how many?"}
    shift 2
fi
. "$(dirname "$0")/common.sh"
export OPENBLAS_NUM_THREADS=1
learn=${LEARN:-passes=60000}

# Activations are no type of PreNeT's by themselves: they stand behind convolutions and fully connected layers. Its optimizers are these
# five. What takes long is left out.
awk -v times="$times" '/^\[/ { skip = /relu|tanh|sigmoid/; chained = /conv|dense/ } skip { next }
    /^count/ { print "count = " times * $3; print "max_flops = 3e8"; if (chained) print "activation = none, relu, tanh, sigmoid"; next }
    /^optimizer/ { print "optimizer = sgd, adadelta, adagrad, rmsprop, adam"; next }
    /^max_flops/ { next } /^(min|max)_repeats/ { $3 = 3 } /^max_seconds/ { $3 = 0.1 } { print }' \
    "$source/configs/sweeps/layers.ini" >"$results/layers.ini"
measure layers "$results/layers.ini"
layers=$results/layers/observations.csv

# Published: what the paper's repository says is best of each type.
printf 'The best learner of each type of layer: as published, and here by the error on shapes left out (seconds, logs=0)\n'
layermeter fit "$layers" -o "$results/fit.ini" --model prenet --learn "published,$learn" --format csv >"$results/fit.csv" 2>"$results/fit.txt" ||
    { tail -n 3 "$results/fit.txt" >&2; exit 1; }
awk -F, 'BEGIN { best["conv"] = best["dense"] = "random forest"; best["embedding"] = best["attention"] = best["layernorm"] = best["rnn"] = "MLP"
        printf "%-12s %6s  %-14s %-14s %9s\n", "type", "rows", "published", "here", "MAPE [%]" }
    $1 == "prenet" && $2 !~ /[.]/ { gsub(/"/, "", $4); printf "%-12s %6s  %-14s %-14s %9.1f\n", $2, $3, best[$2], $4, $NF }' "$results/fit.csv"

# Published: prediction_models_comparison of the same notebooks, a fifth of 139,997 convolutions on GPUs set apart.
printf '\nEach learner by itself: MAPE [%%] on shapes left out; published of convolutions on GPUs: RMSE of the tests [ms]\n'
for learner in 1 2 3 4 5; do
    layermeter fit "$layers" -o "$results/learner.ini" --model prenet --learn "published,$learn,learner=$learner" --format csv 2>>"$results/fit.txt" |
        awk -F, -v learner="$learner" '$1 == "prenet" && $2 !~ /[.]/ { print learner, $2, $NF }'
done >"$results/learners.txt"
awk '{ if (!($2 in seen)) { seen[$2]; type[++n] = $2 } error[$1, $2] = sprintf("%.1f", $3) }
    END { printf "%-12s %13s %13s %13s %13s %13s\n", "type", "least squares", "random forest", "boosted trees", "XGBoost", "MLP"
        for (i = 1; i <= n; i++) { printf "%-12s", type[i]; for (k = 1; k <= 5; k++) printf " %13s", error[k, type[i]]; print "" }
        printf "%-12s %13s %13s %13s %13s %13s\n", "published", "14.081", "8.209", "9.404", "8.543", "-" }' "$results/learners.txt"

# Keys of the layer and figures of the device; operations (CO), memory (CM), time (CT, of several devices alone).
# Logarithms are what makes the published learners strong on relative errors.
printf '\nGroups of features, a third of the shapes left out in turn: MAPE [%%] of seconds as published (logs=0, forest); logs: all\n'
printf 'features, XGBoost of logarithms (logs=1); published: -\n'
layermeter validate "$layers" --leave-out kfold=3 --model prenet --learn "published,learner=2,$learn" \
    --features baseline,baseline+co,baseline+co+cm,all --format csv >"$results/groups.csv" 2>"$results/groups.txt"
layermeter validate "$layers" --leave-out kfold=3 --model prenet,layermeter --learn "learner=4,logs=1,$learn" --format csv \
    >>"$results/groups.csv" 2>>"$results/groups.txt"
awk -F, '$1 == "group" { for (i = 1; i <= NF; i++) at[$i] = i; next }
    $2 == "step" || $2 == "inference" || $2 == "forward" || $2 == "backward" {
        key = $1 " " $2; if ($1 != "(all)" && !(key in seen)) { seen[key]; order[++k] = key }
        found[key, $3] = sprintf("%.1f", $at["mape_percent"]); if ($3 ~ /^prenet/) some[key]; n[key] = $4 }
    END { columns = split("prenet baseline,prenet baseline+co,prenet baseline+co+cm,prenet all,prenet,layermeter", of, ",")
        printf "%-34s %6s %9s %9s %9s %9s %9s %9s\n", "", "rows", "baseline", "CO", "CO+CM", "all", "logs", "ours"
        for (i = 1; i <= k; i++) if (order[i] in some) {
            printf "%-34s %6d", order[i], n[order[i]]; for (j = 1; j <= columns; j++) printf " %9s", found[order[i], of[j]]; print "" } }' "$results/groups.csv"

heading "Fully connected layers on a GPU that was not measured, by the others" prenet
unseen dense 1500 prenet --learn "drawn=3000,parts=3,$learn"

# Whole networks by their layers: attention of q, k, v, product and output is one of them.
cat >"$results/networks.ini" <<'END'
[sweep]
backend     = onednn
threads     = 1
warmup      = 1
min_repeats = 3
max_repeats = 10
max_seconds = 2
precision   = 0.05

[networks.images]
networks = vgg16
batch    = 1, 2
image    = 64

[networks.attention]
networks = bert_base:sequence=128:layers=2:attention=plain
batch    = 1, 2
END
measure networks "$results/networks.ini"
layermeter validate "$results/networks/observations.csv" --machine "$results/fit.ini" --model prenet,layermeter --format csv \
    >"$results/networks.csv" 2>"$results/networks.txt" || { tail -n 3 "$results/networks.txt" >&2; exit 1; }
layermeter fit "$layers" -o "$results/logs.ini" --model prenet --learn "learner=4,logs=1,$learn" >"$results/fit.txt" 2>&1
layermeter validate "$results/networks/observations.csv" --machine "$results/logs.ini" --model prenet --format csv >"$results/networks.logs.csv" \
    2>>"$results/networks.txt"
# Published: of an epoch, in the notebooks vgg16_prediction and bert_prediction of github.com/pacslab/PreNeT, commit 09531b3; without
# operations and memory as features 78.9 and 64.1.
heading "Whole networks on this CPU, none of which was learned from (published of GPUs)" prenet 'prenet, logs'
awk -F, 'NR > 1 && $1 != "(all)" && $2 ~ /^(forward|step)$/ && $3 == "layermeter" { print $1 "," $2 }' "$results/networks.csv" |
    while IFS=, read -r network phase; do
        case $network-$phase in
        vgg16*-step) published=14.0 ;;
        bert*-step) published=63.0 ;;
        *) published=- ;;
        esac
        row "$network $phase" $published "$(mape "$results/networks.csv" "$network" "$phase" prenet)" \
            "$(mape "$results/networks.logs.csv" "$network" "$phase" prenet)" "$(mape "$results/networks.csv" "$network" "$phase" layermeter)"
    done
page vgg16 "$results/fit.ini" --model prenet --image 64

#!/bin/sh
# The tables of PreNeT (Pourali, Boukani, Khazaei 2025, arXiv:2412.15519): the published figure where one is known, the method as
# published, and ours.
#
# The data of the paper are not public: single layers of its six types are drawn over its ranges (configs/sweeps/layers.ini) and measured on
# this machine's CPU, and so is a transformer. GPUs that were not measured are those of Justus et al. 2018, where $LAYERMETER_DATA has them.
#
#   examples/papers/prenet.sh [TIMES]     so many times the layers of the sweep, default 2: about ten minutes on two idle cores
#   examples/papers/prenet.sh LAYERS.csv  layers that were measured before
#
# LAYERMETER_BIN   folder of the programs; default: build/bin
# LAYERMETER_DATA  folder of public data; default: ../shared/data beside the checkout
# LEARN            how learners are taught (layermeter fit --help); default: passes=60000
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
bin=${LAYERMETER_BIN:-$here/build/bin}
data=${LAYERMETER_DATA:-$here/../shared/data}/justus2018
learn=${LEARN:-passes=60000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
[ -x "$bin/layermeter" ] || { echo "$0: no $bin/layermeter: build it, or set LAYERMETER_BIN" >&2; exit 1; }

case ${1:-2} in
*[!0-9]*) layers=$1 ;;
*)
    layers=$work/layers.csv
    # activations are no type of PreNeT's by themselves
    awk -v times="${1:-2}" '/^\[/ { skip = /relu|tanh|sigmoid/ } skip { next } /^count/ { print "count = " times * $3; next } { print }' \
        "$here/configs/sweeps/layers.ini" >"$work/layers.ini"
    "$bin/layermeter" calibrate "$work/layers.ini" -o "$layers" --quiet
    ;;
esac

# Published: what the paper's repository says is best of each type.
printf 'The best learner of each type of layer: as published, and here by the error on shapes left out (seconds, logs=0)\n'
"$bin/layermeter" fit "$layers" -o "$work/m.ini" --model prenet --learn "published,$learn" --format csv 2>/dev/null |
    awk -F, 'BEGIN { best["conv"] = best["dense"] = "random forest"; best["embedding"] = best["attention"] = best["layernorm"] = best["rnn"] = "MLP"
            printf "%-12s %6s  %-14s %-10s %9s\n", "type", "rows", "published", "here", "MAPE [%]" }
        $1 == "prenet" && $2 !~ /[.]/ { gsub(/"/, "", $4); printf "%-12s %6s  %-14s %-10s %9.1f\n", $2, $3, best[$2], $4, $NF }'

# Keys of the layer and figures of the device; operations (CO), memory (CM), time (CT, of several devices alone).
printf '\nGroups of features, a third of the shapes left out in turn: MAPE [%%] of seconds as published (logs=0, forest); published: -\n'
"$bin/layermeter" validate "$layers" --leave-out kfold=3 --model prenet --learn "published,learner=2,$learn" \
    --features baseline,baseline+co,baseline+co+cm,all --format csv 2>/dev/null >"$work/groups.csv"
"$bin/layermeter" validate "$layers" --leave-out kfold=3 --model layermeter --format csv 2>/dev/null >>"$work/groups.csv"
awk -F, '$1 == "group" { for (i = 1; i <= NF; i++) at[$i] = i; next }
    $2 == "step" || $2 == "inference" || $2 == "forward" || $2 == "backward" {
        key = $1 " " $2; if ($1 != "(all)" && !(key in seen)) { seen[key]; order[++k] = key }
        found[key, $3] = sprintf("%.1f", $at["mape_percent"]); if ($3 ~ /^prenet/) some[key]; n[key] = $4 }
    END { printf "%-34s %6s %9s %9s %9s %9s %9s\n", "", "rows", "baseline", "CO", "CO+CM", "all", "ours"
        for (i = 1; i <= k; i++) if (order[i] in some) printf "%-34s %6d %9s %9s %9s %9s %9s\n", order[i], n[order[i]], found[order[i], "prenet baseline"],
            found[order[i], "prenet baseline+co"], found[order[i], "prenet baseline+co+cm"], found[order[i], "prenet all"], found[order[i], "layermeter"] }' "$work/groups.csv"

# A GPU that was not measured. Limits of power, which the data lack, are those of the boards' datasheets, half of them for M60 and K80.
if [ -r "$data/gpus.csv" ]; then
    awk -F, 'BEGIN { split("v100 250 p100 250 m60 150 k80 150 k40 235", w, " "); for (i = 1; i < 10; i += 2) power[w[i]] = w[i + 1] } NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } { printf "[%s]\ncapability = %s\nf32 = %g TFLOP/s\nbandwidth = %s GB/s\nmultiprocessors = %s\ncores = %s\nclock = %s MHz\nmemory = %s GB\npower = %s W\n\n", $1, $at["compute_capability"], $at["fp32_peak_gflops"] / 1e3, $at["memory_bandwidth_gb_s"], $at["sm_count"], $at["fp32_cores"], $at["clock_boost_mhz"], $at["memory_gb"], power[$1] }' \
        "$data/gpus.csv" >"$work/devices.ini"
    files='' names=''
    for gpu in v100 p100 m60 k80 k40; do
        [ -r "$data/dense_$gpu.csv.gz" ] || continue
        gzip -dc "$data/dense_$gpu.csv.gz" | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; print "kind,name,geometry,phase,input,batch,settings,optimizer,seconds"; next }
            NR <= 1501 { f = $at["activation"]; o = $at["optimizer"]
                printf "layer,linear%s%s,features=%s%s%s,%s,%s,%s,trains=inputs,%s,%.9g\n", (f == "none" ? "" : "; " f), (o == "none" ? "" : "; mse_loss"), $at["dim_out"],
                    (f == "none" ? "" : "; "), (o == "none" ? "" : "; "), (o == "none" ? "inference" : "step"), $at["dim_in"], $at["batch"], (o == "none" ? "" : o), $at["time_median_ms"] * 1e-3 }' >"$work/$gpu.csv"
        files="$files $work/$gpu.csv" names="$names${names:+,}$gpu"
    done
    printf '\nFully connected layers on a GPU that was not measured, by the others: MAPE [%%]; published: -\n'
    # shellcheck disable=SC2086 # words
    "$bin/layermeter" validate $files --leave-out device --device "$names" --devices "$work/devices.ini" --model layermeter,prenet \
        --learn "drawn=3000,parts=3,$learn" --format csv 2>/dev/null | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
            $2 == "inference" || $2 == "step" { key = $1 OFS $3; n[key] += $4; sum[key] += $4 * $at["mape_percent"]; if ($1 != "(all)" && !($1 in seen)) { seen[$1]; order[++k] = $1 } }
            END { printf "%-12s %11s %11s\n", "", "prenet", "ours"; for (i = 1; i <= k; i++) { p = order[i] OFS "prenet"; l = order[i] OFS "layermeter"
                printf "%-12s %11s %11s\n", order[i], n[p] ? sprintf("%.1f", sum[p] / n[p]) : "-", n[l] ? sprintf("%.1f", sum[l] / n[l]) : "-" } }'
fi

# Whole networks by their layers: attention of q, k, v, product and output is one of them.
cat >"$work/net.ini" <<'END'
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
printf '\nSteps of whole networks on this CPU, none of which was learned from; published: -\n'
if "$bin/layermeter" calibrate "$work/net.ini" -o "$work/net.csv" --quiet; then
    "$bin/layermeter" validate "$work/net.csv" --machine "$work/m.ini" --model prenet,layermeter --format csv 2>/dev/null |
        awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } $2 == "step" || $2 == "forward" { printf "%-44s %-8s %-11s %6.1f %%\n", $1, $2, $3, $at["mape_percent"] }'
fi

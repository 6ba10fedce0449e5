#!/bin/sh
# The tables of Hur & Lee 2024, "CNN Training Latency Prediction Using Hardware Metrics on Cloud GPUs": the
# published figure, the method as published, and ours, on public data and on made traces. 50 traces and the public
# runs take ten to twenty minutes on a busy CPU.
#
# usage: examples/papers/hurlee.sh [--traces N] [RESULTS]     (default: 50 traces, papers-results/hurlee)
#
# LAYERMETER_DATA  folder with hurlee2024/training.csv.gz and epoch_detection.csv, made of the authors' public
#                  repository github.com/ddps-lab/cloud-hw-trainpred [../shared/data]; without it tables 2 to 5
#                  are left out
# LAYERMETER_BIN   folder of the program
#
# A dash: not published, or not possible here. The authors' traces, their A100 and A10 and the way they split
# rows are not public.
set -eu

traces=50
if [ "${1:-}" = --traces ]; then
    traces=${2:?"--traces: how many?"}
    shift 2
fi
. "$(dirname "$0")/common.sh"

# What is printed is kept, for the page.
if [ -z "${HURLEE_TOLD:-}" ]; then
    rm -f "$results/failed" "$results/epochs.svg"
    { HURLEE_TOLD=yes LAYERMETER_DATA=$data sh "$0" --traces "$traces" "$results" || echo $? >"$results/failed"; } | tee "$results/tables.txt"
    [ ! -e "$results/failed" ] || exit 1
    told "Hur and Lee 2024: epochs seen in GPU metrics, and other GPUs by metrics" "$results/tables.txt" "$results/epochs.svg"
    exit 0
fi
data=$data/hurlee2024

title() {
    printf '\n%s\n' "$*"
}

# ---- 1. detection of epochs

methods='hurlee hurlee-code jenks ruptures layermeter'

# Ten epochs of 4 to 60 s, 0.118 s between samples, as the authors' jobs on a T4.
make_trace() {
    python3 "$source/tests/traces/synthetic.py" --seed "$1" --set interval_s=0.118 --set epochs=10 --set gpus=1 \
        --set startup_s=0 --set tail_s=0 --set gap_s=0 --set dropped=0 --set warmup=1.2 --set step_s=0.4 \
        $(awk -v i="$1" 'BEGIN { e = 4 * 15 ^ (i * 0.618034 % 1); print "--set epoch_s=" e " --set dip_s=" 0.03 * e }') \
        -o "$results/trace.csv" --truth "$results/truth.json"
}

epoch_in() {
    awk -F'[:,]' '/"epoch_s"/ { print $2 + 0; found = 1; exit } END { if (!found) print "none" }'
}

detect() {
    : >"$results/detection.txt"
    seed=1
    while [ "$seed" -le "$traces" ]; do
        make_trace "$seed"
        truth=$(epoch_in <"$results/truth.json")
        for method in $methods; do
            said=$(layermeter epochs "$results/trace.csv" --method "$method" --format json 2>/dev/null | epoch_in)
            echo "$method $truth $said" >>"$results/detection.txt"
        done
        seed=$((seed + 1))
    done
    layermeter epochs "$results/trace.csv" --plot "$results/epochs.svg" >/dev/null 2>&1 || : # no gnuplot: no picture
    rm -f "$results/trace.csv" "$results/truth.json"
}

title "Table 1. Epoch time seen in GPU metrics, mean absolute error [%]"
echo "published  all 9.6; T4 11.7, A10G 7.6, V100 10.6, A100 9.5, A10 8.7; of Jenks' breaks and Ruptures -"
if [ -r "$data/epoch_detection.csv" ]; then
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { e = $at["detected_epoch_time_s"] / $at["epoch_time_s"] - 1; e = e < 0 ? -e : e
          n[$1]++; sum[$1] += e; n["all"]++; sum["all"] += e }
        END { for (g in n) printf "as printed in the authors'\'' notebooks, %s: %.1f (%d jobs)\n", g, 100 * sum[g] / n[g], n[g] }' \
        "$data/epoch_detection.csv" | sort
fi
echo "on $traces made traces like the authors' jobs on a T4:"
detect
echo "method          mean   median  none found"
for method in $methods; do
    awk -v m="$method" '
        $1 != m { next }
        $3 == "none" { none++; next }
        { x = 100 * ($3 / $2 - 1); e[++n] = x < 0 ? -x : x; sum += e[n]
          for (j = n; j > 1 && e[j] < e[j - 1]; j--) { t = e[j]; e[j] = e[j - 1]; e[j - 1] = t } }
        END { if (n) { mean = sprintf("%.1f", sum / n); median = sprintf("%.1f", (e[int((n + 1) / 2)] + e[int(n / 2) + 1]) / 2) }
              printf "%-12s %7s %8s %11d\n", m, n ? mean : "-", n ? median : "-", none }' "$results/detection.txt"
done
echo "hurlee: Luminol's bitmaps and three rounds; hurlee-code: as released; jenks, ruptures: comparators; layermeter: ours"

if [ ! -r "$data/training.csv.gz" ]; then
    title "Tables 2 to 5 are left out: no \$LAYERMETER_DATA/hurlee2024/training.csv.gz"
    exit 0
fi

# ---- 2 to 5. other GPUs by metrics: public runs on P100, V100, T4 and A10G

gzip -dc "$data/training.csv.gz" | awk -F, -v OFS=, '
    BEGIN { split("model batch image instance training_images validation_images steps_per_epoch total_time_s samples power_capped_samples gpu epoch_time_s", w, " ")
            for (i in w) skip[w[i]] = 1
            name["p100"] = "P100-PCIE-16GB"; name["v100"] = "V100-SXM2-16GB"; name["t4"] = "T4"; name["a10g"] = "A10G" }
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; line = "workload,group,gpu,seconds"
              for (i = 1; i <= NF; i++) if (!($i in skip)) { line = line "," $i; keep[++n] = i }
              print line; next }
    { line = $at["model"] "-" $at["batch"] "-" $at["image"] OFS $at["model"] OFS name[$at["gpu"]] OFS $at["epoch_time_s"]
      for (i = 1; i <= n; i++) line = line OFS $keep[i]
      print line }' >"$results/runs.csv"

# errors METHOD OPTION...: MAPE by row, as "NAME VALUE"
errors() {
    method=$1
    shift
    layermeter learn "$results/runs.csv" --method "$method" --format csv "$@" >"$results/learn.csv" 2>"$results/learn.log" || {
        cat "$results/learn.log" >&2
        exit 1
    }
    awk -F, 'NR > 1 { printf "%s %.1f\n", $2, $4 }' "$results/learn.csv"
}

of() {
    awk -v name="$2" '$1 == name { print $2; found = 1 } END { if (!found) print "-" }' "$1"
}

title "Table 2. Epoch time on other GPUs, by the GPU that the run was on, mean absolute error [%]"
echo "stacking: as published, random rows left out in 10 parts; XGBoost's trees stand in for CatBoost's"
errors stacking --leave-out row --by source >"$results/stacking.txt"
errors layermeter --leave-out row --by source >"$results/ours.txt"
echo "from             published  stacking  layermeter"
while read -r gpu published; do
    printf '%-15s  %9s  %8s  %10s\n' "$gpu" "$published" "$(of "$results/stacking.txt" "$gpu")" "$(of "$results/ours.txt" "$gpu")"
done <<END
T4 11.7
A10G 15.8
V100-SXM2-16GB 13.8
A100 10.5
A10 12.9
P100-PCIE-16GB -
(all) 11.7
END

title "Table 3. The same by what is seen, stacking, mean absolute error [%]"
echo "features        published  stacking"
for features in static dynamic; do
    errors stacking --leave-out row --features $features >"$results/some.txt"
    [ $features = static ] && published=20.1 || published=71.6
    printf '%-14s  %9s  %8s\n' "$features only" $published "$(of "$results/some.txt" "(all)")"
done
printf '%-14s  %9s  %8s\n' both 11.7 "$(of "$results/stacking.txt" "(all)")"
echo "the seconds of the run are seen in each case; whether the paper's dynamic features have them is not said"

title "Table 4. Single learners beside the stack, mean absolute error [%]"
echo "learner     published  here"
for learner in forest xgboost boosted; do
    errors $learner --leave-out row >"$results/some.txt"
    printf '%-10s  %9s  %4s\n' $learner - "$(of "$results/some.txt" "(all)")"
done
printf '%-10s  %9s  %4s\n' stacking 11.7 "$(of "$results/stacking.txt" "(all)")"

title "Table 5. A network that was not learned from, mean absolute error [%]"
errors stacking --leave-out group >"$results/stacking.txt"
errors layermeter --leave-out group >"$results/ours.txt"
echo "network       published  PALEO, published  stacking  layermeter"
printf '%-12s  %9s  %16s  %8s  %10s\n' VGG16 15.1 10.1 - -
for network in $(awk -F, 'NR > 1 { print $2 }' "$results/runs.csv" | sort -u) "(all)"; do
    printf '%-12s  %9s  %16s  %8s  %10s\n' "$network" - - "$(of "$results/stacking.txt" "$network")" "$(of "$results/ours.txt" "$network")"
done
echo "VGG16 is not among the public runs; each of the others is left out in turn"

title "Where one run costs least: the longest of ResNet50 on a T4, the network left out (configs/prices.ini)"
awk -F, 'NR == 1 || $2 != "ResNet50"' "$results/runs.csv" >"$results/others.csv"
awk -F, 'NR == 1 { print; next } $2 == "ResNet50" && $3 == "T4" && $4 > most { most = $4; line = $0 } END { print line }' \
    "$results/runs.csv" >"$results/job.csv"
layermeter learn "$results/others.csv" -o "$results/gpus.txt" >"$results/learn.log" 2>&1
layermeter transfer "$results/job.csv" --learned "$results/gpus.txt" --sort cost

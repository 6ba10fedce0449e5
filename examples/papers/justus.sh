#!/bin/sh
# The tables of Justus et al. 2018 (arXiv:1811.11880): the published figure, the method as published, and ours.
#
# Single convolutions and fully connected layers on five GPUs are the paper's own data (CDECatapult/ml-performance-prediction), where
# $LAYERMETER_DATA has them; pooling and recurrent layers, of which nothing is published, are measured on this machine's CPU.
#
#   examples/papers/justus.sh [ROWS]    rows of each GPU and type (default 3000; the paper's 20,000 take an hour), and minutes of measurement
#
# LAYERMETER_BIN   folder of the programs; default: build/bin
# LAYERMETER_DATA  folder of public data; default: ../shared/data beside the checkout
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
bin=${LAYERMETER_BIN:-$here/build/bin}
data=${LAYERMETER_DATA:-$here/../shared/data}/justus2018
rows=${1:-3000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
[ -x "$bin/layermeter" ] || { echo "$0: no $bin/layermeter: build it, or set LAYERMETER_BIN" >&2; exit 1; }

# The data's rows as observations: a row with an optimizer is a whole step of a loss, whose inputs are variables, too.
observations() {
    gzip -dc "$1" | awk -F, -v rows="$rows" -v seed=1 '
        function ceil(x) { return x == int(x) ? x : int(x) + 1 }
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; print "kind,name,geometry,phase,input,batch,settings,optimizer,seconds"; srand(seed); next }
        {
            if (at["kernel"]) {
                m = $at["matrix_size"]; k = $at["kernel"]; s = $at["stride"]
                pad = $at["padding"] == "same" ? (ceil(m / s) - 1) * s + k - m : 0; pad = pad > 0 ? pad : 0
                before = int(pad / 2); after = pad - before; odd = before != after
                name = (odd ? "pad; " : "") "conv2d"; input = $at["channels_in"] "x" m "x" m
                keys = (odd ? "before=" before "," before " after=" after "," after "; " : "") "filters=" $at["channels_out"] " kernel=" k \
                    " stride=" s " padding=" (odd ? 0 : before) " bias=" ($at["use_bias"] ? "yes" : "no")
            } else { name = "linear"; keys = "features=" $at["dim_out"]; input = $at["dim_in"] }
            f = $at["activation"]; o = $at["optimizer"]
            if (f != "none") { name = name "; " f; keys = keys "; " }
            if (o != "none") { name = name "; mse_loss"; keys = keys "; " }
            line[++n] = "layer," name ",\"" keys "\"," (o == "none" ? "inference" : "step") "," input "," $at["batch"] ",trains=inputs," \
                (o == "none" ? "" : o) "," $at["time_median_ms"] * 1e-3
        }
        END { for (i = n; i > 1; i--) { j = 1 + int(rand() * i); t = line[i]; line[i] = line[j]; line[j] = t } for (i = 1; i <= n && i <= rows; i++) print line[i] }'
}

# Errors of one model over forward passes and steps together: rows, MAPE, RMSE.
pooled() {
    awk -F, -v model="$1" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $1 == "(all)" && $3 == model && ($2 == "inference" || $2 == "step") {
            n += $4; mape += $4 * $at["mape_percent"]; square += $4 * $at["rmse_ms"] ^ 2 }
        END { if (n) printf "%d %.1f %.3f\n", n, mape / n, sqrt(square / n); else print "0 - -" }'
}

# Root mean square errors of the paper, table by GPU.
published() {
    case $1 in
    conv_v100) echo 1.73 ;; conv_p100) echo 3.32 ;; conv_m60) echo 6.07 ;; conv_k80) echo 7.84 ;; conv_k40) echo 11.90 ;;
    dense_v100) echo .048 ;; dense_p100) echo .033 ;; dense_m60) echo .031 ;; dense_k80) echo .145 ;; dense_k40) echo .167 ;;
    *) echo - ;;
    esac
}

# Nine tenths of the rows teach, one tenth judges. justus: as published, and as it is usual here; residual: ours.
one() {
    file=$data/$1.csv.gz
    [ -r "$file" ] || { echo "$1: not in $data" >&2; return 0; }
    observations "$file" >"$work/all.csv"
    awk -v train="$work/train.csv" -v test="$work/test.csv" 'NR == 1 { print >train; print >test; next } { print >(NR % 10 ? train : test) }' "$work/all.csv"
    "$bin/layermeter" fit "$work/train.csv" -o "$work/p.ini" --model justus --learn published >/dev/null 2>&1
    "$bin/layermeter" fit "$work/train.csv" -o "$work/m.ini" --model justus --residual auto >/dev/null 2>&1
    as_published=$("$bin/layermeter" validate "$work/test.csv" --machine "$work/p.ini" --model justus --format csv 2>/dev/null | pooled justus)
    "$bin/layermeter" validate "$work/test.csv" --machine "$work/m.ini" --model residual,justus --format csv >"$work/found.csv" 2>/dev/null
    # shellcheck disable=SC2046,SC2086 # three words each
    set -- "$1" "$(published "$1")" $as_published $(pooled justus <"$work/found.csv") $(pooled residual <"$work/found.csv")
    printf '%-12s %6s  %9s  %9s %7s  %9s %7s  %9s %7s\n' "$1" "$3" "$2" "$5" "$4" "$8" "$7" "${11}" "${10}"
}

heading() {
    printf '\n%s\n%-12s %6s  %9s  %17s  %17s  %17s\n' "$1" "" rows published "as published" "justus, as usual" "ours (residual)"
    printf '%-12s %6s  %9s  %9s %7s  %9s %7s  %9s %7s\n' "" "" RMSE RMSE MAPE RMSE MAPE RMSE MAPE
}

heading "Single layers, random rows left out: RMSE [ms], MAPE [%], of $rows rows where the paper has 20,000"
for type in conv dense; do
    for gpu in v100 p100 m60 k80 k40; do one "${type}_$gpu"; done
done

# A GPU that none of the others' machine files knows: datasheets are features. Limits of power, which the data lack, are those of the boards'
# datasheets, half of them for M60 and K80, two devices each.
if [ -r "$data/gpus.csv" ]; then
    awk -F, 'BEGIN { split("v100 250 p100 250 m60 150 k80 150 k40 235", w, " "); for (i = 1; i < 10; i += 2) power[w[i]] = w[i + 1] } NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } { printf "[%s]\ncapability = %s\nf32 = %g TFLOP/s\nbandwidth = %s GB/s\nmultiprocessors = %s\ncores = %s\nclock = %s MHz\nmemory = %s GB\npower = %s W\n\n", $1, $at["compute_capability"], $at["fp32_peak_gflops"] / 1e3, $at["memory_bandwidth_gb_s"], $at["sm_count"], $at["fp32_cores"], $at["clock_boost_mhz"], $at["memory_gb"], power[$1] }' \
        "$data/gpus.csv" >"$work/devices.ini"
    files='' names=''
    for gpu in v100 p100 m60 k80 k40; do
        [ -r "$data/conv_$gpu.csv.gz" ] || continue
        observations "$data/conv_$gpu.csv.gz" >"$work/$gpu.csv"
        files="$files $work/$gpu.csv" names="$names${names:+,}$gpu"
    done
    printf '\nConvolutions on a GPU that was not measured, by the others (section VII-C): MAPE [%%]; published: V100 39.6 (batches to 32)\n'
    # shellcheck disable=SC2086 # words
    "$bin/layermeter" validate $files --leave-out device --device "$names" --devices "$work/devices.ini" --model layermeter,justus \
        --format csv 2>/dev/null | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
            $2 == "inference" || $2 == "step" { key = $1 OFS $3; n[key] += $4; sum[key] += $4 * $at["mape_percent"]; if ($1 != "(all)" && !($1 in seen)) { seen[$1]; order[++k] = $1 } }
            END { printf "%-12s %11s %11s\n", "", "justus", "ours"; for (i = 1; i <= k; i++) printf "%-12s %11.1f %11.1f\n", order[i],
                n[order[i] OFS "justus"] ? sum[order[i] OFS "justus"] / n[order[i] OFS "justus"] : -1, n[order[i] OFS "layermeter"] ? sum[order[i] OFS "layermeter"] / n[order[i] OFS "layermeter"] : -1 }'
fi

# The paper benchmarks pooling and recurrent layers, too, of which it publishes no times: on this CPU.
cat >"$work/own.ini" <<'END'
[sweep]
backend = onednn
threads     = 1
warmup      = 1
min_repeats = 3
max_repeats = 10
max_seconds = 0.2
precision   = 0.05

[layers.max]
type      = max_pool2d
count     = 150
batch     = 1..16
_size     = 8..64
_channels = 1..128
kernel    = 2..5
stride    = 1..3
input     = ${_channels}x${_size}x${_size}

[layers.mean]
type      = avg_pool2d
count     = 150
batch     = 1..16
_size     = 8..64
_channels = 1..128
kernel    = 2..5
stride    = 1..3
input     = ${_channels}x${_size}x${_size}
END
for cell in rnn gru lstm; do
    cat >>"$work/own.ini" <<END

[layers.$cell]
type          = $cell
count         = 100
batch         = 1..32
_length       = 1..32
_width        = 1..128
input         = \${_length}x\${_width}
hidden        = 1..128
layers        = 1..2
bidirectional = yes, no
optimizer     = sgd, adam
END
done
printf '\nPooling and recurrent layers on this CPU, a third of the shapes left out in turn: MAPE [%%]; published: -\n'
"$bin/layermeter" calibrate "$work/own.ini" -o "$work/own.csv" --quiet --force
"$bin/layermeter" validate "$work/own.csv" --leave-out kfold=3 --model layermeter,justus --format csv 2>/dev/null |
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } $1 == "(all)" || $2 !~ /^(forward|backward|step|inference)$/ { next }
        { key = $1 " " $2; if (!(key in seen)) { seen[key]; order[++k] = key } found[key, $3] = sprintf("%.1f", $at["mape_percent"]); rows[key] = $4 }
        END { printf "%-24s %6s %9s %9s\n", "", "rows", "justus", "ours"; for (i = 1; i <= k; i++) printf "%-24s %6d %9s %9s\n", order[i], rows[order[i]], (order[i], "justus") in found ? found[order[i], "justus"] : "-", found[order[i], "layermeter"] }'

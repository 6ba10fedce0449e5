#!/bin/sh
# The tables of Justus et al. 2018 (arXiv:1811.11880): the published figure, the method as published, and ours.
#
# Single convolutions and fully connected layers on five GPUs are the paper's own data (CDECatapult/ml-performance-prediction), where
# $LAYERMETER_DATA has them; the paper's other types, of which nothing is published, are measured on this machine's CPU, in two minutes.
#
# usage: examples/papers/justus.sh [--rows N] [RESULTS]    (default: 3000 rows of each GPU and type, papers-results/justus)
#
# With --rows 600 the whole took seven minutes on a busy machine of two cores; the paper's 20,000 rows take hours. Perceptrons need thousands
# of rows: what they tell of wide layers by 600 rows can be off by any factor.
set -eu
rows=3000
if [ "${1:-}" = --rows ]; then
    rows=${2:?"--rows: how many?"}
    shift 2
fi
. "$(dirname "$0")/common.sh"
export OPENBLAS_NUM_THREADS=1

# Root mean square errors of the paper, by table and GPU.
published() {
    case $1 in
    conv_v100) echo 1.73 ;; conv_p100) echo 3.32 ;; conv_m60) echo 6.07 ;; conv_k80) echo 7.84 ;; conv_k40) echo 11.90 ;;
    dense_v100) echo .048 ;; dense_p100) echo .033 ;; dense_m60) echo .031 ;; dense_k80) echo .145 ;; dense_k40) echo .167 ;;
    *) echo - ;;
    esac
}

# Nine tenths of the rows teach, one tenth judges. justus: as published, and as it is usual here; residual: ours.
one() {
    file=$data/justus2018/$1.csv.gz
    [ -r "$file" ] || return 0
    observed "$file" "$rows" >"$results/all.csv"
    awk -v train="$results/train.csv" -v test="$results/test.csv" 'NR == 1 { print >train; print >test; next } { print >(NR % 10 ? train : test) }' "$results/all.csv"
    layermeter fit "$results/train.csv" -o "$results/published.ini" --model justus --learn published >"$results/fit.txt" 2>&1 ||
        { tail -n 1 "$results/fit.txt" >&2; return 0; }
    layermeter fit "$results/train.csv" -o "$results/usual.ini" --model justus --residual auto >"$results/fit.txt" 2>&1
    layermeter validate "$results/test.csv" --machine "$results/published.ini" --model justus --format csv >"$results/published.csv" 2>/dev/null
    layermeter validate "$results/test.csv" --machine "$results/usual.ini" --model residual,justus --format csv >"$results/usual.csv" 2>/dev/null
    # shellcheck disable=SC2046 # three words each
    set -- "$1" "$(published "$1")" $(pooled "$results/published.csv" '(all)' justus) $(pooled "$results/usual.csv" '(all)' justus) \
        $(pooled "$results/usual.csv" '(all)' residual)
    printf '%-12s %6s  %9s  %9s %7s  %9s %7s  %9s %7s\n' "$1" "$3" "$2" "$5" "$4" "$8" "$7" "${11}" "${10}"
}

printf 'Single layers, random rows left out: RMSE [ms], MAPE [%%], of %s rows where the paper has 20,000\n' "$rows"
if [ -d "$data/justus2018" ]; then
    printf '%-12s %6s  %9s  %17s  %17s  %17s\n' "" rows published "as published" "justus, as usual" "ours (residual)"
    printf '%-12s %6s  %9s  %9s %7s  %9s %7s  %9s %7s\n' "" "" RMSE RMSE MAPE RMSE MAPE RMSE MAPE
    for type in conv dense; do
        for gpu in v100 p100 m60 k80 k40; do one "${type}_$gpu"; done
    done
else
    echo "  public data: no $data/justus2018 (LAYERMETER_DATA)"
fi

heading "Convolutions on a GPU that was not measured, by the others (section VII-C; published: batches to 32)" justus
unseen conv "$rows" justus

# Types of the paper: an activation is part of its layer.
cat >"$results/own.ini" <<'END'
[sweep]
backend = onednn
threads     = 1
warmup      = 1
min_repeats = 3
max_repeats = 10
max_seconds = 0.2
precision   = 0.05

[layers.conv]
type       = conv2d
count      = 200
batch      = 1..16
_image     = 4..64
_channels  = 1..64
input      = ${_channels}x${_image}x${_image}
filters    = 1..64
kernel     = 1..7
stride     = 1..4
padding    = 0, ${kernel / 2}
bias       = yes, no
activation = none, relu, tanh, sigmoid
optimizer  = sgd, momentum, adagrad, adadelta, rmsprop, adam
max_flops  = 5e8

[layers.dense]
type       = linear
count      = 200
batch      = 1..64
_width     = 1..4095
input      = ${_width}
features   = 1..4095
activation = none, relu, tanh, sigmoid
optimizer  = sgd, momentum, adagrad, adadelta, rmsprop, adam

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
    cat >>"$results/own.ini" <<END

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
measure own "$results/own.ini"
layermeter validate "$results/own/observations.csv" --leave-out kfold=3 --model layermeter,justus --format csv \
    >"$results/own.csv" 2>"$results/own.txt" || { tail -n 3 "$results/own.txt" >&2; exit 1; }
heading "All types of the paper on this CPU, a third of the shapes left out in turn" justus
awk -F, '$3 == "layermeter" && $1 != "(all)" && $2 ~ /^(forward|backward|step|inference)$/ { print $1 "," $2 }' "$results/own.csv" |
    while IFS=, read -r type phase; do
        row "$type $phase" - "$(mape "$results/own.csv" "$type" "$phase" justus)" "$(mape "$results/own.csv" "$type" "$phase" layermeter)"
    done

layermeter fit "$results/own/observations.csv" -o "$results/fit.ini" --model justus >"$results/fit.txt" 2>&1 ||
    { tail -n 3 "$results/fit.txt" >&2; exit 1; }
page vgg11 "$results/fit.ini" --model justus --image 64

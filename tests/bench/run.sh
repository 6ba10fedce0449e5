#!/bin/sh
# Speed and memory, as ratios against a named peer in one run: a higher ratio is better, the goal is the
# least. Not a test: machines are shared and noisy.
# usage: tests/bench/run.sh [--csv FILE]
set -eu

here=$(cd "$(dirname "$0")/../.." && pwd)
csv=
if [ "${1-}" = --csv ] && [ $# -eq 2 ]; then
    csv=$2
elif [ $# -gt 0 ]; then
    echo "usage: tests/bench/run.sh [--csv FILE]" >&2
    exit 2
fi

"$here/examples/setup.sh" build
build=$here/build/bench
mkdir -p "$build"
{ cmake -S "$here" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release &&
  ninja -C "$build" core/all plugins/all models/all configs/all calibrate/all bench_points && cc -O2 -o "$build/timer" "$here/tests/bench/timer.c"; } >"$build.log" 2>&1 ||
    { tail -n 20 "$build.log" >&2; exit 1; }
PATH=$build/bin:$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rows=$work/rows.csv
echo "name,ours,peer,ratio,goal" >"$rows"

# row NAME OURS PEER GOAL: ratio = peer / ours
row() {
    echo "$1 $2 $3 $4" | awk '{ printf "%s,%s,%s,%.3g,%s\n", $1, $2, $3, $3 / $2, $4 }' >>"$rows"
}
seconds() { "$build/timer" "$@" | cut -d' ' -f1; }
bytes() { "$build/timer" "$@" | cut -d' ' -f2; }

# --- a prediction as a process, against the least that a Python peer costs
machine=$here/tests/bench/machine.ini
scale="layermeter scale resnet50 --machine $machine --model counts --nodes 1..128*2"
python=$(for p in /usr/bin/python3 python3; do
             "$p" -c 'import torch' 2>/dev/null && { echo "$p"; break; }
         done || true)
if [ -n "$python" ]; then
    row scale_resnet50_8_points_s "$(seconds 31 $scale)" "$(seconds 5 "$python" -c 'import torch')" 100
    row scale_resnet50_8_points_bytes "$(bytes 5 $scale)" "$(bytes 2 "$python" -c 'import torch')" 20
else
    echo "bench: no python3 with torch (Debian: python3-torch): its rows are left out" >&2
fi

# 10,000 (node, batch, bucket) points within 0.2 s; more of it in scale.sh
row scale_resnet50_10000_points_s "$(seconds 9 layermeter scale resnet50 --machine "$machine" --model counts \
    --nodes 1..100 --batch 1..20 --bucket 1MiB,4MiB,8MiB,16MiB,25MiB)" 0.2 1

# --- fits as processes: 5,000 observations within 20 ms, and cost by their number
# sim NAME BATCHES: a simulated sweep of 7 networks x 4 images x 4 rank counts x the batches
sim() {
    cp "$machine" "$work/machine.ini"
    cat >"$work/$1.ini" <<EOF
[sweep]
backend = sim
warmup = 0
min_repeats = 1
max_repeats = 1
[sim]
machine = machine.ini
noise = 0.02
[networks]
networks = alexnet, densenet121, mobilenet_v2, resnet18, resnet50, squeezenet1_1, vgg16
image = 64, 96, 128, 224
batch = $2
ranks = 1, 2, 4, 8
EOF
    layermeter-calibrate "$work/$1.ini" -o "$work/$1.csv" --quiet
}
# take FILE N: the file's head and its first N observations, times in whole nanoseconds as a clock gives them, each
# rank on a host of its own
take() {
    awk -F, -v OFS=, -v n="$2" '
        /^#/ { print; next }
        /^kind/ { print; for (i = 1; i <= NF; i++) { at[$i] = i; if ($i ~ /seconds$/) time[i] = 1 }; next }
        n-- > 0 { $at["hosts"] = $at["ranks"]; for (i in time) if ($i != "") $i = sprintf("%.9f", $i); print }' "$1" >"$work/$2.csv"
    [ "$(grep -c '^network' "$work/$2.csv")" = "$2" ]
}
for n in 5000 20000 80000; do
    sim many$n 1..$((n / 530 + 1)) # 532 observations a batch size
    take "$work/many$n.csv" $n
    eval "fit_$n=\$(seconds 15 layermeter fit $work/$n.csv -o $work/fitted.ini)"
done
row fit_5000_observations_s "$fit_5000" 0.020 1
per() { echo "$1 $2" | awk '{ printf "%.4g", $1 / $2 }'; }
row fit_per_observation_s_20000_to_5000 "$(per "$fit_20000" 20000)" "$(per "$fit_5000" 5000)" 0.8
row fit_per_observation_s_80000_to_20000 "$(per "$fit_80000" 80000)" "$(per "$fit_20000" 20000)" 0.8

# --- (batch, node) points of ResNet-50 in a process, of a machine file with every model: whole answers with
# intervals and ledger, by themselves and in a scan; on one core, and linear in their number
# per_point KIND MODEL POINTS: seconds
per_point() {
    "$build/bin/bench_points" resnet50 "$work/fitted.ini" "$2" "$3" 2>/dev/null |
        awk -v kind="$1" '$1 == kind { printf "%.4g", 1 / $2 }'
}
export LAYERMETER_PLUGIN_PATH=$build/lib/layermeter/plugins LAYERMETER_MODEL_PATH=$here/models
row point_layermeter_answer_s "$(per_point answers layermeter 400000)" 5e-6 1
row point_layermeter_scan_s "$(per_point scans layermeter 8000000)" 5e-7 1
row point_convmeter_answer_s "$(per_point answers convmeter 400000)" 5e-6 1
row point_convmeter_scan_s "$(per_point scans convmeter 8000000)" 1e-7 1
row point_layermeter_answer_s_800000_to_200000 "$(per_point answers layermeter 800000)" \
    "$(per_point answers layermeter 200000)" 0.8
row point_layermeter_scan_s_8000000_to_2000000 "$(per_point scans layermeter 8000000)" \
    "$(per_point scans layermeter 2000000)" 0.8
row point_convmeter_scan_s_8000000_to_2000000 "$(per_point scans convmeter 8000000)" \
    "$(per_point scans convmeter 2000000)" 0.8

# --- cost by the number of layers, and of points
for n in 1000 4000 16000; do
    { printf '[network]\nname = deep\n[x]\ntype = input\nshape = 8x16x16\n'
      printf '[block pair]\n[pair/conv]\ntype = conv2d\nfilters = 8\nkernel = 3\npadding = 1\n'
      printf '[pair/relu]\ntype = relu\n[part.0..%d]\nblock = pair\n' $((n / 2 - 1)); } >"$work/deep$n.ini"
    eval "layers_$n=\$(seconds 7 layermeter show $work/deep$n.ini --totals)"
    eval "points_$n=\$(seconds 7 layermeter scale resnet18 --machine $machine --model counts --nodes 1..$n)"
done
row show_per_layer_s_4000_to_1000 "$(per "$layers_4000" 4000)" "$(per "$layers_1000" 1000)" 0.8
row show_per_layer_s_16000_to_4000 "$(per "$layers_16000" 16000)" "$(per "$layers_4000" 4000)" 0.8
row scale_per_point_s_4000_to_1000 "$(per "$points_4000" 4000)" "$(per "$points_1000" 1000)" 0.8
row scale_per_point_s_16000_to_4000 "$(per "$points_16000" 16000)" "$(per "$points_4000" 4000)" 0.8

# --- an ONNX file of 500 MB: imported without reading its weights, against loading it with the onnx package
onnx=$(for p in /usr/bin/python3 python3; do
           "$p" -c 'import onnx' 2>/dev/null && { echo "$p"; break; }
       done || true)
if [ -n "$onnx" ]; then
    "$onnx" - "$work" <<'EOF'
import sys
from onnx import TensorProto as T, helper as h
folder, width, layers = sys.argv[1], 2048, 30
for inside in (True, False):
    weights = [T(name=f"l{i}.weight", dims=[width, width], data_type=T.FLOAT) for i in range(layers)]
    for w in weights:
        if inside:
            w.raw_data = bytes(4 * width * width)
    nodes = [h.make_node("Gemm", [f"t{i}", f"l{i}.weight"], [f"t{i + 1}"], transB=1) for i in range(layers)]
    ends = [h.make_tensor_value_info(f"t{i}", T.FLOAT, [1, width]) for i in (0, layers)]
    with open(f"{folder}/{'large' if inside else 'bare'}.onnx", "wb") as out:
        out.write(h.make_model(h.make_graph(nodes, "large", ends[:1], ends[1:], weights)).SerializeToString())
EOF
    row import_500MB_s "$(seconds 15 layermeter import "$work/large.onnx")" \
        "$(seconds 3 "$onnx" -c "import onnx; onnx.load('$work/large.onnx')")" 20
    more=$(($(bytes 5 layermeter import "$work/large.onnx") - $(bytes 5 layermeter import "$work/bare.onnx")))
    row import_500MB_bytes_of_weights $((more > 0 ? more : 1)) $((30 << 20)) 1
    rm -f "$work/large.onnx"
else
    echo "bench: no python3 with onnx (Debian: python3-onnx): its rows are left out" >&2
fi

column -s, -t <"$rows" 2>/dev/null || cat "$rows"
if [ -n "$csv" ]; then
    cp "$rows" "$csv.part" && mv "$csv.part" "$csv"
fi

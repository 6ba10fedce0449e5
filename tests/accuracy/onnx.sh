#!/bin/sh
# ONNX files of torchvision networks against PyTorch's own counts, at every image size that was counted:
# read directly, and imported to an INI file. Each must be equal. Reads $LAYERMETER_DATA/torchvision;
# skips where it is absent.
set -eu

data=${LAYERMETER_DATA:-$LAYERMETER_SOURCE/../shared/data}/torchvision
if [ ! -r "$data/metrics.csv" ]; then
    echo "skipped: no $data (set LAYERMETER_DATA)"
    exit 77
fi
layermeter=$LAYERMETER_BIN/layermeter
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if "$layermeter" import "$data/onnx/alexnet.onnx" 2>&1 | grep -q 'this build reads no ONNX'; then
    echo "skipped: a build without ONNX"
    exit 77
fi

# counts FILE IMAGE: ours, in the order below
counts() {
    "$layermeter" show "$1" --image "$2" --totals --format json 2>/dev/null |
        jq -r '.total | "\(.params) \(.param_tensors) \(.macs_conv) \(.macs_linear) \(.conv_inputs) \(.conv_outputs)"'
}
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    $at["variant"] == "eval" {
        print $at["model"], $at["image"], $at["params"], $at["n_param_tensors"], $at["macs_conv"],
            $at["macs_linear"], $at["conv_inputs"], $at["conv_outputs"] }' "$data/metrics.csv" >"$work/theirs"
compared=0
for file in "$data"/onnx/*.onnx; do
    name=$(basename "$file" .onnx)
    "$layermeter" import "$file" -o "$work/$name.ini"
    grep "^$name " "$work/theirs" >"$work/rows"
    while read -r _ image expected; do
        for ours in "$file" "$work/$name.ini"; do
            actual=$(counts "$ours" "$image")
            if [ "$actual" != "$expected" ]; then
                echo "$ours at $image pixels: params, tensors, MACs (conv, linear), conv inputs, outputs"
                echo "  PyTorch:    $expected"
                echo "  layermeter: $actual"
                exit 1
            fi
            compared=$((compared + 1))
        done
    done <"$work/rows"
done
echo "$compared counts equal"
[ "$compared" -ge 126 ]

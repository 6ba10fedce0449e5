#!/bin/sh
# The counts of `layermeter show` against PyTorch's own: 21 networks of torchvision, each at several image sizes,
# must be equal, not near. Reads $LAYERMETER_DATA/torchvision/metrics.csv; skips where it is absent.
set -eu

data=${LAYERMETER_DATA:-$LAYERMETER_SOURCE/../shared/data}/torchvision/metrics.csv
if [ ! -r "$data" ]; then
    echo "skipped: no $data (set LAYERMETER_DATA)"
    exit 77
fi
trap 'rm -f expected.$$ actual.$$' EXIT
# NETWORK IMAGE COUNTS, ours = theirs by the names of either; activations are f32
awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    {
        printf "%s%s %s ", $at["model"], $at["variant"] == "aux" ? "_aux" : "", $at["image"]
        printf "params=%s param_tensors=%s macs_conv=%s macs_linear=%s flops_forward=%s ",
            $at["params"], $at["n_param_tensors"], $at["macs_conv"], $at["macs_linear"], $at["flops"]
        printf "conv_inputs=%s conv_outputs=%s linear_inputs=%s linear_outputs=%s ",
            $at["conv_inputs"], $at["conv_outputs"], $at["lin_inputs"], $at["lin_outputs"]
        printf "layers=%s activation_bytes=%.0f\n", $at["n_leaf_calls"], 4 * $at["act_elems"]
    }' "$data" >expected.$$
while read -r network image _; do
    printf '%s %s ' "$network" "$image"
    "$LAYERMETER_BIN/layermeter" show "$network" --image "$image" --totals --format json |
        jq -r '.total | [ "params", "param_tensors", "macs_conv", "macs_linear", "flops_forward",
               "conv_inputs", "conv_outputs", "linear_inputs", "linear_outputs", "layers",
               "activation_bytes" ] as $keys | . as $t | $keys | map("\(.)=\($t[.])") | join(" ")'
done <expected.$$ >actual.$$
if ! cmp -s expected.$$ actual.$$; then
    echo "PyTorch (-) and layermeter (+):"
    diff -u expected.$$ actual.$$ | grep '^[-+]' | tail -n +3
    exit 1
fi
echo "$(wc -l <actual.$$) networks and sizes equal"
[ "$(wc -l <actual.$$)" -eq 65 ]

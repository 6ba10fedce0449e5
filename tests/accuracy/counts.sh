#!/bin/sh
# The counts of `layermeter show` against PyTorch's own, for every shipped network at three image sizes:
# each must be equal, not near. Reads $LAYERMETER_DATA/torchvision/metrics.csv; skips where it is absent.
set -eu

data=${LAYERMETER_DATA:-$LAYERMETER_SOURCE/../shared/data}/torchvision/metrics.csv
if [ ! -r "$data" ]; then
    echo "skipped: no $data (set LAYERMETER_DATA)"
    exit 77
fi
compared=0
for network in alexnet densenet121 mobilenet_v2 resnet18 resnet50 squeezenet1_1 vgg16; do
    for image in 224 128 97; do
        # ours = theirs, by the names of either; activations are f32
        awk -F, -v network=$network -v image=$image '
            NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
            $at["model"] == network && $at["variant"] == "eval" && $at["image"] == image {
                printf "params=%s param_tensors=%s macs_conv=%s macs_linear=%s flops_forward=%s ",
                    $at["params"], $at["n_param_tensors"], $at["macs_conv"], $at["macs_linear"], $at["flops"]
                printf "conv_inputs=%s conv_outputs=%s linear_inputs=%s linear_outputs=%s ",
                    $at["conv_inputs"], $at["conv_outputs"], $at["lin_inputs"], $at["lin_outputs"]
                printf "layers=%s activation_bytes=%.0f\n", $at["n_leaf_calls"], 4 * $at["act_elems"]
            }' "$data" >expected.$$
        "$LAYERMETER_BIN/layermeter" show $network --image $image --totals --format json |
            jq -r '.total | [ "params", "param_tensors", "macs_conv", "macs_linear", "flops_forward",
                   "conv_inputs", "conv_outputs", "linear_inputs", "linear_outputs", "layers",
                   "activation_bytes" ] as $keys | . as $t | $keys | map("\(.)=\($t[.])") | join(" ")' >actual.$$
        if ! [ -s expected.$$ ] || ! cmp -s expected.$$ actual.$$; then
            echo "$network at $image pixels:"
            echo "  PyTorch:    $(cat expected.$$)"
            echo "  layermeter: $(cat actual.$$)"
            rm -f expected.$$ actual.$$
            exit 1
        fi
        compared=$((compared + 1))
    done
done
rm -f expected.$$ actual.$$
echo "$compared networks and sizes equal"
[ "$compared" -eq 21 ]

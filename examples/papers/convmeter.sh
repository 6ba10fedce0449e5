#!/bin/sh
# ConvMeter's tables (Beringer et al., ICPP 2024): whole networks left out in inference and training, and blocks left out.
# Published figures are of the paper's own machines; beside them its method ('convmeter': ordinary least squares) and ours on the
# same rows: of this machine's CPU, measured here in about five minutes, and of public data where they are.
#
# usage: examples/papers/convmeter.sh [RESULTS]      (default: papers-results/convmeter)
set -eu
. "$(dirname "$0")/common.sh"

cat >"$results/networks.ini" <<'END'
[sweep]
backend     = onednn
threads     = 1
min_repeats = 3
max_repeats = 8
max_seconds = 0.3

[networks]
networks  = alexnet, densenet121, googlenet, mobilenet_v2, resnet18, resnet50, squeezenet1_1, vgg11
batch     = 1, 4, 16
image     = 64, 128
max_flops = 2e10
phases    = training, inference
END

echo "ConvMeter: predictions of networks and blocks that were left out"
measure networks "$results/networks.ini"
layermeter validate "$results/networks/observations.csv" --pooled --format csv >"$results/networks.csv" 2>"$results/networks.txt"

heading "Networks left out, on this CPU" convmeter
row "inference (published of CPUs)" 25 "$(mape "$results/networks.csv" '(all)' inference convmeter)" \
    "$(mape "$results/networks.csv" '(all)' inference layermeter)"
row "forward pass" - "$(mape "$results/networks.csv" '(all)' forward convmeter)" \
    "$(mape "$results/networks.csv" '(all)' forward layermeter)"
row "backward pass" - "$(mape "$results/networks.csv" '(all)' backward convmeter)" \
    "$(mape "$results/networks.csv" '(all)' backward layermeter)"
row "gradient update" - "$(mape "$results/networks.csv" '(all)' grad convmeter)" \
    "$(mape "$results/networks.csv" '(all)' grad layermeter)"
row "training step (published of GPUs)" 15-18 "$(mape "$results/networks.csv" '(all)' step convmeter)" \
    "$(mape "$results/networks.csv" '(all)' step layermeter)"

measure blocks blocks
layermeter validate "$results/blocks/observations.csv" --format csv >"$results/blocks.csv" 2>"$results/blocks.txt"
heading "Blocks left out, on this CPU (Table 2)" convmeter
for phase in forward backward step; do
    row "$phase" - "$(mape "$results/blocks.csv" '(all)' $phase convmeter)" "$(mape "$results/blocks.csv" '(all)' $phase layermeter)"
done
for family in ResNet MobileNet Inception; do
    these=$(echo "$family" | tr '[:upper:]' '[:lower:]')'*'
    row "step, blocks of $family" - "$(mape "$results/blocks.csv" "$these" step convmeter)" \
        "$(mape "$results/blocks.csv" "$these" step layermeter)"
done

if exam torch_cpu timm; then
    heading "Public data (the paper: inference on GPUs 17 %, on CPUs 25 %, training 15-18 %)" convmeter
    examined convmeter layermeter
fi
page resnet50 "$results/networks/machine.ini"

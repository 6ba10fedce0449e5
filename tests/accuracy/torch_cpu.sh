#!/bin/sh
# PyTorch's own step times on one CPU core, fitted by all models, each network left out in turn. Ours must
# be below ConvMeter as published and below the same regressors fitted by relative NNLS.
# Reads $LAYERMETER_DATA/torch_cpu/observations.csv; skips where it is absent.
set -eu

data=${LAYERMETER_DATA:-$LAYERMETER_SOURCE/../shared/data}/torch_cpu/observations.csv
if [ ! -r "$data" ]; then
    echo "skipped: no $data (set LAYERMETER_DATA)"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i
              print "kind,name,phase,input,batch,seconds"; next }
    $at["model"] ~ /^(alexnet|densenet121|mobilenet_v2|resnet18|resnet50|squeezenet1_1|vgg16)$/ {
        row = "network," $at["model"] ",%s,3x" $at["image_px"] "x" $at["image_px"] "," $at["batch"] ",%.9g\n"
        f = $at["forward_min_s"]; b = $at["backward_min_s"]; u = $at["sgd_momentum_update_min_s"]
        printf row, "forward", f; printf row, "backward", b; printf row, "update", u
        printf row, "step", f + b + u
    }' "$data" >"$work/torch.csv"
"$LAYERMETER_BIN/layermeter" validate "$work/torch.csv" --pooled
"$LAYERMETER_BIN/layermeter" validate "$work/torch.csv" --pooled --format csv |
    awk -F, '$2 == "step" { mape[$3] = $8; n = $4 }
        END { exit !(n > 150 && mape["layermeter"] < mape["nnls"] && mape["nnls"] < mape["convmeter"] &&
                     mape["layermeter"] < 15) }'

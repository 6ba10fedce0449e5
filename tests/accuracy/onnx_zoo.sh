#!/bin/sh
# Networks as PyTorch exports them (timm, transformers, diffusers, segmentation, detection, own): how many load, how many
# have PyTorch's own multiply-accumulates and parameters, and what is refused, by its words. Reads $LAYERMETER_DATA/onnx_zoo;
# skips where it is absent. onnx_zoo.sh [-v] [NETWORK ...]: those named; -v: every row.
set -eu

data=${LAYERMETER_DATA:-$LAYERMETER_SOURCE/../shared/data}/onnx_zoo
if [ ! -r "$data/networks.csv" ]; then
    echo "skipped: no $data (set LAYERMETER_DATA)"
    exit 77
fi
if "$LAYERMETER_BIN/layermeter" import any.onnx 2>&1 | grep -q 'this build reads no ONNX'; then
    echo "skipped: a build without ONNX"
    exit 77
fi
exec /usr/bin/python3 "$LAYERMETER_SOURCE/tests/accuracy/onnx_zoo.py" "$LAYERMETER_BIN/layermeter" "$data" "$@"

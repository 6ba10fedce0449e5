#!/bin/sh
# Modules exported by torch.onnx against what PyTorch counts of them. Skips without PyTorch.
# Networks of torchvision: onnx_torch.sh [--modes MODE,...] NETWORK ...
set -eu

if "$LAYERMETER_BIN/layermeter" import any.onnx 2>&1 | grep -q 'this build reads no ONNX'; then
    echo "skipped: a build without ONNX"
    exit 77
fi
/usr/bin/python3 "$LAYERMETER_SOURCE/tests/accuracy/onnx_torch.py" "$LAYERMETER_BIN/layermeter" "$@"

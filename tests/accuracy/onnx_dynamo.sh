#!/bin/sh
# Networks as a newer PyTorch exports them (torch.onnx.export(dynamo=True)): parameters and multiply-accumulates against
# PyTorch's own counter, at opset 18, and at opset 21 with a batch that the file leaves open. Not in CI; skips without torch 2.6.
#
#   python3 -m venv FOLDER && FOLDER/bin/pip install torch torchvision onnx onnxscript
#   LAYERMETER_TORCH=FOLDER/bin/python3 tests/accuracy/onnx_dynamo.sh [-v] [--opsets N,...] [NETWORK ...]
#
# onnx_dynamo.sh --fixtures FOLDER: writes dynamo_*.onnx of tests/cli/inputs.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/../.." && pwd)
program=${LAYERMETER_BIN:-$root/build/release/bin}/layermeter
exec "${LAYERMETER_TORCH:-python3}" "$root/tests/accuracy/onnx_dynamo.py" "$program" "$@"

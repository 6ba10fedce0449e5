#!/bin/sh
# The onnx package's own tests of single operators: how many of those with known shapes load with the right output shape, or are
# refused by the name of an operator, a node or a tensor. Skips without the package. onnx_nodes.sh [-v] [CASE ...]; -v: every refusal.
set -eu

if "$LAYERMETER_BIN/layermeter" import any.onnx 2>&1 | grep -q 'this build reads no ONNX'; then
    echo "skipped: a build without ONNX"
    exit 77
fi
exec /usr/bin/python3 "$LAYERMETER_SOURCE/tests/accuracy/onnx_nodes.py" "$LAYERMETER_BIN/layermeter" "$@"

#!/bin/sh
# Layers on tensors, attention and recurrent ones against PyTorch's functions and modules: output shapes, parameters by
# number of tensors and elements, and what autograd keeps for backward. Skips without PyTorch.
set -eu

/usr/bin/python3 "$LAYERMETER_SOURCE/tests/accuracy/tensors.py" --layermeter "$LAYERMETER_BIN/layermeter"

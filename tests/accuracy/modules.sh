#!/bin/sh
# modules.sh PROGRAM
# Layer types against PyTorch's modules, 200 random sets of keys and shapes for each: output shapes, parameters, and what
# autograd keeps for backward. Skips without PyTorch.
set -eu

/usr/bin/python3 "$LAYERMETER_SOURCE/tests/accuracy/modules.py" "$1"

#!/bin/sh
# autocast.sh PROGRAM
# What autocast on the CPU does with each type of layer, beside PyTorch itself. Skips without PyTorch.
set -eu

/usr/bin/python3 "$LAYERMETER_SOURCE/tests/accuracy/autocast.py" "$1"

#!/bin/sh
# What `layermeter memory` says is kept for backward, and live at the peak, against what PyTorch allocates on the CPU:
# equal to the byte, but for what memory.py names. Skips without PyTorch.
set -eu

/usr/bin/python3 "$LAYERMETER_SOURCE/tests/accuracy/memory.py" --layermeter "$LAYERMETER_BIN/layermeter" \
    alexnet densenet121 mobilenet_v2 resnet18 squeezenet1_1

#!/bin/sh
# What `layermeter memory` says is kept for backward, and live at the peak, against what PyTorch allocates on the CPU:
# equal to the byte, but for what memory.py names. Skips without PyTorch.
set -eu

memory() {
    /usr/bin/python3 "$LAYERMETER_SOURCE/tests/accuracy/memory.py" --layermeter "$LAYERMETER_BIN/layermeter" "$@"
}
memory --image 97 alexnet convnext_tiny densenet121 efficientnet_b0 mobilenet_v2 mobilenet_v3_small resnet18 \
    shufflenet_v2_x1_0 squeezenet1_1
memory --image 224 --batch 1 vit_b_32

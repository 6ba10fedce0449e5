#!/bin/sh
# The example that puts every layer of a network beside PyTorch's module: all rows equal. Skips without PyTorch.
set -eu

for network in alexnet resnet18 mobilenet_v2; do
    echo "$network at 97 pixels:"
    /usr/bin/python3 "$LAYERMETER_SOURCE/examples/pytorch/side_by_side.py" $network --image 97 \
        --layermeter "$LAYERMETER_BIN/layermeter"
done
echo "maxvit_t:"
/usr/bin/python3 "$LAYERMETER_SOURCE/examples/pytorch/side_by_side.py" maxvit_t --layermeter "$LAYERMETER_BIN/layermeter"

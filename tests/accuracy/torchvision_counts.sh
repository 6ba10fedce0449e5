#!/bin/sh
# Networks of torchvision against torchvision itself, and some of them at another size; skips where it is not installed.
set -eu

python=${LAYERMETER_PYTHON:-/usr/bin/python3}
"$python" -c 'import torch, torchvision' 2>/dev/null || { echo "skipped: no torchvision for $python"; exit 77; }
"$python" "$(dirname -- "$0")/torchvision_counts.py" "$LAYERMETER_BIN/layermeter" "$LAYERMETER_SOURCE/models" \
    all densenet201:97 convnext_base:128 googlenet:128 regnet_x_8gf:160 efficientnet_v2_l:128

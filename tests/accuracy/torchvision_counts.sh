#!/bin/sh
# Networks of torchvision that counts.sh has no numbers of, against torchvision itself; skips where it is not installed.
set -eu

python=${LAYERMETER_PYTHON:-/usr/bin/python3}
"$python" -c 'import torch, torchvision' 2>/dev/null || { echo "skipped: no torchvision for $python"; exit 77; }
"$python" "$(dirname -- "$0")/torchvision_counts.py" "$LAYERMETER_BIN/layermeter" \
    vgg13 vgg16_bn vgg19 vgg19_bn resnet34 resnet152 resnext101_32x8d densenet161 densenet201:97 efficientnet_b1:240 \
    mnasnet0_5 mnasnet0_75 mnasnet1_0 convnext_small convnext_base:128 vit_b_16 swin_t swin_v2_t:256 swin_v2_s:256 swin_v2_b:256 googlenet \
    googlenet:128 regnet_x_400mf regnet_x_800mf regnet_x_1_6gf regnet_x_3_2gf regnet_x_8gf:160 regnet_x_16gf regnet_x_32gf \
    regnet_y_800mf regnet_y_1_6gf regnet_y_3_2gf regnet_y_8gf regnet_y_16gf regnet_y_32gf regnet_y_128gf efficientnet_v2_m:480 \
    efficientnet_v2_l:128 vit_h_14 fcn_resnet50:520 fcn_resnet101:520 deeplabv3_resnet50:520 deeplabv3_resnet101:520

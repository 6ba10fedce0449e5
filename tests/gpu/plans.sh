#!/bin/sh
# The share of all networks' kernels that the real cuDNN plans for A100, H100 and B200, without a GPU: convolutions, norms of
# rows, attention in 16 bits; f32, f16 and bf16, images in nchw and nhwc.
#
#   tests/gpu/plans.sh [BATCHES [NETWORK...]]     default: 1,64 and torchvision's networks; some minutes each setting
#   tests/gpu/plans.sh 1,16 bert_base gpt2 vit_b_16 swin_t     transformers alone: five minutes in all
#
# PLANS   the program (target gpu_plans); default: build/bin/gpu_plans
set -u
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd) || exit 1
plans=${PLANS:-$here/../../build/bin/gpu_plans}
[ -x "$plans" ] || { echo "skipped: no $plans (target gpu_plans, with CUDA and cuDNN 9.8 or later)"; exit 77; }
batches=${1:-1,64}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- alexnet vgg16 googlenet inception_v3 resnet18 resnet50 resnext50_32x4d wide_resnet50_2 densenet121 squeezenet1_1 \
    mobilenet_v2 mobilenet_v3_large mnasnet1_0 shufflenet_v2_x1_0 efficientnet_b0 efficientnet_v2_s regnet_x_400mf \
    regnet_y_400mf convnext_tiny vit_b_16 swin_t deeplabv3_resnet50
LD_LIBRARY_PATH=$(dirname -- "$plans")/plans${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} # a driver that takes what is compiled
export LD_LIBRARY_PATH
echo device,dtype,layout,kernels,planned
status=0
for device in A100 H100 B200; do
    for dtype in f32 f16 bf16; do
        for layout in nchw nhwc; do
            "$plans" "$device" "$dtype" "$layout" "$batches" "$@" || status=$?
        done
    done
done
exit "$status"

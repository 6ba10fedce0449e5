#!/bin/sh
# Steps of PyTorch under autocast to bf16, and small batches that wait for its host: collects and judges. It needs a quiet
# machine, /usr/bin/python3 with torch and torchvision, and under ten minutes.
#
#   tests/accuracy/torch_mixed.sh FOLDER          into FOLDER/torch_mixed: mixed.csv, small-1.csv to small-3.csv, own.csv; then judges
#   tests/accuracy/torch_mixed.sh FOLDER --tiny   seconds of it, to see that it works: its figures say nothing
#   tests/accuracy/torch_mixed.sh FOLDER --judge  what is there
#
# LAYERMETER_BIN   folder of the programs; default: build/bin
set -u
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd) || exit 1
source=${LAYERMETER_SOURCE:-$here/../..}
bin=${LAYERMETER_BIN:-$source/build/bin}
python=/usr/bin/python3
[ $# -ge 1 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2; }
to=$1/torch_mixed how=${2:-}
mkdir -p "$to" || exit 1

collect() { # seconds, file, networks and options...
    most=$1 file=$2
    shift 2
    timeout "$most" "$python" "$source/examples/pytorch/collect.py" "$@" --device cpu --seconds 0.8 --min-repeats 4 \
        --max-repeats 12 -o "$to/$file" --force
    [ $? -eq 0 ] || echo "$file: cut short, or without some of its points" >&2
}

if [ "$how" != --judge ]; then
    "$python" -c 'import torch, torchvision' 2>/dev/null || { echo "skipped: no torch and torchvision for $python"; exit 77; }
fi
case $how in
--judge) ;;
--tiny)
    mixed="resnet18 shufflenet_v2_x1_0 squeezenet1_1" small="shufflenet_v2_x0_5 mnasnet0_5 mobilenet_v3_small"
    own="resnet18, squeezenet1_1, mobilenet_v2" image=64 batch=2,4 seconds=0.05
    ;;
*)
    # in the order of what they take: those at the end are lost where the time is up. None is alone of its kind: of
    # large linear layers, or of small groups
    mixed="squeezenet1_1 shufflenet_v2_x1_0 mnasnet1_0 resnet18 regnet_x_400mf regnet_y_400mf efficientnet_b0 resnet34
        densenet121 resnet50 resnext50_32x4d alexnet vgg11_bn"
    small="shufflenet_v2_x0_5 mnasnet0_5 mobilenet_v3_small densenet169 regnet_y_400mf efficientnet_b1"
    own="resnet18, mobilenet_v2, squeezenet1_1, densenet121, shufflenet_v2_x1_0, mnasnet1_0, efficientnet_b0, resnet50, regnet_x_400mf"
    image=64,128 batch=2,8 seconds=0.4
    ;;
esac
if [ "$how" != --judge ]; then
    # shellcheck disable=SC2086 # words of lists
    collect 230 mixed.csv $mixed --mixed bf16 --image $image --batch $batch
    # shellcheck disable=SC2086
    for round in 1 2 3; do # apart from each other: the exam takes each point's fastest
        collect 60 small-$round.csv $small --image 32,64 --batch 2,4
    done
    # own networks are others than those of small-1.csv: neither the machine nor the host saw these
    printf '[sweep]\nbackend = onednn\nmax_seconds = %s\n[networks]\nnetworks = %s\nimage = 32, 64\nbatch = 1, 2, 8\n' \
        "$seconds" "$own" >"$to/own.ini"
    "$bin/layermeter-calibrate" "$to/own.ini" -o "$to/own" --force --budget 90s >"$to/own.log" 2>&1 &&
        cp "$to/own/observations.csv" "$to/own.csv" || { tail -n 3 "$to/own.log"; exit 1; }
fi
LAYERMETER_DATA=$1 LAYERMETER_BIN=$bin exec sh "$here/run.sh" torch_mixed

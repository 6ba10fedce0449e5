#!/bin/sh
# The forward pass in evaluation mode over the one in training, as measured here by oneDNN and, where it is installed, by PyTorch: the
# figures behind EVALUATION_LEAST and EVALUATION_MOST (core/predict/predict.h). Prints the ratio of each network, image and batch, and the
# range of each library. About three minutes; on a machine with other load the ratios scatter.
# usage: LAYERMETER_BIN=build/bin tests/bench/evaluation.sh [NETWORK...]     (default: resnet18 mobilenet_v2)
set -eu
: "${LAYERMETER_BIN:?}"
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ $# -gt 0 ] || set -- resnet18 mobilenet_v2

cat >"$work/sweep.ini" <<END
[sweep]
backend     = onednn
threads     = 1
warmup      = 1
min_repeats = 5
max_repeats = 15
max_seconds = 3
precision   = 0.02

[networks]
networks = $(printf '%s, ' "$@" | sed 's/, $//')
phases   = training, inference
batch    = 1, 4, 16
image    = 64, 128, 224
END
"$LAYERMETER_BIN/layermeter" calibrate "$work/sweep.ini" --quiet -o "$work/onednn.csv"
python=
for each in python3 /usr/bin/python3; do
    [ -n "$python" ] || ! "$each" -c 'import torch, torchvision' 2>/dev/null || python=$each
done
if [ -n "$python" ]; then
    "$python" "$here/../../examples/pytorch/collect.py" "$@" --phases training,inference --batch 1,4,16 --image 64,128,224 --threads 1 \
        --precision 0.02 --max-repeats 15 --seconds 3 -o "$work/pytorch.csv" >/dev/null
else
    echo "PyTorch is not installed: apt-get install python3-torchvision" >&2
fi

echo "library,network,input,batch,training_s,evaluation_s,ratio"
for each in onednn pytorch; do
    [ ! -e "$work/$each.csv" ] || awk -F, -v library=$each '
        /^#/ { next }
        !head { for (i = 1; i <= NF; i++) at[$i] = i; head = 1; next }
        $at["kind"] != "network" { next }
        { key = $at["name"] "," $at["input"] "," $at["batch"] }
        $at["phase"] == "forward" { training[key] = $at["seconds"] }
        $at["phase"] == "inference" { if (!(key in evaluation)) order[n++] = key; evaluation[key] = $at["seconds"] }
        END {
            for (i = 0; i < n; i++) {
                key = order[i]
                if (!(training[key] > 0 && evaluation[key] > 0)) continue
                ratio = evaluation[key] / training[key]
                printf "%s,%s,%.6f,%.6f,%.2f\n", library, key, training[key], evaluation[key], ratio
                split(key, part, ",")
                if (!(part[1] in least) || ratio < least[part[1]]) least[part[1]] = ratio
                if (ratio > most[part[1]]) most[part[1]] = ratio
            }
            for (name in least) printf "# %s %s: %.2f to %.2f\n", library, name, least[name], most[name]
        }' "$work/$each.csv"
done

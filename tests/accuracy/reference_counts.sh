#!/bin/sh
# Networks that torchvision does not have, against modules of PyTorch written from what was published; skips without it.
set -eu

python=${LAYERMETER_PYTHON:-/usr/bin/python3}
"$python" -c "import torch" 2>/dev/null || { echo "skipped: no torch for $python"; exit 77; }
"$python" "$(dirname -- "$0")/reference_counts.py" "$LAYERMETER_BIN/layermeter" "$@"

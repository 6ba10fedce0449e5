#!/bin/sh
# run.sh PACKAGE_FOLDER LIBRARY COMPILER SANITIZED(0|1)
# The Python package with Debian's python3. What needs PyTorch, pandas or matplotlib skips where these are absent.
set -eu

python=/usr/bin/python3
[ -x $python ] || { echo "skipped: no $python"; exit 77; }
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PYTHONPATH=$1
PYTHONDONTWRITEBYTECODE=1
LAYERMETER_LIBRARY=$2
LAYERMETER_CC=$3
LAYERMETER_SANITIZED=$4
MPLBACKEND=agg
MPLCONFIGDIR=$work
export PYTHONPATH PYTHONDONTWRITEBYTECODE LAYERMETER_LIBRARY LAYERMETER_CC LAYERMETER_SANITIZED MPLBACKEND MPLCONFIGDIR
if [ "$4" = 1 ]; then # their run time is to be there first; what Python itself never frees is not ours
    LD_PRELOAD=$("$3" -print-file-name=libasan.so)
    ASAN_OPTIONS=detect_leaks=0
    export LD_PRELOAD ASAN_OPTIONS
fi
cd "$work"
exec $python -W error -m unittest discover -s "$here" -p 'test_*.py'

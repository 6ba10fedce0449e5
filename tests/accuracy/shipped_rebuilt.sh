#!/bin/sh
# The shipped machine files are what the data and this program make of them. Reads $LAYERMETER_DATA; skips where its data sets are absent.
set -u
source=${LAYERMETER_SOURCE:?}
data=${LAYERMETER_DATA:-$source/../shared/data}
[ -r "$data/timm/networks.csv.gz" ] || { echo "skipped: no $data/timm/networks.csv.gz (set LAYERMETER_DATA)"; exit 77; }
LAYERMETER_DATA=$data exec python3 -B "$source/configs/machines/build/build.py" --check --program "${LAYERMETER_BIN:?}/layermeter"

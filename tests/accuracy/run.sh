#!/bin/sh
# The exam: how far predictions are off on published and own measurements, beside baselines, published figures and targets.
#
#   tests/accuracy/run.sh                   all data sets, under a quarter of an hour on two cores
#   tests/accuracy/run.sh torch_cpu timm    these
#   tests/accuracy/run.sh --csv exam.csv    every figure, also those of single networks and settings
#   tests/accuracy/run.sh --seed 3          other parts at random: what of a figure is luck
#   tests/accuracy/run.sh --quick           a part, compared with expected.csv: fails if a figure is a tenth worse
#   tests/accuracy/run.sh --quick --update  writes expected.csv
#
# LAYERMETER_DATA     folder of the data sets; default: ../shared/data beside the project. What is not there is skipped
# LAYERMETER_HELDOUT  another folder of the same layout: fitted on the first, scored on this
# LAYERMETER_BIN      folder of the program; default: build/bin
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd) || exit 1
command -v python3 >/dev/null || {
    echo "skipped: no python3"
    exit 77
}
LC_ALL=C PYTHONDONTWRITEBYTECODE=1 exec python3 "$here/exam/main.py" "$@"

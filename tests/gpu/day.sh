#!/bin/sh
# A GPU's first day, in three calls of at most ten minutes each. The last line of a call names the next one.
#   1   sanity: products and copies are as fast as the datasheet says; smoke: every kind of kernel runs; kernels:
#       each computes what a CPU does
#   2   sweep: a quick calibration; nccl: all-reduces between several GPUs; sanitizer: kernels under compute-sanitizer
#   3   torch: PyTorch's times beside ours and beside predictions, if PyTorch is installed; machine: the machine file
# A call whose time is over before its work is done exits with 124. Give the same call again: it goes on there.
# usage: tests/gpu/day.sh [-o FOLDER] 1|2|3       options and variables are those of run.sh; SWEEP is quick-gpu
set -eu

folder=
if [ "${1:-}" = -o ] && [ $# -eq 3 ]; then
    folder=$2
    shift 2
fi
[ $# -eq 1 ] || set -- none
case $1 in
1) stages="build sanity smoke kernels" ;;
2) stages="build sanity smoke sweep nccl sanitizer" ;;
3) stages="build sanity smoke sweep torch machine" ;;
*)
    sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
SWEEP=${SWEEP:-quick-gpu}
export SWEEP
status=0
# shellcheck disable=SC2086
"$(dirname "$0")/run.sh" ${folder:+-o "$folder"} $stages || status=$?
case $status-$1 in
0-[12]) echo "-- next: day.sh $(($1 + 1))" >&2 ;;
0-3) echo "-- the day is over" >&2 ;;
124-*) echo "-- next: day.sh $1 again" >&2 ;;
esac
exit $status

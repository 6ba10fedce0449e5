#!/bin/sh
# A GPU's first day, in three calls of at most ten minutes each; what one has not ended the same call goes on with.
#   1   it is as fast as its datasheet says (sanity), all runs (smoke), and computes what a CPU does (kernels)
#   2   a quick calibration, with several GPUs their all-reduces, and the kernels under compute-sanitizer
#   3   PyTorch's times beside ours and the predictions, where it is, and the machine file to keep
# usage: tests/gpu/day.sh [-o FOLDER] 1|2|3       all else is that of run.sh, but for SWEEP (default quick-gpu)
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

#!/bin/sh
# An installed tree works from wherever it is moved to, with nothing of the build: programs find plugins,
# networks and sweeps from their own place.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$LAYERMETER_BUILD" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/moved"
unset LAYERMETER_PLUGIN_PATH LAYERMETER_MODEL_PATH
cd "$work"
moved/bin/layermeter show resnet18 --totals | grep -q '11,689,512'
moved/bin/layermeter layers conv2d | grep -q "$work/moved/lib"
sweep=$(find moved -name quick.ini)
moved/bin/layermeter-calibrate "$sweep" --dry-run | grep -q 'squeezenet1_1'
moved/bin/layermeter plan resnet18 --model paleo --device 'H100 SXM' --instance p5.48xlarge --nodes 1 | grep -q '55.04 USD per node-hour'
for header in types kernel plugin error; do
    [ -f "moved/include/layermeter/$header.h" ]
done
! grep -rlF "$LAYERMETER_SOURCE" moved/share moved/include

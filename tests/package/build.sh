#!/bin/sh
# Another way to build must work as well: build.sh clang | minimal
export CMAKE_GENERATOR=Ninja # there may be no make
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case $1 in
clang) # the other compiler, of the tests too; all warnings are errors
    command -v clang >/dev/null || { echo "skipped: no clang"; exit 77; }
    set -- -DCMAKE_C_COMPILER=clang -DLAYERMETER_TESTS=ON -DLAYERMETER_WITH_PAGE=OFF
    if command -v ld.gold >/dev/null; then # some 200 programs in half the time
        set -- "$@" -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=gold
    fi
    has="onednn"
    ;;
minimal) # with what is needed alone, without cmocka too: what is left must say what it lacks
    cat >"$work/pkg-config" <<'END'
#!/bin/sh
case " $* " in *" cmocka "*) exit 1 ;; esac
exec pkg-config "$@"
END
    chmod +x "$work/pkg-config"
    # gcc sees lengths of texts only where it optimizes
    set -- -DCMAKE_C_FLAGS_DEBUG="-O0 -Wno-format-truncation" "-DPKG_CONFIG_EXECUTABLE=$work/pkg-config" -DLAYERMETER_TESTS=AUTO -DLAYERMETER_WITH_MPI=OFF -DLAYERMETER_WITH_ONEDNN=OFF -DLAYERMETER_WITH_JSON=OFF \
        -DLAYERMETER_WITH_ONNX=OFF -DLAYERMETER_WITH_SQLITE=OFF -DLAYERMETER_WITH_ZLIB=OFF -DLAYERMETER_WITH_CUDA=OFF -DLAYERMETER_WITH_NCCL=OFF \
        -DLAYERMETER_WITH_XGBOOST=OFF -DLAYERMETER_WITH_PAGE=OFF
    has="sim"
    ;;
esac
# That it builds is the question: without optimization and symbols. The wheel is the build with -O3.
cmake -S "$LAYERMETER_SOURCE" -B "$work/build" -G Ninja -DLAYERMETER_TESTS=OFF -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 "$@" >"$work/log" 2>&1 &&
    ninja -C "$work/build" >>"$work/log" 2>&1 || { tail -n 30 "$work/log"; exit 1; }
unset LAYERMETER_PLUGIN_PATH LAYERMETER_MODEL_PATH
"$work/build/bin/layermeter" show resnet50 --totals | grep -q '25,557,032'
if [ $has = sim ]; then
    grep -q '^-- No tests: cmocka was not found' "$work/log"
    if cmake -S "$LAYERMETER_SOURCE" -B "$work/tests" "$@" -DLAYERMETER_TESTS=ON >"$work/refusal" 2>&1; then exit 1; fi
    grep -q 'LAYERMETER_TESTS=ON, but cmocka was not found' "$work/refusal"
    ! "$work/build/bin/layermeter-calibrate" "$LAYERMETER_SOURCE/configs/sweeps/quick.ini" --dry-run \
        2>"$work/refusal"
    cat "$work/refusal"
    grep -q "this build has no backend 'onednn' (it has: sim)" "$work/refusal"
    [ "$(wc -l <"$work/refusal")" = 1 ]
    ! "$work/build/bin/layermeter" import any.onnx 2>"$work/refusal"
    grep -q "any.onnx: this build reads no ONNX files" "$work/refusal"
    [ "$(wc -l <"$work/refusal")" = 1 ]
    ! "$work/build/bin/layermeter" import tensorboard "$LAYERMETER_SOURCE/tests/cli/inputs/run.tfevents" \
        --region step=resnet18 --fixed batch=32 2>"$work/refusal"
    grep -q "run.tfevents: this build reads no TensorBoard event files" "$work/refusal"
    [ "$(wc -l <"$work/refusal")" = 1 ]
    echo utilization | gzip >"$work/trace.csv.gz"
    ! "$work/build/bin/layermeter" epochs "$work/trace.csv.gz" 2>"$work/refusal"
    grep -q "trace.csv.gz: is gzip, which this build does not read" "$work/refusal"
    [ "$(wc -l <"$work/refusal")" = 1 ]
    ! "$work/build/bin/layermeter" import nsys "$LAYERMETER_SOURCE/tests/cli/inputs/nsys.sqlite" 2>"$work/refusal"
    grep -q "nsys.sqlite: this build reads no SQLite files" "$work/refusal"
    [ "$(wc -l <"$work/refusal")" = 1 ]
    # trees are not grown here, but what others grew predicts
    inputs=$LAYERMETER_SOURCE/tests/cli/inputs
    awk 'BEGIN { print "kind,name,geometry,phase,input,batch,seconds"
        for (i = 0; i < 80; i++)
            printf "layer,linear,features=%d,inference,%d,4,%.9g\n", 100 + i, 900 - i, 1e-4 + 1e-9 * i }' >"$work/o.csv"
    ! "$work/build/bin/layermeter" fit "$work/o.csv" -o "$work/m.ini" --residual on 2>"$work/refusal"
    grep -q "this build grows no trees: install XGBoost" "$work/refusal"
    [ "$(wc -l <"$work/refusal")" = 1 ]
    "$work/build/bin/layermeter" fit "$work/o.csv" -o "$work/m.ini" --residual auto >/dev/null 2>&1
    "$work/build/bin/layermeter" validate "$inputs/dense.csv" --machine "$inputs/dense.ini" --model residual --points \
        --phase inference --format csv | grep -q 'linear,1000,8,1,0.1387[0-9]*,0.13868'
else
    "$work/build/bin/layermeter-calibrate" "$LAYERMETER_SOURCE/configs/sweeps/quick.ini" --dry-run >/dev/null
fi

#!/bin/sh
# A row of 'plan --layouts' is what 'predict --layout' and 'memory --layout' print for it: step, bounds, memory.
. "$(dirname -- "$0")/common.sh"
cp -R "$here/inputs/." "$work" && cd "$work" || exit 1
net=gpt2:layers=4:sequence=128
machine=layout.ini

# column NAME FILE: of its first row; no field in front of it is quoted
column() {
    awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i } NR == 2 { print at ? $at : "none" }' "$2"
}

# same NODES DEVICES OPTIONS...: all rows
same() {
    nodes=$1 devices=$2
    shift 2
    layermeter plan $net --machine "$machine" --optimizer adam --epochs 1 --dataset 10000 --layouts 9 --nodes "$nodes" \
        --devices-per-node "$devices" --format csv "$@" >plan.csv 2>said || fail "plan: $(cat said)"
    sed 1d plan.csv >rows
    while IFS=, read -r _ _ _ words step low high _ bytes _; do
        echo "$words" >>seen
        batch=$(echo "$words" | sed 's/.*mb\([0-9]*\).*/\1/')
        micro=$(echo "$words" | sed 's/.*ga\([0-9]*\).*/\1/')
        plain=$(echo "$words" | sed 's/ mb[0-9]*//; s/ ga[0-9]*//; s/ gb[0-9]*//')
        layermeter predict $net --machine "$machine" --optimizer adam --nodes "$nodes" --devices-per-node "$devices" \
            --layout "$plain" --batch "$batch" --accumulate "$micro" --format csv >step.csv 2>said </dev/null ||
            fail "predict '$words': $(cat said)"
        layermeter memory $net --optimizer adam --layout "$plain ga$micro" --batch "$batch" --format csv >memory.csv 2>said \
            </dev/null || fail "memory '$words': $(cat said)"
        predicted="$(column step_ms step.csv) $(column step_low_ms step.csv) $(column step_high_ms step.csv)"
        [ "$step $low $high" = "$predicted" ] || fail "$words: plan says $step $low $high, predict $predicted"
        [ "$bytes" = "$(column peak_bytes memory.csv)" ] ||
            fail "$words: plan says $bytes bytes, memory $(column peak_bytes memory.csv)"
    done <rows
}

same 1 4 --global-batch 64 --batch 4 --memory 16GB
same 4 4 --global-batch 64 --batch 4 --memory 16GB
same 1 4 --global-batch 64 --batch 4                 # no memory to fit
same 1 4 --global-batch 64 --batch 16 --memory 420MB # passes that run again
same 2 4 --global-batch 2 --batch 4                  # fewer samples than ranks
same 4 1 --global-batch 16 --batch 4 --memory 700MB  # little room behind slow links
{
    cat layout.ini
    printf '\n[layouts]\nrows = 14\n\n[host]\nframework = made up\nrows = 14\noperation = 1e-3, 1e-3, 1e-3 s/operation\nqueue = yes\nlayouts = yes\n'
} >host.ini
machine=host.ini
same 1 4 --global-batch 64 --batch 16 # a host that most layouts wait for
grep -q 'mb16' rows || fail "small batches for a slow host: $(cat rows)"
machine=layout.ini
net=mixtral_8x7b:layers=2:width=256:heads=8:kv_heads=4:intermediate=512:sequence=256
same 2 8 --global-batch 16 --batch 2
same 2 8 --global-batch 16 --batch 2 --memory 140MB
for of in 'pp' 'zero1' 'tp. .* sp' 'interleaved\|zb' 'recompute=full' 'cp. ' 'ulysses' 'ep. ' 'ep.* \(zero3\|fsdp\)' \
    'pp.* \(zero[23]\|fsdp\)' 'fsdp[0-9]' 'balanced'; do
    grep -q "$of" seen || fail "no row has '$of': $(cat seen)"
done

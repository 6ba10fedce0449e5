#!/bin/sh
# --model paleo against what PALEO itself says, from its own network files, imported: FLOPs and traffic of
# every layer of its tables, forward and backward, and every step time of its web page that needs no table of
# cuDNN's choices: 2 networks x 4 devices x 3 links x 3 frameworks x 4 batches x weak and strong scaling x 3
# schemes x 8 numbers of workers. The steps are within 0.7 % and no nearer, since the page was computed before
# PALEO counted the zeros around an input as traffic, as its tables of layers do.
# Reads $LAYERMETER_DATA/paleo2017; skips where it is absent. With the argument `steps` it looks at the steps alone, of which any part
# may be there.
set -eu

data=${LAYERMETER_DATA:-$LAYERMETER_SOURCE/../shared/data}/paleo2017
lm=$LAYERMETER_BIN/layermeter
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ ! -r "$data/step_times.csv.gz" ]; then
    echo "skipped: no $data/step_times.csv.gz (set LAYERMETER_DATA)"
    exit 77
fi
if ! "$lm" show "$data/nets/nin.json" >"$work/out" 2>&1 && grep -q 'this build' "$work/out"; then
    echo "skipped: $(cat "$work/out")"
    exit 77
fi

# What PALEO takes the devices for.
cat >"$work/devices.ini" <<'EOF'
[TITAN_X]
f32       = 6144 GFLOP/s
bandwidth = 336.5 GB/s
[K20]
f32       = 3520 GFLOP/s
bandwidth = 208 GB/s
[K40]
f32       = 4290 GFLOP/s
bandwidth = 288 GB/s
[K80]
f32       = 5600 GFLOP/s
bandwidth = 480 GB/s
EOF

# ---- layers: name, parameters, FLOPs and bytes of both directions
networks='alex_v2 nin overfeat vgg16'
[ "${1:-}" != steps ] || networks=
for network in $networks; do
    table=$data/layers_${network}_TITAN_X_ppp1.csv
    batch=$(awk -F'[,x]' '$1 == "data" { print $3 }' "$table")
    awk -F, 'NR > 1 && $5 > 0 { print $1, $4, $5, $6, $7, $8 }' "$table" >"$work/theirs"
    "$lm" show "$data/nets/$network.json" --batch "$batch" --features paleo --format csv |
        awk -F, 'NR > 1 && $4 > 0 { printf "%s %.0f %.0f %.0f %.0f %.0f\n", $1, $3, $4, $5, $6, $7 }' >"$work/ours"
    diff "$work/theirs" "$work/ours"
    # the sums of the table's times, to its last digit
    "$lm" predict "$data/nets/$network.json" --model paleo --device TITAN_X --devices "$work/devices.ini" \
        --batch "$batch" --format csv >"$work/step"
    awk -F, -v network=$network -v layers="$(wc -l <"$work/ours")" '
        { sub(/\r$/, "") }
        FNR == 1 { for (i = 1; i <= NF; i++) column[FILENAME, $i] = i; next }
        FILENAME == ARGV[1] { forward += $(column[FILENAME, "fwd_ms"]); backward += $(column[FILENAME, "bwd_ms"]); next }
        {
            f = $(column[FILENAME, "forward_ms"]) - forward
            b = $(column[FILENAME, "backward_ms"]) - backward
            if (f * f > 1e-9 || b * b > 1e-9) { print network ": forward " f " ms, backward " b " ms off"; exit 1 }
            print network ": " layers " layers equal, the sums of their times to " (f < 0 ? -f : f) + (b < 0 ? -b : b) " ms"
        }' "$table" "$work/step"
done

# ---- steps: a table of ours for every platform, then all rows of theirs looked up in it
gzip -dc "$data/step_times.csv.gz" | awk -F, 'NR == 1 || $9 == "false"' >"$work/theirs.csv"
awk -F, 'NR > 1 { print $1, $2, $3, $5, $6, $10 }' "$work/theirs.csv" | sort -u >"$work/platforms"
while read -r network gpu link comp comm scheme; do
    case $link in
    ethernet) rate=10Gbit/s ;;
    ethernet20) rate=20Gbit/s ;;
    infiniband) rate=70Gbit/s ;;
    *) echo "what is a $link?"; exit 1 ;;
    esac
    "$lm" predict "$data/nets/$network.json" --model paleo --device "$gpu" --devices "$work/devices.ini" \
        --ppp-comp "$comp" --ppp-comm "$comm" --bandwidth $rate --scheme "$scheme" \
        --batch 1..2048*2 --nodes 1..128*2 --format csv |
        awk -F, -v key="$network,$gpu,$link,$comp,$comm,$scheme" 'NR > 1 { print key "," $1 "," $2 "," $7 }'
done <"$work/platforms" >"$work/ours.csv"
awk -F, '
    FILENAME == ARGV[1] { ours[$1, $2, $3, $4, $5, $6, $7, $8] = $9; next }
    FNR == 1 { next }
    {
        mine = $8 == "weak" ? $7 : int(($7 + $11 - 1) / $11)
        key = $1 SUBSEP $2 SUBSEP $3 SUBSEP $5 SUBSEP $6 SUBSEP $10 SUBSEP $11 SUBSEP mine
        if (!(key in ours)) { print "no step for: " $0; failed = 1; exit }
        off = ours[key] / $12 - 1
        if (off < 0) off = -off
        rows++
        sum += off
        if (off > worst) { worst = off; where = $0 }
    }
    END {
        if (failed) exit 1
        if (!rows) { print "no steps"; exit 1 }
        printf "%d steps, %.3f %% off on average, at most %.3f %% (%s)\n", rows, 100 * sum / rows, 100 * worst, where
        exit !(rows > 10000 && worst <= 0.007)
    }' "$work/ours.csv" "$work/theirs.csv"

# ---- curves say the same: strong scaling, and the speed-up beside theirs
"$lm" scale "$data/nets/nin.json" --model paleo --device K40 --devices "$work/devices.ini" --ppp-comp 0.62 \
    --ppp-comm 0.72 --bandwidth 20Gbit/s --scheme tree --scaling strong --batch 512 --nodes 1..128*2 --format csv 2>/dev/null |
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { print $at["nodes"], $at["step_ms"], $at["speedup"] }' >"$work/curve"
awk -F, '$1 == "nin" && $2 == "K40" && $3 == "ethernet20" && $4 == "tensorflow" && $7 == 512 && $8 == "strong" && $10 == "tree" {
    print $11, $12, $13 }' "$work/theirs.csv" | sort -n | paste -d' ' - "$work/curve" | awk '
    { t = $5 / $2 - 1; s = $6 / $3 - 1; if ($1 != $4 || t * t > 5e-5 || s * s > 5e-5) { print "differs: " $0; exit 1 } n++ }
    END { if (n != 8) exit 1; print "a strong scaling curve of nin: " n " points, times and speed-ups within 0.7 %" }'

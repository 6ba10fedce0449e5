#!/bin/sh
# examples/pytorch/collect.py: what it writes is what layermeter-calibrate would write, and layermeter fit takes it; one and
# two processes, resumed where it was cut, refusals. Skips without PyTorch.
set -u
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
python=/usr/bin/python3
"$python" -c 'import torch' 2>/dev/null || { echo "skipped: no torch for $python"; exit 77; }
PATH=${LAYERMETER_BIN:?}:$PATH
collect=${LAYERMETER_SOURCE:?}/examples/pytorch/collect.py
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cp "$here/../cli/inputs/tiny.ini" "$work" && cd "$work" || exit 1

fail() {
    echo "FAILED: $*"
    exit 1
}
rows() {
    grep -v '^#' "$1"
}
measure() { # options...
    "$python" "$collect" --device cpu --warmup 1 --min-repeats 2 --max-repeats 3 "$@"
}
refused() { # options...: exit 1, one line that says $why, and no file changed
    cp o.csv before.csv
    measure "$@" >out 2>err
    [ $? -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q -e "$why" err || fail "$*: $(cat err)"
    cmp -s o.csv before.csv || fail "$*: changed the file"
}

cat >nets.py <<'END'
import torch


def small():
    return torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 36, 10))


def watched():
    class Watched(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = small()

        def forward(self, x):
            if not self.training and not torch.is_inference_mode_enabled():
                raise RuntimeError("gradients would be kept")
            return self.inner(x)

    return Watched()


def greedy():
    class Greedy(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))

        def forward(self, x):
            if len(x) > 1:
                raise RuntimeError("CUDA out of memory")
            raise ValueError("Expected more than 1 value per channel")

    return Greedy()


def words():
    return torch.nn.Embedding(100, 4)
END

# ---- one process ------------------------------------------------------------------------------------------------------
measure nets:small --name tiny.ini --input 3x8x8 --batch 1..16*2 --optimizer momentum,adam -o o.csv 2>err || fail "$(cat err)"
spec=$(awk -F '|' '$2 ~ /^ column / { on = 1; next } on && !/^\|/ { exit } on && $2 !~ /--/ { gsub(/[` ]/, "", $2); printf "%s%s", sep, $2; sep = "," }' \
    "$LAYERMETER_SOURCE/core/observe/OBSERVATIONS.md")
[ "$(rows o.csv | head -n 1)" = "$spec" ] || fail "other columns than specified: $(rows o.csv | head -n 1)"
[ "$(rows o.csv | wc -l)" -eq $((1 + 5 * 2 * 4)) ] || fail "rows: $(rows o.csv)"
layermeter fit o.csv -o m.ini --format csv >fitted 2>err || fail "fit: $(cat err)"
grep -q '^layermeter,forward,[1-9]' fitted || fail "forward is not fitted: $(cat fitted)"
grep -q 'points is left out: another optimizer' err || fail "optimizers are not told apart: $(cat err)"
grep -q '^program *= *collect.py, PyTorch ' m.ini || fail "the machine file does not say where it is from"
# the four phases are there, and the step is no less than the least of each together
rows o.csv | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    $at["phase"] == "step" { if ($at["min_seconds"] < least * 0.999) exit 1; least = 0; next }
    { least += $at["min_seconds"] }' || fail "steps below the sum of their parts: $(rows o.csv)"

# ---- in evaluation mode -------------------------------------------------------------------------------------------------
measure nets:watched --name tiny.ini --input 3x8x8 --batch 1,4 --phases training,inference --optimizer sgd,adam -o e.csv 2>err ||
    fail "$(cat err)"
[ "$(rows e.csv | cut -d, -f3,5,12,24 | grep -e inference | tr '\n' ' ')" = 'inference,1,,ok inference,4,,ok ' ] || fail "passes: $(rows e.csv)"
[ "$(rows e.csv | wc -l)" -eq $((1 + 2 * (2 * 4 + 1))) ] || fail "rows: $(rows e.csv)"
head -n "$(($(wc -l <e.csv) - 5))" e.csv >f.csv
measure nets:watched --name tiny.ini --input 3x8x8 --batch 1,4 --phases training,inference --optimizer sgd,adam -o f.csv --resume 2>err ||
    fail "resume: $(cat err)"
[ "$(rows f.csv | cut -d, -f1-12)" = "$(rows e.csv | cut -d, -f1-12)" ] || fail "resumed: $(rows f.csv)"
measure nets:watched --name tiny.ini --input 3x8x8 --batch 1..16*2 --phases inference -o i.csv 2>err || fail "$(cat err)"
layermeter fit i.csv -o i.ini --format csv >fitted 2>err || fail "fit: $(cat err)"
grep -q '^convmeter,inference,5' fitted || fail "inference is not fitted: $(cat fitted)"

# ---- of whole numbers: their type is the network's, and no part of the shape --------------------------------------------
cat >words.ini <<'END'
[network]
name = words

[input_ids]
type  = input
shape = 8
dtype = i64

[words]
type       = embedding
vocabulary = 100
width      = 4
END
measure nets:words --name words.ini --input 8:i64 --batch 1..16*2 -o w.csv 2>err || fail "$(cat err)"
[ "$(rows w.csv | sed 1d | cut -d, -f4 | sort -u)" = 8 ] || fail "whole numbers: $(rows w.csv)"
layermeter fit w.csv -o w.ini >fitted 2>err || fail "fit of whole numbers: $(cat err)"

# ---- under autocast --------------------------------------------------------------------------------------------------------
measure nets:small --name tiny.ini --input 3x8x8 --batch 1..16*2 --mixed bf16 -o x.csv 2>err || fail "$(cat err)"
[ "$(rows x.csv | sed 1d | cut -d, -f6,14 | sort -u)" = 'f32,mixed=bf16' ] || fail "autocast: $(rows x.csv)"
layermeter fit x.csv -o x.ini >fitted 2>err || fail "fit: $(cat err)"
grep -q '^settings *= *mixed=bf16$' x.ini || fail "the machine file does not say that it is of autocast"
measure nets:small --name tiny.ini --input 3x8x8 --mixed bf16 --dtype bf16 -o y.csv 2>err && fail "autocast of weights of 16 bit"
grep -q -e '--mixed: has f32 weights' err || fail "$(cat err)"

# ---- forms of the optimizer -----------------------------------------------------------------------------------------------
measure nets:small --name tiny.ini --input 3x8x8 --batch 1 --optimizer momentum,adam --update foreach -o u.csv 2>err || fail "$(cat err)"
[ "$(rows u.csv | sed 1d | cut -d, -f12,14 | sort -u | tr '\n' ' ')" = 'adam,update=foreach momentum,update=foreach ' ] || fail "forms: $(rows u.csv)"

# ---- resumed ----------------------------------------------------------------------------------------------------------
why='o.csv: exists already: --resume continues it, --force replaces it'
refused nets:small --name tiny.ini --input 3x8x8 --batch 1 -o o.csv
cut -d, -f1-16 o.csv | grep -v '^#' | awk -F, '{ $16 = ""; print }' >all
for lines in 5 9 12 "$(wc -l <o.csv)"; do
    head -n "$(($(wc -l <o.csv) - lines))" o.csv >cut.csv
    printf 'network,tiny.ini,forward,3x8x8,1,f32,1,1,,def' >>cut.csv
    measure nets:small --name tiny.ini --input 3x8x8 --batch 1..16*2 --optimizer momentum,adam -o cut.csv --resume 2>err ||
        fail "resume: $(cat err)"
    cut -d, -f1-16 cut.csv | grep -v '^#' | awk -F, '{ $16 = ""; print }' | cmp -s - all || fail "resumed: $(rows cut.csv)"
done
echo 'kind,name' >o.csv
why='o.csv: other columns than this program writes'
refused nets:small --name tiny.ini --input 3x8x8 -o o.csv --resume

# ---- what cannot be ---------------------------------------------------------------------------------------------------
measure nets:greedy --input 8 --batch 1,2 -o g.csv 2>err || fail "$(cat err)"
[ "$(rows g.csv | sed 1d | sed 's/.*,//' | tr '\n' ' ')" = 'skipped-unsupported skipped-memory ' ] || fail "skipped: $(rows g.csv)"

# ---- two processes ----------------------------------------------------------------------------------------------------
port=$((20000 + $$ % 20000))
for bucket in 0 1; do
    for rank in 1 0; do
        RANK=$rank WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port timeout 120 "$python" "$collect" nets:small \
            --device cpu --name tiny.ini --input 3x8x8 --batch 1,2 --bucket-mb $bucket --warmup 1 --min-repeats 2 \
            --max-repeats 3 -o two$bucket.csv >out$rank 2>&1 &
        eval "pid$rank=$!"
    done
    wait "$pid0" && wait "$pid1" || fail "two processes: $(cat out0 out1)"
    port=$((port + 1))
    rows two$bucket.csv | awk -F, -v bucket=$bucket 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["ranks"] != 2 || $at["hosts"] != 1 || $at["bucket_bytes"] != (bucket ? 1048576 : "") || $at["status"] != "ok" { bad = 1 }
        $at["phase"] == "sync" && $at["seconds"] > 0 { n++ }
        END { exit bad || n != 2 || NR != 11 }' || fail "two processes, buckets of $bucket MiB: $(rows two$bucket.csv)"
done
echo "$(rows o.csv | wc -l) $(head -n 3 two1.csv | sed -n 's/^# program: //p')"

#!/bin/sh
# A network that has every class of kernel cuDNN and cuBLASLt make, on a device that is not there: all
# phases and all kernels run, in both layouts, chosen either way, launched one by one and replayed.
. "$(dirname -- "$0")/common.sh"
need_fake
cd "$work" || exit 1

cp "$here/../gpu/smoke_net.ini" net.ini

cat >classes.ini <<'END'
[sweep]
backend     = cudnn
warmup      = 1
min_repeats = 2
max_repeats = 2
layout      = nchw, nhwc
algorithms  = heuristic, autotuned
launch      = stream, graph
dtype       = f32, bf16

[networks]
networks = net.ini
batch    = 1
END
# kind, name and status of the rows
rows() {
    grep -v '^#' "$1" | awk -F, 'NR > 1 { print $1, $2, $NF }'
}

"$fake" classes.ini -o networks.csv --quiet || fail "networks"
[ "$(rows networks.csv | grep -c ' ok$')" -ge 64 ] || fail "a row for each phase and choice"
rows networks.csv | grep -v ' ok$' && fail "networks: not all ran"

sed -e 's/^layout.*/layout = nhwc/' -e 's/^algorithms.*//' -e 's/^launch.*//' -e 's/^dtype.*/dtype = f16/' \
    -e 's/networks\]/kernels]/' classes.ini >kernels.ini
"$fake" kernels.ini -o kernels.csv --quiet || fail "kernels"
rows kernels.csv | grep -v ' ok$' && fail "kernels: not all ran"
for class in conv norm map pool gemm softmax reduce; do
    rows kernels.csv | grep -q "kernel $class" || fail "no $class"
done

# ---- products of 16-bit types that run without tensor cores are flagged, in kernels' rows and networks' ---------
grep 'algorithms=heuristic' networks.csv kernels.csv | grep -q no_tensor_cores && fail "flagged: $(grep no_tensor networks.csv kernels.csv)"
grep '^kernel,gemm' kernels.csv | grep -qv 'cublaslt [^,]* tensor ' && fail "products: $(grep '^kernel,gemm' kernels.csv)"
cat >dense.ini <<'END'
[network]
name = dense
[x]
type  = input
shape = 64
[a]
type     = linear
features = 32
END
printf '[sweep]\nbackend = cudnn\nwarmup = 0\nmin_repeats = 1\nmax_repeats = 1\ndtype = f32, bf16\n[networks]\nnetworks = dense.ini\nbatch = 8\n' >dense_sweep.ini
LAYERMETER_FAKE_NO_TENSOR=1 "$fake" dense_sweep.ini -o dense.csv --quiet || fail "without tensor cores"
grep -v anchor dense.csv >once.csv
for each in 'f32 0' 'bf16 4'; do
    [ "$(grep "^network,.*,${each% *}," once.csv | grep -c no_tensor_cores)" -eq "${each#* }" ] || fail "flags of $each: $(grep '^network' dense.csv)"
done

# ---- PyTorch's math of f32: convolutions as tf32, products as IEEE has them; both would be told, and flagged ----
sed -e 's/^dtype.*/dtype = f32\nmath = torch/' kernels.ini >torch.ini
"$fake" torch.ini -o torch.csv --quiet 2>err || fail "math = torch: $(cat err)"
grep '^kernel,gemm' torch.csv | grep -q ' tensor ' && fail "products: $(grep '^kernel,gemm' torch.csv)"
grep '^kernel,conv' torch.csv | grep -q ' tensor .*math=torch' || fail "convolutions: $(grep '^kernel,conv' torch.csv)"
grep -e no_tensor_cores -e wrong_result torch.csv && fail "flags of math = torch"

# ---- a kernel that a library cannot launch is skipped; the device is as before, and the next one measured ----
sed 's/^warmup.*/&\nverify = none/' kernels.ini >unverified.ini
LAYERMETER_FAKE_REFUSED=1 "$fake" unverified.ini -o refused.csv --quiet 2>err || fail "a launch that is refused: $(cat err)"
rows refused.csv | grep -v ' ok$' | sort -u >skipped
[ "$(cat skipped)" = 'kernel conv skipped-unsupported' ] || fail "a launch that is refused: $(cat skipped)"
[ "$(rows refused.csv | grep -c ' ok$')" -ge "$(($(rows kernels.csv | sort -u | wc -l) - 1))" ] || fail "rows after it: $(rows refused.csv)"

# ---- each kind of kernel beside a CPU's: nothing differs; products and windows that forget something are told, and flagged ----
sed -e 's/^layout.*//' -e 's/^algorithms.*//' -e 's/^launch.*//' classes.ini >small.ini
"$fake" small.ini -o right/ 2>err || fail "verification: $(cat err)"
grep -qx '[1-9][0-9] kinds of kernels agree with a CPU.s, 0 differ, 0 not compared' err || fail "verification: $(cat err)"
grep -q "^# verified: [1-9][0-9] kinds of kernels agree with a CPU's, 0 differ" right/observations.csv || fail "$(grep '^#' right/observations.csv)"
grep -q "^[1-9][0-9] kinds of kernels agree with a CPU's, 0 differ, 0 not compared.$" right/report.txt || fail "report: $(cat right/report.txt)"
grep -q wrong_result right/observations.csv && fail "flagged: $(cat right/observations.csv)"
LAYERMETER_FAKE_WRONG=1 "$fake" small.ini -o wrong.csv --quiet 2>err || fail "a wrong product: $(cat err)"
[ "$(wc -l <err)" -eq 3 ] || fail "a wrong product: $(cat err)"
for pass in forward grad_input grad_weight; do
    grep -q "warning: bf16 gemm $pass: [12] of [12] kinds differ from a CPU's, by 0.[0-9]* where 0.000[0-9]* is allowed: batch=.*; rows with" err ||
        fail "a wrong product: $(cat err)"
done
[ "$(grep -v '^#' wrong.csv | grep -c ',bf16,.*wrong_result.*,ok$')" -eq 4 ] || fail "flags: $(cat wrong.csv)"
grep ',f32,' wrong.csv | grep wrong_result && fail "flags of f32: $(cat wrong.csv)"
LAYERMETER_FAKE_WRONG=2 "$fake" small.ini -o wrong.csv --quiet --force 2>err || fail "a wrong convolution: $(cat err)"
[ "$(grep -c 'warning: .* conv .* differ' err)" -eq 6 ] && [ "$(wc -l <err)" -eq 6 ] || fail "a wrong convolution: $(cat err)"
sed 's/^warmup.*/&\nverify = none/' small.ini >none.ini
LAYERMETER_FAKE_WRONG=1 "$fake" none.ini -o none.csv --quiet 2>err || fail "verify = none: $(cat err)"
grep -q -e wrong_result -e '^# verified' none.csv && fail "verify = none: $(cat none.csv)"
sed 's/^warmup.*/&\nverify = always/' small.ini >always.ini
"$fake" always.ini -o always.csv 2>err && fail "verify = always"
grep -q "always.ini:4: verify: 'always' is none of first none" err || fail "$(cat err)"

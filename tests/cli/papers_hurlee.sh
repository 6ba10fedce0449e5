# The tables of Hur & Lee are printed: of made traces, and of made jobs in the place of the authors' public ones.
#
# LAYERMETER_SOURCE   the source tree
. "$(dirname -- "$0")/common.sh"
source=${LAYERMETER_SOURCE:?}
command -v python3 >/dev/null || skip "no python3"

for paper in convmeter hurlee justus nicolai prenet; do # help, where nothing is built and nothing may be written
    (cd "$work" && PATH=/usr/bin:/bin LAYERMETER_BIN='' "$source/examples/papers/$paper.sh" --help) | grep -q "^usage: examples/papers/$paper.sh" ||
        fail "$paper.sh --help"
    ! (cd "$work" && "$source/examples/papers/$paper.sh" --colour red 2>/dev/null) || fail "$paper.sh takes any option for a folder"
done

LAYERMETER_DATA=$work/none "$source/examples/papers/hurlee.sh" --traces 3 "$work/results" >"$work/out" || fail "without data: exit $?"
grep -q '^published  all 9.6; T4 11.7' "$work/out" || fail "no published figure"
for method in hurlee hurlee-code jenks ruptures layermeter; do
    grep -Eq "^$method +([0-9.]+|-) +([0-9.]+|-) +[0-3]$" "$work/out" || { cat "$work/out"; fail "no row of $method"; }
done
awk '$1 == "layermeter" && $3 < 1 { found = 1 } END { exit !found }' "$work/out" || fail "layermeter is off on plain traces"
grep -q '^Tables 2 to 5 are left out' "$work/out" || fail "does not say what is left out"
grep -q '^hurlee-code  *[0-9.-]' "$work/results/hurlee.html" && grep -q '</html>' "$work/results/hurlee.html" || fail "no page of the tables"

# Jobs of a law: a share of the seconds goes by the peak, the rest by the bandwidth, and is metered.
mkdir -p "$work/data/hurlee2024"
awk 'BEGIN { print "gpu,instance,model,batch,image,training_images,epoch_time_s,gpu_utilization_mean_percent,power_mean_w,samples"
    split("p100 v100 t4 a10g", gpu); split("9.5 15.7 8.1 35", peak); split("732 900 320 600", rate); split("250 300 70 300", watts)
    for (i = 0; i < 6; i++) for (g = 1; g <= 4; g++) {
        m = i % 6 == 5 ? "ResNet50" : "Net" i % 6; s = (i * 3 % 8) / 8; t = 4 + i % 5
        x = t * s * 10 / peak[g]; y = t * (1 - s) * 500 / rate[g]
        printf "%s,i,%s,%d,224,2000,%.5g,%.4g,%.5g,100\n", gpu[g], m, 16 * (1 + i), x + y, 100 * x / (x + y), watts[g] * (0.4 + 0.6 * x / (x + y)) } }' |
    gzip >"$work/data/hurlee2024/training.csv.gz"
if LAYERMETER_DATA=$work/data "$source/examples/papers/hurlee.sh" --traces 1 "$work/results" >"$work/out" 2>"$work/err"; then
    for row in 'T4  *11.7  *[0-9.]+  *[0-9.]+' 'A100  *10.5  *-  *-' 'P100-PCIE-16GB  *-  *[0-9.]+  *[0-9.]+' \
        'static only  *20.1  *[0-9.]+' 'dynamic only  *71.6  *[0-9.]+' 'both  *11.7  *[0-9.]+' 'forest  *-  *[0-9.]+' \
        'xgboost  *-  *[0-9.]+' 'boosted  *-  *[0-9.]+' 'VGG16  *15.1  *10.1  *-  *-' 'ResNet50  *-  *-  *[0-9.]+  *[0-9.]+' \
        'ResNet50-[0-9]*-224  *T4 .* A10G .*0\.[0-9]+'; do
        grep -Eq "^$row$" "$work/out" || { cat "$work/out"; fail "no row '$row'"; }
    done
elif grep -q 'without XGBoost\|XGBoost' "$work/results/learn.log"; then
    skip "built without XGBoost: tables of made traces alone"
else
    cat "$work/out" "$work/err"
    fail "with data: no tables"
fi

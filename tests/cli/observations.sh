#!/bin/sh
# The specification of observations against the programs: the columns in their order, the words, the examples.
#
# LAYERMETER_SOURCE   the source tree
. "$(dirname -- "$0")/common.sh"
need_calibrate
spec=${LAYERMETER_SOURCE:?}/core/observe/OBSERVATIONS.md
cp -R "$here/inputs/." "$work" && cd "$work" || exit 1

# column N of the table whose head begins with $1
table() {
    awk -F '|' -v head="$1" -v n="$2" '$2 ~ "^ " head " $" { on = 1; next } on && !/^\|/ { exit }
        on && $2 !~ /^ *-+ *$/ { print $(n + 1) }' "$spec"
}

# ---- columns -----------------------------------------------------------------------------------
cat >s.ini <<'END'
[sweep]
backend     = sim
min_repeats = 1
max_repeats = 1

[sim]
machine = machine.ini

[networks]
networks = tiny.ini
ranks    = 1, 2

[layers]
type  = relu
input = 8
batch = 1..64
count = 2

[kernels]
networks = tiny.ini
limit    = 2

[collectives]
bytes = 4KiB
END
layermeter-calibrate s.ini -o o.csv --quiet || fail "a simulated sweep"
# seconds stands in the specification where it stands in the file
table column 1 | tr -d '` ' >specified
grep -v '^#' o.csv | head -n 1 | tr ',' '\n' >written
cmp specified written || fail "columns: specified, written: $(diff specified written)"
[ "$(head -n 1 o.csv)" = "# layermeter observations, format $(sed -n '1s/.*format \([0-9]*\)$/\1/p' "$spec")" ] ||
    fail "another format than specified: $(head -n 1 o.csv)"

# which columns are needed: a file without one of them is refused, one without any other is not
cat >least.csv <<'END'
kind,name,phase,seconds,batch,dtype,input
network,tiny.ini,forward,1,1,f32,
END
for column in $(cat specified); do
    awk -F, -v drop="$column" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == drop) at = i }
        { out = ""; for (i = 1; i <= NF; i++) if (i != at) out = out (out == "" ? "" : ",") $i; print out }' \
        least.csv >without.csv
    layermeter fit without.csv -o m.ini 2>err >out
    needed=$(grep -c "^| \`$column\` |[^|]*needed" "$spec")
    missing=$(grep -c "column '$column' is missing" err)
    [ "$needed" -eq "$missing" ] || fail "$column: needed $needed, missing $missing: $(cat err)"
done

# ---- words -------------------------------------------------------------------------------------
# every word that a refusal lists is specified, and every phase of a kind is read
for field in kind dtype optimizer flags; do
    awk -F, -v OFS=, -v field="$field" 'NR == 1 { print $0 ",optimizer,flags"; next } {
        if (field == "kind") $1 = "x"; if (field == "dtype") $6 = "x"
        print $0 "," (field == "optimizer" ? "x" : "") "," (field == "flags" ? "x" : "") }' least.csv >bad.csv
    layermeter fit bad.csv -o m.ini 2>err >out && fail "$field x is read"
    words=$(sed "s/.*is none of //; s/,//g" err)
    for word in $words; do
        grep -q "\`$word\`" "$spec" || fail "$field: '$word' is not specified"
    done
    [ -n "$words" ] || fail "$field: $(cat err)"
done
awk -F '|' '/^\| kind \| `phase`/ { on = 1; next } on && !/^\|/ { exit } on && $3 !~ /--/ {
    kind = $2; gsub(/ /, "", kind); if (kind != "") last = kind; n = split($3, part, ",")
    for (i = 1; i <= n; i++) { gsub(/[` ]/, "", part[i]); print last, part[i] } }' "$spec" >phases
[ "$(wc -l <phases)" -eq 27 ] || fail "phases: $(cat phases)"
while read -r kind phase; do
    printf 'kind,name,phase,seconds,batch,input,bytes,ranks\n%s,n,%s,1,1,8,8,2\n' "$kind" "$phase" >one.csv
    layermeter fit one.csv -o m.ini 2>err >out
    ! grep -q "is none of" err || fail "$kind $phase: $(cat err)"
done <phases

# ---- examples ----------------------------------------------------------------------------------
# each loads: the third is a curve of a job, which two rows make; what fit has to say of the others is that they are few
awk '/^```csv/ { n++; on = 1; next } /^```/ { on = 0 } on { print >"example" n ".csv" }' "$spec"
[ -s example2.csv ] || fail "no examples"
layermeter fit example3.csv -o curve.ini >out 2>err || fail "example3.csv: $(cat err)"
grep -qx 'micro_steps = 1 [.][.] 2' curve.ini || fail "example3.csv: no micro-steps in its curve"
rm example3.csv
for example in example*.csv; do
    layermeter fit "$example" -o m.ini >out 2>err && fail "$example can be fitted"
    grep -Eq 'too few rows: no formula|steps under layouts, a fit to them takes 4 or more' err || fail "$example: $(cat err)"
done
echo "$(wc -l <specified) columns, $(wc -l <phases) phases, $(ls example*.csv | wc -l) examples and a curve"

# Compares the coefficients of one model in two machine files: awk -v model=M -v mode=exact|se T F
# Prints a line for each that is off; the last line counts: compared, off, beyond 2 standard errors,
# without one. mode exact: 1e-9 relative. mode se: 4 stated standard errors.
/^\[/ { section = substr($0, 2, index($0, "]") - 2); next }
index(section, model ".") != 1 { next }
$2 == "=" && $4 ~ /^s\// {
    key = section "." $1
    if (FNR == NR) { truth[key] = $3; next }
    seen[key] = 1
    if ($0 ~ /undetermined/) { undetermined[key] = 1; next }
    distance = $3 - truth[key]
    if (distance < 0) distance = -distance
    size = truth[key] < 0 ? -truth[key] : truth[key]
    compared++
    if (mode == "exact") {
        if (!(distance <= 1e-9 * size)) { off++; print key " is " $3 ", not " truth[key] }
        next
    }
    if (!match($0, /se [^,]*/)) { bare++; next }
    se = substr($0, RSTART + 3, RLENGTH - 3) + 0
    if (distance > 4 * se) { off++; print key " is " $3 ", not " truth[key] ": " distance / se " se" }
    beyond += distance > 2 * se
}
END {
    for (key in truth)
        if (!(key in seen)) { off++; print key " is missing" }
        else if (key in undetermined) { off++; print key " is undetermined" }
    print compared + 0, off + 0, beyond + 0, bare + 0
}

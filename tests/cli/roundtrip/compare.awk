# Compares the coefficients of one model in two machine files: awk -v model=M -v mode=exact|se T F
# mode exact: `tolerance` relative, 1e-9 if it is not given. mode se: 4 stated standard errors; a formula with a coefficient held at 0 is
# set aside, since the errors of its others are stated as if that 0 were known.
# Prints a line for each that is off, then how many: compared, off, beyond 2 standard errors, within a
# tenth of one, formulas set aside.
BEGIN { if (!tolerance) tolerance = 1e-9 }
/^\[/ { section = substr($0, 2, index($0, "]") - 2); next }
index(section, model ".") != 1 { next }
$2 == "=" && $4 ~ /^s\// {
    key = section "." $1
    if (FNR == NR) { truth[key] = $3; next }
    value[key] = $3
    form[key] = section
    if ($0 ~ /undetermined/) undetermined[key] = 1
    if ($0 ~ /bound/) aside[section] = 1
    if (match($0, /se [^,]*/)) se[key] = substr($0, RSTART + 3, RLENGTH - 3) + 0
}
END {
    for (key in truth) {
        if (!(key in value)) { off++; print key " is missing"; continue }
        if (key in undetermined) { off++; print key " is undetermined"; continue }
        if (mode == "se" && form[key] in aside) continue
        distance = value[key] - truth[key]
        if (distance < 0) distance = -distance
        size = truth[key] < 0 ? -truth[key] : truth[key]
        compared++
        if (mode == "exact") {
            if (!(distance <= tolerance * size)) { off++; print key " is " value[key] ", not " truth[key] }
        } else if (!(key in se)) {
            off++
            print key " has no standard error"
        } else {
            if (!(distance <= 4 * se[key])) {
                off++
                print key " is " value[key] ", not " truth[key] ": " distance / se[key] " standard errors"
            }
            beyond += distance > 2 * se[key]
            near += distance < 0.1 * se[key]
        }
    }
    for (section in aside) n_aside++
    print compared + 0, off + 0, beyond + 0, near + 0, n_aside + 0
}

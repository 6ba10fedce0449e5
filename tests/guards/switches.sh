#!/bin/sh
# switches.sh SOURCE_FOLDER
# The compiler tells a switch that lacks a value of an enumeration (-Wswitch-enum). It cannot for the integers of the
# plugin ABI (lm_op, lm_pass, lm_dtype, lm_kind), unless they are cast: switch ((enum lm_ops)k->op). And over names of
# values a default would take in those of tomorrow: it says what else there is, "default: /* open: ... */".
set -eu
cd "$1"
find core calibrate plugins -name '*.[ch]' | sort | xargs awk '
    FNR == 1 { at = 0; named = 0 }
    /switch \(/ { at = FNR; head = $0; named = 0 }
    /^ *case LM_/ && at { if (head !~ /switch \(\(enum lm_/) { print FILENAME ":" at ":" head; failed = 1 } at = 0 }
    /^ *case [A-Z][A-Z0-9_]*:/ { named = 1 }
    /^ *default:/ { if (named && $0 !~ /^ *default: \/\* open: /) { print FILENAME ":" FNR ":" $0; failed = 1 } named = 0 }
    END { if (failed) print "cast to the enumeration, and name its values, so that none can be forgotten"; exit failed }'

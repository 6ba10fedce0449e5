#!/bin/sh
# switches.sh SOURCE_FOLDER
# The compiler tells a switch that lacks a value of an enumeration (-Wswitch-enum). It cannot for the integers of the
# plugin ABI (lm_op, lm_pass, lm_dtype, lm_kind), unless they are cast: switch ((enum lm_ops)k->op).
set -eu
cd "$1"
find core calibrate plugins -name '*.[ch]' | sort | xargs awk '
    FNR == 1 { at = 0 }
    /switch \(/ { at = FNR; head = $0 }
    /^ *case LM_/ && at { if (head !~ /switch \(\(enum lm_/) { print FILENAME ":" at ":" head; failed = 1 } at = 0 }
    END { if (failed) print "cast to the enumeration, so that no value can be forgotten"; exit failed }'

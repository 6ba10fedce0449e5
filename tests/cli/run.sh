#!/bin/sh
# Golden tests: runs each cases/NAME.case and compares with NAME.expected.
#
#   run.sh [--regenerate] [NAME...]
#
# A case is text:
#   # why                    any number of lines
#   $ command                shell; all but the last prepare, the last one is tested
#   --- FILE                 a file of the case, up to the next such line
#   --- FILE printf          the same through printf '%b', for bytes that are no text
# It runs in a copy of inputs/, with the programs in PATH and FAKES naming the folder of the fake plugins.
# The expected file holds the exit status, both outputs, and every file that the command made or changed.
# Beyond the text, of every command that fails: it says one line on stderr and nothing on stdout, and
# leaves the folder as it was. A command of misuse may not even read its files: exit 2.
#
# LAYERMETER_BIN     folder of the programs
# LAYERMETER_BUILD   build folder; its path is printed as @BUILD@
# FAKES              folder of the fake plugins
# HAVE_ONNX          OFF: this build reads no ONNX, and cases of such files are passed over
# HAVE_SQLITE        the same of SQLite
. "$(dirname -- "$0")/common.sh"
: "${LAYERMETER_BUILD:?}" "${FAKES:?}"
export LAYERMETER_BIN LAYERMETER_BUILD FAKES
python3 -B "$here/golden.py" "$@"

#!/usr/bin/env bash
# Runs a command that runs all tests on the servers of PGSLUICE_TEST_MAJORS, and fails if they have left out
# anything but what tests/skips.txt lists for these.
set -euo pipefail

if [ $# -eq 0 ]; then
    echo "usage: count_skips.sh COMMAND [ARGUMENT...]" >&2
    exit 2
fi

list=$(cd "$(dirname "$0")/.." && pwd)/tests/skips.txt
PGSLUICE_TEST_SKIPS=$(mktemp "${TMPDIR:-/tmp}/pgsluice-skips.XXXXXX")
export PGSLUICE_TEST_SKIPS
trap 'rm -f "$PGSLUICE_TEST_SKIPS"' EXIT

"$@"

majors=${PGSLUICE_TEST_MAJORS:-15 18}
if ! diff --unified=0 --label expected --label found \
    <(grep -E "::pg(${majors// /|})::" "$list" | LC_ALL=C sort) <(LC_ALL=C sort "$PGSLUICE_TEST_SKIPS"); then
    echo "count_skips: other tests were left out than tests/skips.txt lists" >&2
    exit 1
fi
echo "$(wc -l <"$PGSLUICE_TEST_SKIPS") left out on $majors, as tests/skips.txt lists them"

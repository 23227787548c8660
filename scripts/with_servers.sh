#!/usr/bin/env bash
# Runs a command with one throw-away PostgreSQL for each major version in PGSLUICE_TEST_MAJORS
# (default "15 18"), and removes them afterwards, whatever happens. The command finds
# PGSLUICE_TEST_URL_15 and PGSLUICE_TEST_BIN_15 (the programs' directory) and so on in its
# environment, pg_dump in PGSLUICE_TEST_PG_DUMP and pgbouncer in PGSLUICE_TEST_PGBOUNCER; its status is this
# script's. PGSLUICE_PROGRAM names the program that starts the servers; without it, the debug build is used,
# and made first.
set -euo pipefail

if [ $# -eq 0 ]; then
    echo "usage: with_servers.sh COMMAND [ARGUMENT...]" >&2
    exit 2
fi

scripts=$(cd "$(dirname "$0")" && pwd)
if [ -z "${PGSLUICE_PROGRAM:-}" ]; then
    (cd "$scripts/.." && cargo build --locked --quiet -p pgsluice-cli)
    target=${CARGO_TARGET_DIR:-$scripts/../target}
    PGSLUICE_PROGRAM=$(cd "$target" && pwd)/debug/pgsluice
fi

# In memory, where there is room and programs may run: each test creates and drops a database of some 300 files, and the
# tests of routing run 1.5 times as fast there as on ext4.
memory=/dev/shm
if [ -z "${TMPDIR:-}" ] && [ -w "$memory" ] &&
    [ "$(df --output=avail -k "$memory" | tail -1)" -ge $((8 << 20)) ] &&
    findmnt --noheadings --output OPTIONS --target "$memory" | grep -qvw noexec; then
    export TMPDIR=$memory
fi
place=$(mktemp -d "${TMPDIR:-/tmp}/pgsluice-test.XXXXXX")
chmod 755 "$place" # as root, the servers run as another user, who must pass through

clean_up() {
    trap '' INT TERM
    for data in "$place"/server-*; do
        "$PGSLUICE_PROGRAM" server stop --data "$data" 2>/dev/null || true
    done
    rm -rf "$place"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

export PGSLUICE_TEST_MAJORS=${PGSLUICE_TEST_MAJORS:-15 18}
for major in $PGSLUICE_TEST_MAJORS; do
    bin=$(python3 "$scripts/fetch_postgres.py" --full "$major")
    # Its own home, so that a copy of the programs that it may need goes away as well.
    url=$(PGSLUICE_HOME="$place/home" "$PGSLUICE_PROGRAM" server start \
        --data "$place/server-$major" --bin "$bin" \
        --set fsync=off --set full_page_writes=off --set synchronous_commit=off \
        --set shared_buffers=256MB --set max_connections=200 --set max_prepared_transactions=40)
    export "PGSLUICE_TEST_BIN_$major=$bin" "PGSLUICE_TEST_URL_$major=$url"
done

# The pg_dump of the newest server reads all of them, and many servers come without one.
tools=$(python3 "$scripts/fetch_postgres.py" 18)
export PGSLUICE_TEST_PG_DUMP=$tools/pg_dump

pgbouncer=$(python3 "$scripts/fetch_pgbouncer.py")
export PGSLUICE_TEST_PGBOUNCER=$pgbouncer

# In a process group of its own and waited for, so that a signal to this script alone is passed on
# at once; a command in the foreground would hold it up.
set -m
"$@" <&0 &
child=$!
set +m
trap 'kill -INT -- "-$child" 2>/dev/null' INT
trap 'kill -TERM -- "-$child" 2>/dev/null' TERM

status=0
while true; do
    wait "$child" && status=0 || status=$?
    kill -0 "$child" 2>/dev/null || break
done
exit "$status"

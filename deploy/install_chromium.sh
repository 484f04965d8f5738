#!/bin/sh
# Install Debian's Chromium for the browser tests where that is possible without asking: as root, with apt-get.
#
# It never fails: without a browser the tests are skipped and say how to get one, and under CI they fail.
set -u

for program in "${WA_CHROMIUM:-}" chromium chromium-browser google-chrome; do
    [ -n "$program" ] && command -v "$program" >/dev/null 2>&1 && exit 0
done
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 || exit 0

echo "Installing Chromium for the browser tests (once, a minute or so)"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
if apt-get install -y -q --no-install-recommends chromium >"$log" 2>&1 ||
    { apt-get update -q && apt-get install -y -q --no-install-recommends chromium; } >>"$log" 2>&1; then
    rm -f "$log"
else
    echo "Chromium couldn't be installed: $(grep '^E:' "$log" | head -1) (see $log)"
fi
exit 0

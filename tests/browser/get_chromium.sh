#!/bin/sh
# Chromium and its driver, from the system's packages where they are missing.
set -eu

have_browser() {
    command -v chromedriver >/dev/null || return 1
    for name in chromium chromium-browser google-chrome google-chrome-stable; do
        command -v "$name" >/dev/null && return 0
    done
    return 1
}

give_up() {
    echo "make browser: Chromium and chromedriver are missing, and $1. Install both from your" \
        "system's packages, such as 'apt-get install chromium chromium-driver', and try again." >&2
    exit 1
}

have_browser && exit 0
command -v apt-get >/dev/null || give_up "there is no apt-get here"
if [ "$(id -u)" -eq 0 ]; then
    as_root=""
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root="sudo -n"
else
    give_up "installing them needs root"
fi
echo "Installing Chromium from the system's packages (once)"
log="$(mktemp)"
if ! { $as_root apt-get update && $as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install --yes --no-install-recommends chromium chromium-driver; } >"$log" 2>&1; then
    cat "$log" >&2
    give_up "apt-get could not install them"
fi
rm -f "$log"
have_browser || give_up "apt-get did not bring them"

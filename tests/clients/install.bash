# What the scripts that run foreign programs share; sourced. Foreign programs go to a folder outside the repository, by their
# registries' ordinary installers. One that cannot be installed is named on stdout and left out.

cache="${XDG_CACHE_HOME:-$HOME/.cache}/thermocline-peers"
repository="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"

# python_from MINOR: a Python of at least 3.MINOR that makes virtual environments; fails if there is none.
python_from() {
    local python
    for python in python3 python3.{9..20}; do
        if "$python" -c "import sys, venv; sys.exit(sys.version_info < (3, $1))" 2>/dev/null; then
            command -v "$python"
            return
        fi
    done
    return 1
}

# by_pip FOLDER PACKAGE VERSION MINOR: installs a package into a virtual environment of its own under FOLDER.
by_pip() {
    local python mark="$1/$2/installed-$3"
    [[ -f "$mark" ]] && return
    python="$(python_from "$4")" || {
        echo "skipped: $2 needs Python 3.$4 with venv"
        return 1
    }
    mkdir -p "$1"
    "$python" -m venv --clear "$1/$2" &&
        "$1/$2/bin/python" -m pip install --quiet --disable-pip-version-check "$2==$3" &&
        touch "$mark" && return
    echo "skipped: $2 $3 could not be installed"
    return 1
}

# by_cargo FOLDER PACKAGE VERSION: compiles a program into FOLDER/PACKAGE/bin.
by_cargo() {
    [[ -x "$1/$2/bin/$2" ]] && return
    mkdir -p "$1"
    cargo install --quiet --locked --root "$1/$2" "$2@$3" && return
    echo "skipped: $2 $3 could not be installed"
    return 1
}

# Builds thermocline; its path, wherever cargo puts it.
thermocline() {
    cargo build --locked --release --quiet --manifest-path "$repository/Cargo.toml" --message-format json |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1
}

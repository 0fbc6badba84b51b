#!/bin/sh
# Lints manifests in a pipeline. action.yml and .pre-commit-hooks.yaml run this script and do nothing else.
#
#	lint.sh PATH...    # files and folders; without any, those of FILES, a path a line
#
# SARIF     writes the findings as SARIF to this file too
# BASELINE  leaves out the findings of this earlier answer (podberth lint -o json)
# CLUSTER   holds the manifests against this dump of the cluster
# PODBERTH  is the program; without it the script builds the one beside it, which needs Go
#
# The exit codes are those of podberth lint: 0 no error, 1 an error was found, 2 bad input.
set -eu

if [ -z "${PODBERTH:-}" ]; then
	folder=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
	tmp=$(mktemp -d)
	trap 'rm -rf "$tmp"' EXIT
	PODBERTH=$tmp/podberth
	(cd "$folder" && go build -o "$PODBERTH" .) || exit 2
fi

if [ $# -eq 0 ]; then
	set -f
	IFS='
'
	# shellcheck disable=SC2086 # a word a line
	set -- ${FILES:-}
	unset IFS
	set +f
fi
n=$#
while [ "$n" -gt 0 ]; do
	set -- "$@" -f "$1"
	shift
	n=$((n - 1))
done
[ -z "${CLUSTER:-}" ] || set -- "$@" --cluster "$CLUSTER"
[ -z "${BASELINE:-}" ] || set -- "$@" --baseline "$BASELINE"

code=0
"$PODBERTH" lint -A "$@" || code=$?
if [ -n "${SARIF:-}" ] && [ "$code" -le 1 ]; then
	"$PODBERTH" lint -A "$@" -o sarif >"$SARIF" 2>/dev/null || [ $? -eq 1 ] || exit 2
fi
exit "$code"

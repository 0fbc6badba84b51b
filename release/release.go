// Package release has the Kubernetes minor releases that podberth can follow, and what differs between them. It is a leaf:
// it imports nothing.
//
//	profile := placement.PluginArgs{Release: release.V1_35}.Profile() // decides as kube-scheduler v1.35 does
//	for _, d := range release.Between(release.V1_35, release.V1_37) {
//		fmt.Println(d.ID, d.Sentence)
//	}
//
// Options with a field Release follow that release. The zero [Version] is [Current], so that options which name no release
// give the answers of v1.37. A release is the whole control plane and the kubelet of that minor version with default feature
// gates; [Version.Patch] names the patch release. Components of different versions in one cluster need different options. What
// all packages promise is said in [github.com/podberth/podberth].
//
// Formulas of releases before v1.34 are in package history. docs/fidelity/versions is the table of the differences.
package release

import (
	"fmt"
	"strconv"
	"strings"
)

// Version is a minor release of Kubernetes. The zero value is [Current].
type Version uint8

// The releases. Other numbers are accepted and compared as numbers; [Version.Known] reports false for them.
const (
	V1_34 Version = 34
	V1_35 Version = 35
	V1_36 Version = 36
	V1_37 Version = 37
)

// Current is the release that options without a Release follow, v1.37. It is the zero [Version].
const Current Version = 0

// current is what Current stands for. A release behind it is an option and not the default.
const current = V1_37

// patches has the patch release of each of Versions that podberth is held against. A new release is one constant above and one line here.
var patches = [...]string{
	"v1.34.4",
	"v1.35.4",
	"v1.36.3",
	"v1.37.2",
}

// The first and the last of Versions, and their number.
const (
	releases = Version(len(patches))
	oldest   = V1_34
	newest   = oldest + releases - 1
)

// minor returns the number behind "1.".
func (v Version) minor() Version {
	if v == Current {
		return current
	}
	return v
}

// AtLeast reports whether v is the release w or a later release. Current counts as v1.37.
func (v Version) AtLeast(w Version) bool { return v.minor() >= w.minor() }

// Known reports whether v is one of [Versions], or [Current].
func (v Version) Known() bool { return v.AtLeast(oldest) && newest.AtLeast(v) }

// String returns the release as "1.36".
func (v Version) String() string { return "1." + strconv.Itoa(int(v.minor())) }

// Patch returns the patch release that podberth is held against, such as "v1.37.2"; "" for a release that is not Known.
func (v Version) Patch() string {
	if !v.Known() {
		return ""
	}
	return patches[v.minor()-oldest]
}

// Versions returns the releases that podberth can follow, the oldest first, as a new slice.
func Versions() []Version {
	out := make([]Version, 0, releases)
	for v := oldest; v <= newest; v++ {
		out = append(out, v)
	}
	return out
}

// Parse reads a release: "1.36", "v1.36", "1.36.3" or "v1.36.3-gke.100" are [V1_36]. "" is [Current]. The error names the text and
// the releases that are known.
func Parse(text string) (Version, error) {
	if text == "" {
		return Current, nil
	}
	var known []string
	for _, v := range Versions() {
		if isOf(text, v.String()) {
			return v, nil
		}
		known = append(known, v.String())
	}
	last := len(known) - 1
	return Current, fmt.Errorf("release %q: known are %s and %s", text, strings.Join(known[:last], ", "), known[last])
}

// isOf reports whether a text names a version of a minor release.
func isOf(text, minor string) bool {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(text, "v"), minor)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '+' || rest[0] == '-')
}

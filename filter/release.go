package filter

import (
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/release"
)

// This file has the differences between releases in NodeResourcesFit.

// devicesServe reports whether devices can serve an extended resource that a node does not have, as since v1.36 (rule L3.3).
func devicesServe(v release.Version) bool { return v.AtLeast(release.V1_36) }

// held returns the options with which a pod on a node counts (rules L4.1 to L4.3).
func held(v release.Version) overhead.Options {
	return overhead.Options{UseStatus: true, Release: v}
}

package testkit

import "github.com/podberth/podberth/release"

// ByRelease is what the releases do, in the order of release.Versions. A release behind the end of the list does what the last one does.
type ByRelease[T any] []T

// In returns what a release does.
func (b ByRelease[T]) In(v release.Version) (does T) {
	for i, known := range release.Versions() {
		if i == len(b)-1 || known.AtLeast(v) {
			return b[i]
		}
	}
	return does
}

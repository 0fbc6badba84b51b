package trial

import (
	"testing"

	"k8s.io/component-base/version"
)

// The library follows the release whose code is linked: a move to the next version changes both.
func TestLinked(t *testing.T) {
	if Linked.String() != version.DefaultKubeBinaryVersion {
		t.Fatalf("follows %s beside %s", Linked, version.DefaultKubeBinaryVersion)
	}
}

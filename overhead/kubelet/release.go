package kubelet

import "github.com/podberth/podberth/release"

// sidecarsDeclare reports whether the limits of earlier sidecars count for an init container, as up to v1.36 (rule L12.10).
func sidecarsDeclare(v release.Version) bool { return !v.AtLeast(release.V1_37) }

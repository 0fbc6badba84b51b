package preemption

import "github.com/podberth/podberth/release"

// deletesAgain reports whether victims that are leaving already are deleted again, as in v1.34 (rule L8.4).
func deletesAgain(v release.Version) bool { return !v.AtLeast(release.V1_35) }

package pressure

import "github.com/podberth/podberth/release"

// limitsSidecars reports whether a sidecar's own ephemeral-storage limit counts, as in v1.37 (rule L12.2).
func limitsSidecars(v release.Version) bool { return v.AtLeast(release.V1_37) }

package preemption

import "github.com/podberth/podberth/release"

// deletesAgain reports whether victims that are leaving already are deleted again, as in v1.34 (rule L8.4).
func deletesAgain(v release.Version) bool { return !v.AtLeast(release.V1_35) }

// quietDevices reports whether DynamicResources says nothing when it did nothing, as since v1.37 (rule L6.1).
func quietDevices(v release.Version) bool { return v.AtLeast(release.V1_37) }

// namesFoundNode reports whether the message names the node that preemption found, as since v1.37 (rule L6.2).
func namesFoundNode(v release.Version) bool { return v.AtLeast(release.V1_37) }

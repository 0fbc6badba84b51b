package volumes

import "github.com/podberth/podberth/release"

// This file has the differences between releases in the volume filters.

// requiresDrivers reports whether NodeVolumeLimits rejects a node without a driver whose CSIDriver asks for that, as v1.37 does
// (rule L3.1).
func requiresDrivers(o Options) bool {
	return o.Release.AtLeast(release.V1_37) && !o.WithoutLimitScaling
}

// countsPortworx reports whether in-tree Portworx volumes count on a node with a CSINode, as since v1.36. Before, the CSINode had to
// list the plugin as migrated (rule L3.2).
func countsPortworx(v release.Version, u *slotUsage) bool {
	return v.AtLeast(release.V1_36) || portworx.among(u.migrated)
}

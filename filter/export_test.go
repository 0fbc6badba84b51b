package filter

import "github.com/podberth/podberth/internal/engine"

// The hints, for the tests.
var (
	FitHint           = fitHint
	PortsWouldHelp    = portsWouldHelp
	NodeNameWouldHelp = nodeNameWouldHelp
	FeaturesWouldHelp = featuresWouldHelp
)

// DeviceClass is what FitHint reads of a device class.
type DeviceClass = engine.DeviceClass

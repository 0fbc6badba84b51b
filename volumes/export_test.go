package volumes

// The hints, for the tests.
var (
	RestrictionsWouldHelp = restrictionsWouldHelp
	LimitsWouldHelp       = limitsWouldHelp
	BindingWouldHelp      = bindingWouldHelp
	ZoneWouldHelp         = zoneWouldHelp
)

package devices

import "k8s.io/apimachinery/pkg/types"

// Options choose what v1.36 does not do. The zero value is v1.36.3's behaviour, quirks included.
type Options struct {
	// Steps bounds the number of devices that a search tries on one node; 0 sets no bound. v1.36 has a time-out of ten
	// seconds in its place.
	Steps int
	// ShareID returns a new share ID. nil numbers the shares of one allocation: share-1, share-2 and so on.
	ShareID func() types.UID

	// CountersOnce lets a device that has any share pay its counters no second time. v1.36 looks for consumed capacity
	// only (quirk D10.1).
	CountersOnce bool
	// CountersByDriver keeps the counters of equally named pools of two drivers apart (quirk D10.2).
	CountersByDriver bool
	// AdminApart lets devices chosen with admin access block only other choices with admin access of the same claim (quirk
	// D10.3).
	AdminApart bool
	// AllDistinct makes distinctAttribute compare all devices of a claim (quirk D10.4).
	AllDistinct bool
	// AllPerNode makes a constraint that allocationMode All cannot meet a rejection of the node, not an error of the attempt
	// (quirk D10.5).
	AllPerNode bool
	// AllStatic makes allocationMode All include shareable devices without room, so that they make the request fail as
	// dedicated devices do (quirk D10.6).
	AllStatic bool
	// ConfigOnce copies a config of a claim once, however many requests it names (quirk D10.8).
	ConfigOnce bool
	// SharesBlock keeps a device that has a share from being dedicated (quirk D10.10).
	SharesBlock bool
	// CurrentGeneration drops a pool for which a newer generation exists anywhere in the cluster (quirk D10.11).
	CurrentGeneration bool
}

// Corrected returns the options with every quirk of the search removed.
func (o Options) Corrected() Options {
	o.CountersOnce, o.CountersByDriver, o.AdminApart, o.AllDistinct, o.AllPerNode = true, true, true, true, true
	o.AllStatic, o.ConfigOnce, o.SharesBlock, o.CurrentGeneration = true, true, true, true
	return o
}

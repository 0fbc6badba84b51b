package devices

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/release"
)

// Options choose behaviour that differs from v1.37. The zero value is v1.37.2's behaviour with its quirks.
type Options struct {
	// Release is the release to follow. v1.37 has no quirks U10.1, U10.2, U10.4, U10.6 and U10.8, whatever the fields below say:
	// they count up to v1.36.
	Release release.Version

	// Steps bounds the search on one node: each device that the search tries is a step, or a few steps where it
	// has many capacities or counters. 0 means 100,000, a number below 0
	// sets no bound. v1.37 has a time-out of ten seconds instead.
	Steps int
	// Stop begins the search on a node, and the function that it returns is asked every few hundred steps whether the search ends
	// now, with ErrStopped. With it a caller that has a clock applies v1.37's filterTimeout. nil: nobody stops a search.
	Stop func() (over func() bool)
	// ShareID returns a new share ID. When it is nil, the shares of one allocation are called share-1, share-2 and so on. The API server takes
	// UUIDs only: who writes allocations gives uuid.NewUUID of apimachinery, or something like it.
	ShareID func() types.UID

	// FractionalRange makes amounts of requestPolicy.validRange count in thousandths, as the gate DRAFractionalCapacityRange of v1.37
	// does. The gate is off by default in v1.37; release.Gates has it. It has no effect before v1.37.
	FractionalRange bool

	// TaintRules makes the taints of DeviceTaintRules count, as the gate DRADeviceTaintRules does up to v1.36, where it is off by default.
	// In v1.37 they count always (rule L1.10).
	TaintRules bool

	// CountersOnce makes every shared device pay its counters only once. Up to v1.36 a device pays again when its shares
	// consume no capacity (quirk U10.1).
	CountersOnce bool
	// CountersByDriver keeps the counters of two pools apart that have the same name and different drivers (quirk U10.2).
	CountersByDriver bool
	// AdminApart makes a choice with admin access block only other admin choices of the same claim (quirk U10.3).
	AdminApart bool
	// AllDistinct makes distinctAttribute compare all devices of a claim (quirk U10.4).
	AllDistinct bool
	// AllPerNode rejects only the node when allocationMode All violates a constraint. v1.37 ends the attempt with an error
	// (quirk U10.5).
	AllPerNode bool
	// AllStatic makes allocationMode All include shareable devices that have no room now. The request then fails, as it does with
	// dedicated devices (quirk U10.6).
	AllStatic bool
	// ConfigOnce copies a claim's config once, however many requests it names (quirk U10.8).
	ConfigOnce bool
	// SharesBlock forbids dedicating a device that has shares (quirk U10.10).
	SharesBlock bool
	// CurrentGeneration ignores a pool when the cluster has a newer generation of it (quirk U10.11).
	CurrentGeneration bool
	// NoEmptyClaim leaves the special claim out on a node whose device plugin provides all extended resources. v1.37 creates
	// an empty claim there and then fails in PreBind (quirk U10.7).
	NoEmptyClaim bool
	// AlwaysRelease gives an unavailable allocation back also when the pod's other claims cannot be allocated (quirk U10.9).
	AlwaysRelease bool
	// ClaimOnce allocates a claim once when a pod lists it twice (quirk U10.12).
	ClaimOnce bool
}

// Corrected returns options that remove every quirk.
func (o Options) Corrected() Options {
	o.CountersOnce, o.CountersByDriver, o.AdminApart, o.AllDistinct, o.AllPerNode = true, true, true, true, true
	o.AllStatic, o.ConfigOnce, o.SharesBlock, o.CurrentGeneration = true, true, true, true
	o.NoEmptyClaim, o.AlwaysRelease, o.ClaimOnce = true, true, true
	return o
}

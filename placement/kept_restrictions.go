package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement/internal/hooks"
	"github.com/podberth/podberth/volumes"
	volumetracker "github.com/podberth/podberth/volumes/tracker"
)

// restrictionsCounting keeps the work of VolumeRestrictions for pods without disks that are written into their spec. The key of a pod says
// whether one of its ReadWriteOncePod claims is in use: then every node is rejected, and else none is.
type restrictionsCounting struct {
	options volumes.Options
	volumes *volumetracker.Tracker
}

// Lasts marks a Counting that the engine may use for ever.
func (restrictionsCounting) Lasts() {}

// of returns the state of a pod; nil when the filter skips every pod like it.
func (k restrictionsCounting) of(pod *v1.Pod) volumes.RestrictionsState {
	if volumes.Ignores(pod) {
		return nil
	}
	return volumes.Compile(pod, k.volumes.Objects(), k.options).Restrictions().On(k.volumes.Usage())
}

// AppendPodKey appends whether a claim is in use.
func (k restrictionsCounting) AppendPodKey(dst []byte, pod *v1.Pod) ([]byte, bool) {
	s := k.of(pod)
	if s == nil {
		return append(dst, 0), true
	}
	return appendAlike(append(dst, 1), s)
}

// Divides marks states whose verdict is the same for all nodes.
func (restrictionsCounting) Divides() {}

// Epoch returns 0: the key has all that changes an answer.
func (restrictionsCounting) Epoch() uint64 { return 0 }

// Compile returns nil for a pod whose claims no pod uses.
func (k restrictionsCounting) Compile(pod *v1.Pod) (hooks.Compiled, error) {
	s := k.of(pod)
	if s == nil {
		return nil, nil
	}
	if _, ok := appendAlike(nil, s); !ok {
		return nil, errVolumesApart
	}
	if s.Skip() {
		return nil, nil
	}
	return claimInUse{RestrictionsState: s}, nil
}

// claimInUse rejects every node. It is the state of one of the pods of which a claim is in use.
type claimInUse struct {
	unmoved
	volumes.RestrictionsState
}

var (
	_ hooks.PodKeyer = restrictionsCounting{}
	_ hooks.Dividing = restrictionsCounting{}
)

func (s claimInUse) AppendKey(dst []byte) []byte { return dst }
func (s claimInUse) Count() hooks.State          { return s }

func (s claimInUse) Filter() filter.Predicate { return s.RestrictionsState }
func (claimInUse) Score() hooks.Scorer        { return nil }

// Keys, AppendLayoutKey and AppendDomains do not divide the nodes.
func (claimInUse) Keys() int                                { return 0 }
func (claimInUse) AppendLayoutKey(dst []byte) []byte        { return dst }
func (claimInUse) AppendDomains(dst []int32, _ int) []int32 { return dst }

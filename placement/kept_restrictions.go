package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement/internal/hooks"
	"github.com/podberth/podberth/volumes"
	volumetracker "github.com/podberth/podberth/volumes/tracker"
)

// restrictionsCounting keeps the work of VolumeRestrictions. The key of a pod says whether one of its ReadWriteOncePod claims is in use: then every
// node is rejected, and else none is. The nodes where a disk that is written into the spec of the pod is in use are apart.
type restrictionsCounting struct {
	options volumes.Options
	volumes *volumetracker.Tracker
	latest  *volumes.RestrictionsState
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

// AppendPodKey appends whether the pod has disks, and whether a claim is in use.
func (k restrictionsCounting) AppendPodKey(dst []byte, pod *v1.Pod) ([]byte, bool) {
	s := k.of(pod)
	if s == nil {
		return append(dst, 0), true
	}
	*k.latest = s
	return appendAlike(append(dst, 1), s)
}

// Divides marks states whose shared verdict is the same for all nodes.
func (restrictionsCounting) Divides() {}

// Epoch returns 0: the key has all that changes an answer.
func (restrictionsCounting) Epoch() uint64 { return 0 }

// Compile returns nil for a pod without disks whose claims no pod uses.
func (k restrictionsCounting) Compile(pod *v1.Pod) (hooks.Compiled, error) {
	s := k.of(pod)
	if s == nil {
		return nil, nil
	}
	key, ok := appendAlike(nil, s)
	if !ok {
		return nil, errVolumesApart
	}
	if s.Skip() {
		return nil, nil
	}
	return keptRestrictions{latest: k.latest, key: key, alike: s.(interface {
		Alike() volumes.RestrictionsState
	}).Alike()}, nil
}

// keptRestrictions is what pods share that are alike.
type keptRestrictions struct {
	unmoved
	latest *volumes.RestrictionsState
	key    []byte
	alike  volumes.RestrictionsState
}

var (
	_ hooks.PodKeyer = restrictionsCounting{}
	_ hooks.Dividing = restrictionsCounting{}
	_ hooks.PerPod   = keptRestrictions{}
)

func (k keptRestrictions) AppendKey(dst []byte) []byte { return append(dst, k.key...) }
func (k keptRestrictions) Count() hooks.State          { return k }

func (k keptRestrictions) Filter() filter.Predicate { return k.alike }
func (keptRestrictions) Score() hooks.Scorer        { return nil }

// Keys, AppendLayoutKey and AppendDomains do not divide the nodes.
func (keptRestrictions) Keys() int                                { return 0 }
func (keptRestrictions) AppendLayoutKey(dst []byte) []byte        { return dst }
func (keptRestrictions) AppendDomains(dst []int32, _ int) []int32 { return dst }

// Of returns the filter of the pod.
func (k keptRestrictions) Of(*v1.Pod) filter.Predicate { return *k.latest }

// Apart appends the nodes where a disk of the pod is in use.
func (k keptRestrictions) Apart(dst []int32, _ *v1.Pod) []int32 {
	return appendApart(dst, *k.latest)
}

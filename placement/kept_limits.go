package placement

import (
	"errors"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/follow"
	"github.com/podberth/podberth/placement/internal/hooks"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/volumes"
	volumetracker "github.com/podberth/podberth/volumes/tracker"
)

// limitsCounting keeps the work of NodeVolumeLimits for pods that bring as many volumes of each driver. The nodes are apart where a volume in use makes
// a difference.
type limitsCounting struct {
	options volumes.Options
	volumes *volumetracker.Tracker
	cluster Cluster // with a change log
	latest  *volumes.LimitsState
}

// Lasts marks a Counting that the engine may use for ever.
func (limitsCounting) Lasts() {}

// errVolumesApart means that a pod shares no answers with other pods.
var errVolumesApart = errors.New("the volumes of the pod are asked about by themselves")

// of returns the state of a pod; nil when the filter skips the pod.
func (k limitsCounting) of(pod *v1.Pod) volumes.LimitsState {
	if volumes.Ignores(pod) {
		return nil
	}
	e := volumes.Compile(pod, k.volumes.Objects(), k.options).Limits()
	if e.PreFilter().Code == filter.Skip {
		return nil
	}
	return e.On(k.volumes.Usage())
}

// AppendPodKey appends how many volumes of each driver the pod brings.
func (k limitsCounting) AppendPodKey(dst []byte, pod *v1.Pod) ([]byte, bool) {
	s := k.of(pod)
	if s == nil {
		return append(dst, 0), true
	}
	*k.latest = s
	return appendAlike(append(dst, 1), s)
}

// Epoch returns 0: when a CSINode changes, the engine forgets what depends on storage.
func (limitsCounting) Epoch() uint64 { return 0 }

// Compile returns the limits of a pod; nil for a pod that the filter skips.
func (k limitsCounting) Compile(pod *v1.Pod) (hooks.Compiled, error) {
	s := k.of(pod)
	if s == nil {
		return nil, nil
	}
	key, ok := appendAlike(nil, s)
	if !ok {
		return nil, errVolumesApart
	}
	return &keptLimits{limitsCounting: k, key: key, state: s}, nil
}

// keptLimits is what pods with as many volumes of each driver share.
type keptLimits struct {
	unmoved
	limitsCounting
	key     []byte
	state   volumes.LimitsState
	usage   *volumes.Usage // that current is over
	current volumes.LimitsState
}

var (
	_ filter.Predicate = (*keptLimits)(nil)
	_ hooks.PodKeyer   = limitsCounting{}
	_ hooks.Shifting   = (*keptLimits)(nil)
	_ hooks.PerPod     = (*keptLimits)(nil)
)

func (k *keptLimits) now() volumes.LimitsState {
	if u := k.volumes.Usage(); u != k.usage {
		k.usage, k.current = u, k.state.(interface {
			Alike(u *volumes.Usage) volumes.LimitsState
		}).Alike(u)
	}
	return k.current
}

// Name returns the name of the filter.
func (k *keptLimits) Name() string { return k.state.Name() }

// Check returns the verdict for pods whose volumes are not in use. Pods whose volumes are in use share it but on the nodes apart.
func (k *keptLimits) Check(i int) resources.Verdict { return k.now().Check(i) }

// Reasons returns the texts of a verdict.
func (k *keptLimits) Reasons(v resources.Verdict) []string { return k.now().Reasons(v) }

// Code returns the code of a verdict.
func (k *keptLimits) Code(v resources.Verdict) filter.Code { return k.now().Code(v) }

func (k *keptLimits) AppendKey(dst []byte) []byte { return append(dst, k.key...) }
func (k *keptLimits) Count() hooks.State          { return k }

func (k *keptLimits) Filter() filter.Predicate { return k }
func (*keptLimits) Score() hooks.Scorer        { return nil }

// AppendLayoutKey and AppendDomains divide the nodes by their verdicts.
func (k *keptLimits) AppendLayoutKey(dst []byte) []byte { return k.AppendKey(dst) }
func (k *keptLimits) AppendDomains(dst []int32, slot int) []int32 {
	return append(dst, int32(k.Check(slot)))
}

// Shifted yields the slots whose pods changed.
func (k *keptLimits) Shifted(version uint64, yield func(slot int)) uint64 {
	return changedSlots(k.cluster.(follow.Log), k.cluster.Len(), version, yield)
}

// Of returns the filter of the pod.
func (k *keptLimits) Of(*v1.Pod) filter.Predicate { return *k.latest }

// Apart appends the nodes where a volume in use makes a difference.
func (k *keptLimits) Apart(dst []int32, _ *v1.Pod) []int32 {
	return appendApart(dst, *k.latest)
}

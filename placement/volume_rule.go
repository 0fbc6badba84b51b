package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/podkey"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/volumes"
	volumetracker "github.com/podberth/podberth/volumes/tracker"
)

// volumeRule is what one filter of package volumes has of its own. R is what its evaluator reads of the cluster, S its state.
type volumeRule[R any, S filter.Predicate] struct {
	name      string
	evaluator func(p *volumes.Pod) volumes.Evaluator[R, S]
	reads     func(c Cluster, v *volumetracker.Tracker) R
	// predicate returns the state with the numbers for explanations, nil when the plugin skips the pod.
	predicate func(s S) filter.Predicate
	// scores reports whether the plugin scores too, and scorer returns the state as a score; nil when it never does.
	scores func(o volumes.Options) bool
	scorer func(s S) Scorer
	// share changes the plugin over a tracker so that pods with claims share work.
	share func(p *Plugin, o volumes.Options, v *volumetracker.Tracker)
}

// plugin returns the filter of the rule over v. With nil v the filter makes a tracker of the cluster for each pod.
func (r volumeRule[R, S]) plugin(o volumes.Options, v *volumetracker.Tracker) *Plugin {
	p := &Plugin{
		Name: r.name, Args: o,
		Keep: KeepIfSkipped, AppendKey: podkey.Volumes, KeyName: "volumes", Skips: volumes.Ignores,
		ReadsOfOthers: []string{storageObjects},
		Hint: func(affinity.Namespaces) queue.Hint {
			return engine.HintOf(r.evaluator(volumes.Compile(&v1.Pod{}, volumes.Objects{}, o)), engine.NoOptions{})
		},
		WithShared: func(p Profile) *Plugin { return r.plugin(o, p.Volumes) },
		Filter: func(pod *v1.Pod, c Cluster) PreFiltered {
			if volumes.Ignores(pod) {
				return PreFiltered{Code: filter.Skip}
			}
			v := volumesOr(v, c)
			e := r.evaluator(volumes.Compile(pod, v.Objects(), o))
			if pre := e.PreFilter(); pre.Code != filter.Success {
				return PreFiltered{Code: pre.Code, Reasons: pre.Reasons}
			}
			if p := r.predicate(e.On(r.reads(c, v))); p != nil {
				return PreFiltered{Predicate: p}
			}
			return PreFiltered{Code: filter.Skip}
		},
	}
	if r.scores != nil && r.scores(o) {
		p.Score = func(pod *v1.Pod, c Cluster) (Scorer, error) { return r.score(pod, c, o, v), nil }
	}
	if v != nil {
		r.share(p, o, v)
	}
	return p
}

// appendAlike asks an evaluator or a state which pods with other claims get the same verdicts.
func appendAlike(dst []byte, x any) ([]byte, bool) {
	return x.(interface {
		AppendAlike(dst []byte) ([]byte, bool)
	}).AppendAlike(dst)
}

// appendApart asks the state of a pod on which slots it may get another verdict than pods like it.
func appendApart(dst []int32, x any) []int32 {
	return x.(interface{ AppendApart(dst []int32) []int32 }).AppendApart(dst)
}

// staticVolumes shares the verdicts of a rule that reads no pods.
func staticVolumes(of func(p *volumes.Pod) any) func(p *Plugin, o volumes.Options, v *volumetracker.Tracker) {
	return func(p *Plugin, o volumes.Options, v *volumetracker.Tracker) {
		p.Keep = KeepByNode
		p.AppendSharedKey = func(dst []byte, pod *v1.Pod) ([]byte, bool) {
			if volumes.Ignores(pod) {
				return dst, true
			}
			return appendAlike(dst, of(volumes.Compile(pod, v.Objects(), o)))
		}
	}
}

// score returns the scorer of a pod, nil for a pod that the filter skips or rejects.
func (r volumeRule[R, S]) score(pod *v1.Pod, c Cluster, o volumes.Options, v *volumetracker.Tracker) Scorer {
	if volumes.Ignores(pod) {
		return nil
	}
	v = volumesOr(v, c)
	e := r.evaluator(volumes.Compile(pod, v.Objects(), o))
	if e.PreFilter().Code != filter.Success {
		return nil
	}
	return r.scorer(e.On(r.reads(c, v)))
}

// slotsOf returns the cluster, for rules that read its nodes alone.
func slotsOf(c Cluster, _ *volumetracker.Tracker) filter.Cluster { return c }

// volumesInUse returns the volumes that the pods of the cluster use.
func volumesInUse(_ Cluster, v *volumetracker.Tracker) *volumes.Usage { return v.Usage() }

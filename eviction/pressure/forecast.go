package pressure

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/resources"
)

// Step is one evicted pod of a forecast.
type Step struct {
	Pod          *v1.Pod
	GraceSeconds int64
	Frees        int64 // usage of the signal's resource that ends with the pod; hostPath volumes stay
	Available    int64 // available after the pod is gone
}

// Forecast is the list of pods that would be evicted for a threshold, in order, until its target is available (rule E11.1).
type Forecast struct {
	Target  resource.Quantity // what must be available at the end
	Steps   []Step
	Cleared bool // false: the pods that may be evicted do not free enough
}

// Forecast takes pods that are not exempt, in the order of the ranking, until the target of the threshold is available. It
// assumes that usage stays as it is, that the kubelet reclaims nothing at node level, and that no other threshold acts in
// the meantime.
func (p *Policy) Forecast(t Threshold, m Measurement, o Observation) Forecast {
	f := Forecast{Target: t.target(m.Capacity, p.options)}
	available := m.Available
	if !t.missed(m, p.options) {
		f.Cleared = true
		return f
	}
	for _, r := range Rank(t.Signal, o.Layout, o.Pods, o.Stats, p.options) {
		if r.Exempt != "" {
			continue
		}
		taken := frees(t.Signal, o.Layout, r.Pod, o.Stats)
		available = resources.Add(available, taken)
		f.Steps = append(f.Steps, Step{r.Pod, p.graceSeconds(t, r.Pod), taken, available})
		if f.Cleared = f.Target.CmpInt64(available) <= 0; f.Cleared {
			break
		}
	}
	return f
}

// frees returns how much of the signal's resource becomes free with the end of a pod: memory, processes, or its part of the
// file system without hostPath volumes. 0 without statistics.
func frees(s Signal, l Layout, pod *v1.Pod, stats map[types.UID]PodStats) int64 {
	st, ok := stats[pod.UID]
	switch {
	case !ok:
		return 0
	case s.memory() || s == pidAvailable:
		return usage(s, l, pod, &st)
	}
	return diskUsage(s, l, pod, &st, ownVolume)
}

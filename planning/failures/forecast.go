package failures

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/eviction/taint"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
)

// forecast sets when taint-based eviction deletes the pods of the lost nodes, if their kubelets fall silent at once and the
// nodes stay in the cluster.
func (p *Planner) forecast(r *Result, until time.Duration) {
	in := taint.Input{Until: until}
	for i := range p.base.Len() {
		if n := p.base.Node(i); n != nil {
			in.Nodes = append(in.Nodes, n)
		}
	}
	at := map[string]int{}
	for k := range r.Pods {
		if o := &r.Pods[k]; slices.Contains(r.Nodes, o.From) {
			in.Pods = append(in.Pods, assigned(o.Pod, o.From))
			at[podinfo.Name(o.Pod)] = k
		}
	}
	for _, n := range r.Nodes {
		in.Events = append(in.Events, taint.Event{Node: n, Heartbeats: taint.HeartbeatsStop})
	}
	for _, e := range must.Get(taint.Forecast(in)).Evictions() {
		d := e.At.Duration
		r.Pods[at[e.Pod]].Leaves = &d
	}
}

// assigned returns the pod with the name of its node: a pod that was only assumed has none.
func assigned(pod *v1.Pod, node string) *v1.Pod {
	c := *pod
	c.Spec.NodeName = node
	return &c
}

package gang

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/planning/gang/proof"
	"github.com/podberth/podberth/volumes"
)

// refused decides the placement again, member after member, and returns the first refusal.
func (f *finder) refused(places []proof.Place) error {
	return carry(f.q.Snapshot.Fork(), f.Subject, f.q, places)
}

// carry puts the members of a placement on their nodes, each after a decision. Devices are written into their claims, and volumes as
// kube-scheduler writes them before it binds a pod: who is decided afterwards does not get them.
func carry(s *cluster.Snapshot, x *proof.Subject, q *proof.Question, places []proof.Place) error {
	placer := must.Get(placement.NewPlacer(s, x.Profile))
	pods := map[string]*v1.Pod{}
	for _, pod := range x.Members {
		pods[podinfo.Name(pod)] = pod
	}
	var taken []volumes.Decision
	for _, p := range places {
		forced := *pods[p.Pod]
		forced.Status.NominatedNodeName = p.Node
		d := placer.Decide(&forced, placement.Options{Nominated: q.Nominated})
		if d.Node != p.Node {
			return fmt.Errorf("gang: node %s refuses pod %s", p.Node, p.Pod)
		}
		must.Do(placer.Assume(&forced, d))
		taken = append(taken, d.Volumes)
	}
	for _, d := range taken {
		volumes, claims := d.Objects()
		for _, v := range volumes {
			must.Do(s.Set(v))
		}
		for _, c := range claims {
			must.Do(s.Set(c))
		}
	}
	return nil
}

package consolidation

import (
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/believed"
)

// scaleOf returns how many replicas controllers want. A controller that is not among the objects wants what the
// statuses of budgets say, or else as many as it has.
func (p *Planner) scaleOf() disruption.Scale {
	var list []disruption.Workload
	add := func(apiVersion, kind string, o metav1.Object, replicas *int32) {
		w := disruption.Workload{APIVersion: apiVersion, Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), Replicas: replicas, Controller: metav1.GetControllerOf(o)}
		if replicas == nil {
			one := int32(1)
			w.Replicas = &one
		}
		list = append(list, w)
	}
	for r := range cluster.List[*appsv1.ReplicaSet](p.base).All() {
		add("apps/v1", "ReplicaSet", r, r.Spec.Replicas)
	}
	for r := range cluster.List[*v1.ReplicationController](p.base).All() {
		add("v1", "ReplicationController", r, r.Spec.Replicas)
	}
	for s := range cluster.List[*appsv1.StatefulSet](p.base).All() {
		add("apps/v1", "StatefulSet", s, s.Spec.Replicas)
	}
	for _, d := range p.in.Deployments {
		add("apps/v1", "Deployment", d, d.Spec.Replicas)
	}
	known, unknown := disruption.NewScale(list), map[believed.Controller]int32{}
	for _, pod := range p.pods {
		c, ok := believed.Of(pod)
		if !ok || c.Kind == "DaemonSet" || c.Kind == "Job" { // these two have no scale
			continue
		}
		if _, _, err := known(pod, *metav1.GetControllerOfNoCopy(pod)); err == nil {
			continue
		}
		n := unknown[c]
		if pod.DeletionTimestamp == nil {
			n++
		}
		unknown[c] = n
	}
	return believed.Scale(known, unknown, p.pdbs, p.pods)
}

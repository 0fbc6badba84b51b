package gen

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func (g *generator) namespaces() {
	for _, name := range nsNames {
		if name == "n2" && g.one(20) {
			continue // pods whose namespace is not known (yet)
		}
		n := &v1.Namespace{ObjectMeta: g.meta("", name)}
		n.Labels = map[string]string{v1.LabelMetadataName: name}
		if g.one(2) {
			n.Labels["team"] = pick(g, tiers)
		}
		g.c.Namespaces = append(g.c.Namespaces, n)
	}
}

// owners are what default spread constraints derive selectors from, and budgets.
func (g *generator) owners() {
	o := &g.c.Objects
	for i := range g.Intn(3) {
		s := &v1.Service{ObjectMeta: g.meta(pick(g, nsNames), fmt.Sprintf("svc%d", i))}
		if !g.one(5) {
			s.Spec.Selector = map[string]string{"app": pick(g, apps)}
			if g.one(4) {
				s.Spec.Selector["tier"] = pick(g, tiers)
			}
		}
		s.Spec.Ports = []v1.ServicePort{{Port: 80}}
		o.Services = append(o.Services, s)
	}
	if g.one(3) {
		rc := &v1.ReplicationController{ObjectMeta: g.meta(pick(g, nsNames), "rc")}
		rc.Spec.Selector = map[string]string{"app": pick(g, apps)}
		o.ReplicationControllers = append(o.ReplicationControllers, rc)
	}
	selector := func() *metav1.LabelSelector {
		s := g.selector()
		if s == nil || len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
			return &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
		}
		return s
	}
	if g.one(2) {
		rs := &appsv1.ReplicaSet{ObjectMeta: g.meta(pick(g, nsNames), "rs")}
		rs.Spec.Selector = selector()
		o.ReplicaSets = append(o.ReplicaSets, rs)
	}
	if g.one(3) {
		ss := &appsv1.StatefulSet{ObjectMeta: g.meta(pick(g, nsNames), "ss")}
		ss.Spec.Selector = selector()
		o.StatefulSets = append(o.StatefulSets, ss)
	}
	for i := range g.Intn(3) {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: g.meta(pick(g, nsNames), fmt.Sprintf("pdb%d", i))}
		b.Spec.Selector = g.selector()
		one := intstr.FromInt32(int32(g.Intn(3)))
		b.Spec.MinAvailable = &one
		b.Status.DisruptionsAllowed = int32(g.Intn(3))
		if g.one(4) {
			b.Status.DisruptedPods = map[string]metav1.Time{fmt.Sprintf("r%d", g.Intn(8)): metav1.NewTime(Epoch)}
		}
		o.PodDisruptionBudgets = append(o.PodDisruptionBudgets, b)
	}
}

// owner makes one of the workloads of the namespace the pod's controller, or one that does not exist.
func (g *generator) owner(namespace string) []metav1.OwnerReference {
	t := true
	ref := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: "rs-uid", Controller: &t}
	switch g.Intn(8) {
	case 0:
		ref.Kind, ref.Name = "StatefulSet", "ss"
	case 1:
		ref.APIVersion, ref.Kind, ref.Name = "v1", "ReplicationController", "rc"
	case 2:
		ref.Controller = nil
	case 3:
		ref.APIVersion, ref.Kind, ref.Name = "batch/v1", "Job", "job"
	case 4:
		ref.Name = "gone"
	case 5:
		ref.APIVersion, ref.Kind, ref.Name = "apps/v1", "DaemonSet", "ds"
	}
	return []metav1.OwnerReference{ref}
}

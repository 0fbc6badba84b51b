package rollout

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/decider"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/planning/workload"
)

// remake returns the pod that a controller makes in the place of a pod that is terminating or gone; nil when nobody makes one.
// waits says why the controller makes the pod later, or the API server does not take the pod.
func (x *run) remake(it *item) (next *v1.Pod, waits string) {
	if it.unit == nil {
		return nil, ""
	}
	if !it.unit.known && !it.unit.stateful() && it.origin.DeletionTimestamp != nil {
		return nil, "" // its controller has made the next pod already
	}
	next = copyOf(it.obj)
	if it.unit.known {
		made := x.missing(it)
		at := 0
		if it.unit.stateful() {
			at = slices.IndexFunc(made.Pods, func(p *v1.Pod) bool { return p.Name == it.obj.Name })
		}
		switch {
		case at >= 0 && at < len(made.Pods):
			next = made.Pods[at]
		case len(made.Waiting) > 0:
			return nil, made.Waiting[0].String()
		default:
			return nil, ""
		}
		x.claims(made, next)
		var err error
		if next, err = x.admit(it.unit, next); err != nil {
			return nil, err.Error()
		}
	}
	if !it.unit.stateful() {
		next.Name = x.freeName(it)
	}
	next.UID = types.UID(fmt.Sprintf("%s/%s/%d", next.Namespace, next.Name, it.moves+1))
	return next, ""
}

// admit returns the pod as the API server stores it. The pods of a ReplicaSet or ReplicationController are equal but for their
// names, and one of them is admitted for all.
func (x *run) admit(u *unit, pod *v1.Pod) (*v1.Pod, error) {
	if known := x.admitted[u]; known != nil {
		c := *known
		return &c, nil
	}
	admitted, _, err := admission.Admit(pod, x.in.Admission, admission.Options{SkipChanges: true})
	if err == nil && (u.kind == "ReplicaSet" || u.kind == "ReplicationController") {
		c := *admitted
		x.admitted[u] = &c
	}
	return admitted, err
}

// one is enough of what a controller makes: the next pod.
func one(*v1.Pod) int { return 1 }

// missing returns what the controller of a pod makes now.
func (x *run) missing(it *item) *workload.Made {
	o := it.unit.objects
	for _, other := range x.ofUnit[it.unit] {
		o.Pods = append(o.Pods, other.seen)
	}
	return must.Get(workload.Make(o, workload.Options{Enough: one}))
}

// claims adds the claims that a StatefulSet makes for a pod and that are not there.
func (x *run) claims(made *workload.Made, pod *v1.Pod) {
	all := cluster.List[*v1.PersistentVolumeClaim](x.snapshot)
	for _, c := range made.Claims {
		_, there := all.Get(c.Namespace, c.Name)
		if there || !slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool {
			return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == c.Name
		}) {
			continue
		}
		must.Do(x.snapshot.Set(c))
	}
}

// freeName returns the name of the next pod in the place of a pod. Controllers end names with random characters; the plan names
// the pod that moved.
func (x *run) freeName(it *item) string {
	for n := it.moves + 1; ; n++ {
		name := fmt.Sprintf("%s-moved-%d", it.origin.Name, n)
		if !x.taken(it.obj.Namespace, name) {
			return name
		}
	}
}

// taken reports whether a pod on a node, also on a node that the snapshot lacks, or a pod that waits has a name.
func (x *run) taken(namespace, name string) bool {
	has := func(p *v1.Pod) bool { return p.Namespace == namespace && p.Name == name }
	return x.snapshot.Pod(namespace, name) != nil || slices.ContainsFunc(x.snapshot.Orphans(), has) ||
		slices.ContainsFunc(x.pending, func(p *item) bool { return has(p.obj) })
}

// copyOf returns the pod that a controller makes in the place of another pod, when the controller is not known.
func copyOf(old *v1.Pod) *v1.Pod {
	c := *old
	c.Spec.NodeName, c.Spec.EphemeralContainers = "", nil
	c.DeletionTimestamp = nil
	c.Status = v1.PodStatus{Phase: v1.PodPending}
	return &c
}

// daemons returns the pods of DaemonSets for a new node, as the API server stores them. A pod is named after its DaemonSet and the
// node, with a number if another pod has the name.
func (x *run) daemons(node *v1.Node) (out []*v1.Pod) {
	made := must.Get(workload.Make(workload.Objects{DaemonSets: x.in.DaemonSets, Nodes: []*v1.Node{node}}, workload.Options{Tolerations: decider.Tolerations(x.in.Profile)}))
	for _, pod := range made.Pods {
		admitted, _, err := admission.Admit(pod, x.in.Admission, admission.Options{SkipChanges: true})
		if err != nil {
			continue // the DaemonSet has no pod there
		}
		name := admitted.OwnerReferences[0].Name + "-" + node.Name
		admitted.Name = name
		for n := 2; x.taken(admitted.Namespace, admitted.Name) || slices.ContainsFunc(out, func(p *v1.Pod) bool { return podinfo.Name(p) == podinfo.Name(admitted) }); n++ {
			admitted.Name = fmt.Sprintf("%s-%d", name, n)
		}
		admitted.UID = types.UID(podinfo.Name(admitted))
		out = append(out, admitted)
	}
	return out
}

package place

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/tools/dump"
)

// ownerKinds are the kinds of owners by the names that kubectl takes.
var ownerKinds = map[string]string{
	"deployment": "Deployment", "deployments": "Deployment", "deploy": "Deployment", "statefulset": "StatefulSet", "statefulsets": "StatefulSet", "sts": "StatefulSet",
	"daemonset": "DaemonSet", "daemonsets": "DaemonSet", "ds": "DaemonSet", "replicaset": "ReplicaSet", "replicasets": "ReplicaSet", "rs": "ReplicaSet",
	"job": "Job", "jobs": "Job", "cronjob": "CronJob", "cronjobs": "CronJob", "cj": "CronJob", "replicationcontroller": "ReplicationController", "rc": "ReplicationController",
}

// ofOwner returns the first pod of an owner without a node, in the order of the queue, or else the first one that the API server has refused, or
// else the first one that runs: "shop/web-0" for "deployment/web", and of a group for "podgroup/train" and "compositepodgroup/job". The
// namespace is default when it is empty. Other names stay as they are, and so does the name of an owner without pods.
func (w *world) ofOwner(name, namespace string) string {
	kind, owner, _ := strings.Cut(name, "/")
	if in := w.groupNamed(kind, owner, cmp.Or(namespace, v1.NamespaceDefault)); in != nil && w.find(name) == nil {
		return w.ofGroup(name, in)
	}
	kind = ownerKinds[strings.ToLower(kind)]
	if kind == "" || w.find(name) != nil {
		return name
	}
	if namespace == "" {
		namespace = v1.NamespaceDefault
	}
	for _, p := range w.pending {
		if p.Namespace == namespace && w.ownedBy(p, kind, owner) {
			w.siblings = append(w.siblings, p)
		}
	}
	if len(w.siblings) > 0 {
		return key(w.siblings[0])
	}
	if pod := w.unmade(kind, owner, namespace); pod != "" {
		return pod
	}
	for _, p := range w.objects.Pods {
		if p.Namespace == namespace && !cluster.Finished(p) && w.ownedBy(p, kind, owner) {
			return key(p)
		}
	}
	return name
}

// groupNamed returns a function that reports whether a pod is in the group of pods, or in the tree of the composite group, of that name. It is nil
// for another kind.
func (w *world) groupNamed(kind, name, namespace string) func(p *v1.Pod) bool {
	switch strings.ToLower(kind) {
	case "podgroup", "podgroups":
		return func(p *v1.Pod) bool { of, ok := podgroup.Of(p); return ok && of == name && p.Namespace == namespace }
	case "compositepodgroup", "compositepodgroups":
		return func(p *v1.Pod) bool {
			of, ok := podgroup.Of(p)
			if !ok || p.Namespace != namespace || w.groups == nil {
				return false
			}
			tree, err := podgroup.TreeOf(w.snapshot, namespace, of, *w.groups)
			if err != nil {
				return false
			}
			for n := tree.Home(of); n != nil; n = n.Up {
				if n.Composite != nil && n.Name == name {
					return true
				}
			}
			return false
		}
	}
	return nil
}

// unlessGates says that a composite group is not found because composite groups do not count.
func (w *world) unlessGates(kind string) string {
	if strings.HasPrefix(strings.ToLower(kind), "composite") && (w.groups == nil || !w.groups.Composites) {
		return "; composite groups count with the feature gate CompositePodGroup alone"
	}
	return ""
}

// ofGroup returns the first pod of a group that waits, or else the first one that runs; the name itself if there is none.
func (w *world) ofGroup(name string, in func(p *v1.Pod) bool) string {
	for _, list := range [][]*v1.Pod{w.pending, w.objects.Pods} {
		for _, p := range list {
			if !cluster.Finished(p) && in(p) {
				return key(p)
			}
		}
	}
	return name
}

// nextSibling returns the next pod of the owner that was asked about, when the scheduler has a node for one of its pods: the answer is about the
// first that waits. It is "" when nobody asked about an owner, and for the last pod.
func (x *simulation) nextSibling(pod *v1.Pod, c *cluster.Snapshot) string {
	at := slices.IndexFunc(x.w.siblings, func(p *v1.Pod) bool { return key(p) == key(pod) })
	if at < 0 || x.member(pod) {
		return ""
	}
	for _, p := range x.w.siblings[at+1:] {
		if _, tried := x.tried[key(p)]; tried || len(p.Spec.SchedulingGates) > 0 || x.w.s.Profile(dump.SchedulerName(p)) == nil {
			continue
		}
		if q, err := x.asks(pod, c); err != nil || !q.plan.Decide(pod, q.options).Placed() {
			return ""
		}
		return key(p)
	}
	return ""
}

// elsewhere names the namespaces in which an owner has pods: "; deployment/web has pods in shop". It is "" for a name that is no owner's, and
// for one without pods.
func (w *world) elsewhere(name string) string {
	kind, owner, _ := strings.Cut(name, "/")
	if kind = ownerKinds[strings.ToLower(kind)]; kind == "" {
		return ""
	}
	var in []string
	for _, p := range w.objects.Pods {
		if !slices.Contains(in, p.Namespace) && w.ownedBy(p, kind, owner) {
			in = append(in, p.Namespace)
		}
	}
	if in == nil {
		return ""
	}
	slices.Sort(in)
	return fmt.Sprintf("; %s has pods in %s (-n)", name, strings.Join(in, ", "))
}

// ownedBy reports whether a pod is one of an owner, by its controller or by the controller of that.
func (w *world) ownedBy(p *v1.Pod, kind, name string) bool {
	by := metav1.GetControllerOfNoCopy(p)
	if by == nil {
		return false
	}
	if by.Kind == kind && by.Name == name {
		return true
	}
	is := func(o metav1.Object) bool {
		up := metav1.GetControllerOfNoCopy(o)
		return o.GetNamespace() == p.Namespace && o.GetName() == by.Name && up != nil && up.Kind == kind && up.Name == name
	}
	switch by.Kind {
	case "ReplicaSet":
		for _, set := range w.objects.ReplicaSets {
			if is(set) {
				return true
			}
		}
		hash := p.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
		return kind == "Deployment" && hash != "" && by.Name == name+"-"+hash
	case "Job":
		for _, job := range w.objects.Jobs {
			if is(job) {
				return true
			}
		}
	}
	return false
}

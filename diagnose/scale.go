package diagnose

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
)

// ofOwner returns the remedies that are edits of the owner beside its template, as relaxations without a node.
func (d *diagnosis) ofOwner() (out []Relaxation) {
	if d.o.Where != nil || d.cause == nil {
		return nil
	}
	if c, ok := d.fewer(); ok && d.o.Cost(c) >= 0 {
		out = append(out, Relaxation{Cost: d.o.Cost(c), Changes: []Change{c}})
	}
	if d.cause.Type == causePreempting {
		return []Relaxation{{Changes: []Change{d.waits()}}}
	}
	if c, ok := d.wantedFirst(); ok && d.o.Cost(c) >= 0 {
		out = append(out, Relaxation{Cost: d.o.Cost(c), Changes: []Change{c}})
	}
	if d.cause.Type == causePlace {
		for _, c := range d.placed() {
			if d.o.Cost(c) >= 0 {
				out = append(out, Relaxation{Cost: d.o.Cost(c), Changes: []Change{c}})
			}
		}
	}
	list := slices.Concat(d.strategies(), d.softened(), d.resizes(), d.outside())
	if c, ok := d.maxPods(); ok {
		list = append(list, c)
	}
	if c, ok := d.leavesOut(); ok {
		list = append(list, c)
	}
	for _, c := range list {
		if d.o.Cost(c) >= 0 {
			out = append(out, Relaxation{Cost: d.o.Cost(c), Changes: []Change{c}})
		}
	}
	return out
}

// waits returns the end of the pods that end on the node to which the pod is nominated.
func (d *diagnosis) waits() Change {
	var ends []*v1.Pod
	for p := range d.base.Pods(d.base.Slot(d.pod.Status.NominatedNodeName)) {
		if p.DeletionTimestamp != nil && podinfo.Priority(p) < podinfo.Priority(d.pod) {
			ends = append(ends, p)
		}
	}
	return Change{Kind: Recover, Object: "Node " + d.cause.Wanted, To: fmt.Sprintf("wait until %s %s ended", d.cause.Found, verb(len(ends), "has", "have")), make: func(s *cluster.Snapshot, _ *Change) {
		for _, p := range ends {
			takeAway(s, p)
		}
	}}
}

// fewer returns the change with which the owner has no more pods than run. ok is false when none runs, when the controller would take
// away a running pod in place of one that waits, and for causes about which the number of pods says nothing.
func (d *diagnosis) fewer() (c Change, ok bool) {
	n := len(d.crew.running)
	if !slices.Contains([]string{causeAntiAffinity, causePort, causeFull, causeRefused}, d.cause.Type) || n == 0 || d.crew.gated > 0 || len(d.older()) > 0 {
		return c, false
	}
	path := "spec.replicas"
	switch d.owner.kind {
	case "Deployment", "ReplicaSet", "ReplicationController": // pods without a node go first
	case "StatefulSet":
		if !d.highest() {
			return c, false
		}
	case "Job":
		path = "spec.parallelism"
	default:
		return c, false
	}
	c = Change{Kind: Scale, Object: d.owner.String(), Path: path, From: strconv.Itoa(n + d.crew.waiting()), To: strconv.Itoa(n), make: d.resize(n)}
	if h := d.autoscaler(); h != nil {
		c.Object, c.Path, c.From = "HorizontalPodAutoscaler "+h.Namespace+"/"+h.Name, "spec.maxReplicas", strconv.Itoa(int(h.Spec.MaxReplicas))
		if h.Spec.MinReplicas != nil && int(*h.Spec.MinReplicas) > n {
			return c, false // both bounds would have to change
		}
	}
	return c, true
}

// highest reports whether every waiting pod of a StatefulSet has a higher ordinal than the running pods. The controller removes the pod with
// the highest ordinal first.
func (d *diagnosis) highest() bool {
	top := -1
	for _, p := range d.crew.running {
		top = max(top, ordinal(p))
	}
	for p, mine := range d.crew.mine {
		if mine && ordinal(p) < top {
			return false
		}
	}
	return true
}

// ordinal returns the number at the end of the name of a pod of a StatefulSet, -1 for a name without one.
func ordinal(p *v1.Pod) int {
	n, err := strconv.Atoi(p.Name[strings.LastIndex(p.Name, "-")+1:])
	if err != nil {
		return -1
	}
	return n
}

// autoscaler returns the HorizontalPodAutoscaler of the owner, nil for none.
func (d *diagnosis) autoscaler() *autoscalingv2.HorizontalPodAutoscaler {
	for _, h := range d.scalers {
		if h != nil && h.Namespace == d.pod.Namespace && h.Spec.ScaleTargetRef.Kind == d.owner.kind && h.Namespace+"/"+h.Spec.ScaleTargetRef.Name == d.owner.name {
			return h
		}
	}
	return nil
}

// resize returns the change of the number of pods that the controller of the pod wants, as far as the snapshot has the controller.
func (d *diagnosis) resize(n int) func(s *cluster.Snapshot, _ *Change) {
	by, replicas := metav1.GetControllerOfNoCopy(d.pod), int32(n)
	return func(s *cluster.Snapshot, _ *Change) {
		if set, ok := cluster.List[*appsv1.ReplicaSet](s).Get(d.pod.Namespace, by.Name); ok && by.Kind == "ReplicaSet" {
			set = set.DeepCopy()
			set.Spec.Replicas = &replicas
			must.Do(s.Set(set))
		}
		if set, ok := cluster.List[*appsv1.StatefulSet](s).Get(d.pod.Namespace, by.Name); ok && by.Kind == "StatefulSet" {
			set = set.DeepCopy()
			set.Spec.Replicas = &replicas
			must.Do(s.Set(set))
		}
	}
}

// scaled returns the outcome of Scale: the waiting pods are removed, and the running pods stay.
func (d *diagnosis) scaled(c Change) outcome {
	n := len(d.crew.running)
	o := outcome{away: true, run: n, of: n}
	var names []string
	for _, p := range d.crew.queue {
		if d.crew.mine[p] {
			names = append(names, podinfo.Name(p))
		}
	}
	o.gone = fmt.Sprintf("%s %s away", fewOf(names, len(names)+d.crew.more), verb(len(names)+d.crew.more, "goes", "go"))
	if c.Path == "spec.parallelism" {
		o.gone = fmt.Sprintf("its pods run in turns, %d at a time", n)
	}
	return o
}

// leavesOut returns the change with which a DaemonSet has no pod on the node that is full.
func (d *diagnosis) leavesOut() (c Change, ok bool) {
	if d.cause.Type != causeDaemon || d.owner.kind != "DaemonSet" {
		return c, false
	}
	n := d.base.Node(d.sought.pool[0])
	value := n.Labels[v1.LabelHostname]
	if value == "" {
		return c, false
	}
	r := v1.NodeSelectorRequirement{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpNotIn, Values: []string{value}}
	c = Change{Kind: LeaveOut, Object: "Pod " + podinfo.Name(d.pod), Path: requiredNodeAffinity, From: n.Name, To: value, rule: requiredNodeAffinity, pod: d.pod, edit: func(p *v1.Pod, _ int64) {
		if p.Spec.Affinity == nil {
			p.Spec.Affinity = &v1.Affinity{}
		}
		if p.Spec.Affinity.NodeAffinity == nil {
			p.Spec.Affinity.NodeAffinity = &v1.NodeAffinity{}
		}
		a := p.Spec.Affinity.NodeAffinity
		if a.RequiredDuringSchedulingIgnoredDuringExecution == nil {
			a.RequiredDuringSchedulingIgnoredDuringExecution = &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{}}}
		}
		for k := range a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			t := &a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[k]
			t.MatchExpressions = append(t.MatchExpressions, r)
		}
	}}
	d.own(&c)
	return c, true
}

// leftOut returns the outcome of LeaveOut: the pod goes away, and the others start again with the new template.
func (d *diagnosis) leftOut(changes []Change) outcome {
	n := len(d.crew.running)
	o := outcome{away: true, run: n, of: n, gone: podinfo.Name(d.pod) + " goes away"}
	t := d.trial()
	defer t.end()
	d.restart(t, changes, &o)
	return o
}

// inOrder reports whether a StatefulSet makes its pods one after the other. Of a set that the snapshot does not have it is the default.
func inOrder(s *cluster.Snapshot, by *metav1.OwnerReference, namespace string) bool {
	set, ok := cluster.List[*appsv1.StatefulSet](s).Get(namespace, by.Name)
	return !ok || set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement
}

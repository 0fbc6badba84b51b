package queue

import (
	"encoding/json"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// group has the queued pods of one signature, with ShareFailures: fresh pods are active and were never tried, waiting pods wait
// after a failure that the group shares.
type group struct {
	fresh   []*Entry
	waiting []*Entry
}

// list returns the list that the entry belongs to, nil for none.
func (g *group) list(e *Entry) *[]*Entry {
	switch {
	case e.place == Active && e.Attempts == 0:
		return &g.fresh
	case e.place == Unschedulable && len(e.UnschedulablePlugins) > 0 && len(e.PendingPlugins) == 0:
		return &g.waiting
	}
	return nil
}

func (q *Queue) joinGroup(e *Entry) {
	if q.groups == nil || e.Signature == "" {
		return
	}
	g := q.groups[e.Signature]
	if g == nil {
		g = &group{}
	}
	if l := g.list(e); l != nil {
		q.groups[e.Signature] = g
		e.group = g
		e.member = len(*l)
		*l = append(*l, e)
	}
}

func (q *Queue) leaveGroup(e *Entry) {
	g := e.group
	if g == nil {
		return
	}
	l := g.list(e)
	last := len(*l) - 1
	(*l)[e.member] = (*l)[last]
	(*l)[e.member].member = e.member
	(*l)[last] = nil
	*l = (*l)[:last]
	e.group = nil
	if len(g.fresh)+len(g.waiting) == 0 {
		delete(q.groups, e.Signature)
	}
}

// sharesWith returns a waiting pod whose failure a new entry would only repeat, nil for none. A pod with a nomination shares no
// failure, because its preemption has made room on a node.
func (q *Queue) sharesWith(e *Entry) *Entry {
	if q.groups == nil || e.Signature == "" || q.groups[e.Signature] == nil {
		return nil
	}
	for _, leader := range q.groups[e.Signature].waiting {
		if leader.profile == e.profile && q.nom.Node(leader.Pod) == "" {
			return leader
		}
	}
	return nil
}

// shareFailure makes those equal pods wait that were active before the failed attempt began and were never tried. A pod that
// became active later did so by an event that the attempt may not have seen.
func (q *Queue) shareFailure(e *Entry, popped uint64, now time.Time) {
	if q.groups == nil || e.Signature == "" || len(e.PendingPlugins) > 0 || q.nom.Node(e.Pod) != "" {
		return
	}
	g := q.groups[e.Signature]
	if g == nil {
		return
	}
	fresh := slices.Clone(g.fresh)
	slices.SortFunc(fresh, func(a, b *Entry) int { return int(int64(a.seq) - int64(b.seq)) })
	for _, f := range fresh {
		if f.entered <= popped && f.profile == e.profile && q.nom.Node(f.Pod) == "" {
			q.take(f)
			f.UnschedulablePlugins = e.UnschedulablePlugins
			q.put(f, Unschedulable, cause{reason: sharedFailure}, now)
		}
	}
}

// equalPods is a Signature for pods of one template: a key of the namespace, the labels, the controller and all of the spec that
// schedulers read. It returns "" for pods with objects of their own: generic ephemeral volumes, resource claims, a scheduling
// group. The key leaves out the names of projected token volumes, which differ from pod to pod. Labels that differ from pod to
// pod (statefulset.kubernetes.io/pod-name) keep pods apart.
func equalPods(pod *v1.Pod) string {
	if len(pod.Spec.ResourceClaims) > 0 || pod.Spec.SchedulingGroup != nil {
		return ""
	}
	var volumes []v1.VolumeSource
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i].VolumeSource
		if v.Ephemeral != nil {
			return ""
		}
		if v.Projected == nil && v.ConfigMap == nil && v.Secret == nil && v.DownwardAPI == nil && v.EmptyDir == nil {
			volumes = append(volumes, *v)
		}
	}
	var containers [][]v1.Container
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		var read []v1.Container
		for _, c := range list {
			read = append(read, v1.Container{Image: c.Image, Resources: c.Resources, Ports: c.Ports, RestartPolicy: c.RestartPolicy})
		}
		containers = append(containers, read)
	}
	s := &pod.Spec
	text, err := json.Marshal(struct {
		Namespace  string
		Labels     map[string]string
		Owner      *metav1.OwnerReference
		Containers [][]v1.Container
		Volumes    []v1.VolumeSource
		Spec       v1.PodSpec
	}{pod.Namespace, pod.Labels, metav1.GetControllerOf(pod), containers, volumes, v1.PodSpec{
		SchedulerName: s.SchedulerName, Priority: s.Priority, PreemptionPolicy: s.PreemptionPolicy, NodeSelector: s.NodeSelector,
		Affinity: s.Affinity, Tolerations: s.Tolerations, TopologySpreadConstraints: s.TopologySpreadConstraints,
		Overhead: s.Overhead, Resources: s.Resources, RuntimeClassName: s.RuntimeClassName, HostNetwork: s.HostNetwork, OS: s.OS,
		SchedulingGates: s.SchedulingGates, TerminationGracePeriodSeconds: nil, NodeName: s.NodeName,
	}})
	if err != nil { // no value of these types fails to marshal
		return ""
	}
	return string(text)
}

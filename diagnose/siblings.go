package diagnose

import (
	"cmp"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
)

// mostQueued is the number of waiting pods that a proof decides again. With more of them a remedy does not count the pods of the owner.
const mostQueued = 400

// crew is the pod among the others that wait, and the running pods of its owner.
type crew struct {
	queue   []*v1.Pod        // the pods that wait, the pod among them, in the order in which they are tried
	mine    map[*v1.Pod]bool // pods of the queue that have the pod's owner, the pod too
	more    int              // pods of the owner that wait beside those of the queue
	running []*v1.Pod        // of the owner, in the order in which an edit makes them again: of a StatefulSet the last first, else the scan order
	gated   int              // pods of the owner that wait for a gate and for nothing else
	others  map[*v1.Pod]bool // pods of other owners that get nodes as things are; nil: not asked yet
}

// queued reports whether a scheduler with this profile has a pod to try: the pod is its own, is in no snapshot, has no node, has not finished,
// and is not being deleted.
func queued(s *cluster.Snapshot, profile *placement.Profile, p *v1.Pod) bool {
	return p.Spec.NodeName == "" && p.DeletionTimestamp == nil && !cluster.Finished(p) && s.Pod(p.Namespace, p.Name) == nil && profile.Schedules(p)
}

// crewOf reads the pods that wait beside the pod. Pods of the list that do not wait are left out, and so are pods with gates. When the list
// lacks the pod, the pod is tried last.
func (d *diagnosis) crewOf(in Input) (c crew) {
	c.mine, d.controller = map[*v1.Pod]bool{d.pod: true}, metav1.GetControllerOfNoCopy(d.pod)
	for _, p := range in.Pending {
		switch {
		case p == nil:
		case named(p, d.pod):
			c.queue = append(c.queue, d.pod)
		case !queued(d.base, &d.profile, p):
		case len(p.Spec.SchedulingGates) > 0 && !(d.sibling(p) && len(d.pod.Spec.SchedulingGates) > 0):
			if d.sibling(p) {
				c.gated++
			}
		default:
			c.queue = append(c.queue, p)
			c.mine[p] = d.sibling(p)
		}
	}
	if !slices.Contains(c.queue, d.pod) {
		c.queue = append(c.queue, d.pod)
	}
	if in.More != nil {
		for p, mine := range c.mine {
			if mine {
				c.more += in.More(p)
			}
		}
	}
	if d.controller == nil {
		return c
	}
	add := func(p *v1.Pod) {
		if d.sibling(p) && p.DeletionTimestamp == nil {
			c.running = append(c.running, p)
		}
	}
	if d.controller.Kind != "ReplicaSet" { // of which a Deployment has several
		for _, p := range d.common.ownedBy(d.base, d.slots, d.pod.Namespace, d.controller) {
			add(p)
		}
	} else {
		for _, i := range d.slots {
			for p := range d.base.Pods(i) {
				add(p)
			}
		}
	}
	if d.owner.kind == "StatefulSet" {
		slices.SortStableFunc(c.running, func(a, b *v1.Pod) int { return cmp.Compare(ordinal(b), ordinal(a)) })
	}
	return c
}

// waiting returns the pods that wait, those with gates too.
func (d *diagnosis) waiting() []*v1.Pod {
	return slices.DeleteFunc(slices.Clone(d.input.Pending), func(p *v1.Pod) bool { return p == nil || !d.profile.Schedules(p) })
}

// sibling reports whether another pod has the pod's owner.
func (d *diagnosis) sibling(p *v1.Pod) bool {
	a := d.controller
	if a == nil || p.Namespace != d.pod.Namespace {
		return false
	}
	b := metav1.GetControllerOfNoCopy(p)
	if b == nil || a.Kind != b.Kind || p.Name == d.pod.Name {
		return false
	}
	return a.Name == b.Name || a.Kind == "ReplicaSet" && ownerOf(d.base, p) == d.owner
}

// like reports whether an edit of the pod's rules means the same in a pod of its owner: the rules are equal. Pods of an older revision of a
// template may have other rules.
func (d *diagnosis) like(p *v1.Pod) bool {
	a, b := &d.pod.Spec, &p.Spec
	if !reflect.DeepEqual(a.NodeSelector, b.NodeSelector) || !reflect.DeepEqual(a.Affinity, b.Affinity) || !reflect.DeepEqual(a.TopologySpreadConstraints, b.TopologySpreadConstraints) ||
		!reflect.DeepEqual(a.SchedulingGates, b.SchedulingGates) || len(a.ResourceClaims) != len(b.ResourceClaims) {
		return false
	}
	same := func(a, b []v1.Container) bool {
		return slices.EqualFunc(a, b, func(x, y v1.Container) bool {
			return reflect.DeepEqual(x.Resources, y.Resources) && reflect.DeepEqual(x.Ports, y.Ports)
		})
	}
	return same(a.Containers, b.Containers) && same(a.InitContainers, b.InitContainers)
}

// before returns how many pods of the queue there are up to the last one of the owner.
func (c *crew) before() int {
	last := 0
	for k, p := range c.queue {
		if c.mine[p] {
			last = k + 1
		}
	}
	return last
}

// waiting returns how many pods of the owner wait for a node.
func (c *crew) waiting() int {
	n := c.more
	for _, mine := range c.mine {
		if mine {
			n++
		}
	}
	return n
}

// moreImportant reports whether a pod is at least as important as another one.
func moreImportant(a, b *v1.Pod) bool { return podinfo.Priority(a) >= podinfo.Priority(b) }

package diagnose

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/nodepool"
	"github.com/podberth/podberth/internal/podinfo"
)

// This file gives the room back that something else than the requests of running pods holds.

// mostResizes is the number of deferred resizes that are tried.
const mostResizes = 4

// resizes returns the changes that each take back a resize in place which the kubelet has deferred: until then the scheduler counts what the resize asks
// for. Resizes of pods of higher priority stay.
func (d *diagnosis) resizes() (out []Change) {
	if d.cause.Type != causeFull {
		return nil
	}
	for _, i := range d.sought.open {
		for p := range d.base.Pods(i) {
			if deferred(p) < 0 || podinfo.Priority(p) > podinfo.Priority(d.pod) || len(out) == mostResizes {
				continue
			}
			back := p.DeepCopy()
			at := deferred(back)
			back.Status.Conditions = slices.Delete(back.Status.Conditions, at, at+1)
			var from, to []string
			for _, s := range back.Status.ContainerStatuses {
				for k := range back.Spec.Containers {
					c := &back.Spec.Containers[k]
					for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
						asks, has := c.Resources.Requests[name], s.AllocatedResources[name]
						if c.Name != s.Name || has.IsZero() || asks.Cmp(has) <= 0 {
							continue
						}
						c.Resources.Requests[name] = has
						from, to = append(from, fmt.Sprintf("%s %s", name, asks.String())), append(to, has.String())
					}
				}
			}
			if from == nil {
				continue
			}
			out = append(out, Change{Kind: Resize, Object: "Pod " + podinfo.Name(p), Path: "spec.containers", From: strings.Join(from, ", "), To: strings.Join(to, ", "), make: func(s *cluster.Snapshot, _ *Change) {
				if s.Pod(p.Namespace, p.Name) == p {
					must.Do(s.Set(back))
				}
			}})
		}
	}
	return out
}

// deferred returns the place of the condition that says that the kubelet has deferred the resize of a pod, -1 for none.
func deferred(p *v1.Pod) int {
	return slices.IndexFunc(p.Status.Conditions, func(c v1.PodCondition) bool {
		return c.Type == v1.PodResizePending && c.Status == v1.ConditionTrue && c.Reason == v1.PodReasonDeferred
	})
}

// maxPods returns the change with which the kubelets of a pool whose nodes are full of pods take as many more as the waiting pods of the owner need. ok
// is false when the pods are not what lacks room, and when it does not help.
func (d *diagnosis) maxPods() (c Change, ok bool) {
	if d.cause.Type != causeFull || d.sought.packed == nil {
		return c, false
	}
	first := d.base.Node(d.sought.packed[0])
	most := first.Status.Allocatable.Pods().Value()
	pool, _ := nodepool.Of(first)
	var names []string
	for _, i := range d.sought.packed {
		n := d.base.Node(i)
		if name, _ := nodepool.Of(n); name == pool && n.Status.Allocatable.Pods().Value() == most {
			names = append(names, n.Name)
		}
	}
	whose := "the kubelet of " + first.Name
	switch {
	case pool != "":
		whose = "the kubelets of pool " + pool
	case len(names) > 1:
		whose = fmt.Sprintf("the kubelets of %s", few(names))
	}
	with := func(more int64) Change {
		to := decimal(most + more)
		return Change{Kind: MaxPods, Object: "Node " + first.Name, Path: "status.allocatable[pods]", From: decimal(most), To: to, key: whose, make: func(s *cluster.Snapshot, _ *Change) {
			for _, name := range names {
				if s.Slot(name) >= 0 {
					editNode(s, name, func(n *v1.Node) {
						n.Status.Allocatable[v1.ResourcePods] = *resource.NewQuantity(most+more, resource.DecimalSI)
					})
				}
			}
		}}
	}
	waiting := int64(d.crew.waiting())
	last := d.prove([]Change{with(waiting)})
	if last.node == "" {
		return c, false
	}
	less := largestOf(waiting-1, func(v int64) bool { // with how many more too few run
		o := d.prove([]Change{with(v)})
		return o.node == "" || o.run < last.run
	})
	return with(less + 1), true
}

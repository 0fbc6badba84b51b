package lint

import (
	"cmp"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/affinity"
)

// mostPerNode is the number of replicas on one node for which fitting looks for an amount.
const mostPerNode = 16

// fitting returns the largest amount of a resource with which all pods of a workload get nodes, at most most: of the amounts that divide the
// free room of a node by a number of pods. When no such amount helps, it returns most, and how many pods get nodes with that.
func (c *checker) fitting(w *work, name v1.ResourceName, most resource.Quantity) (fits resource.Quantity, pods int) {
	whole := c.withAmount(w, name, most)
	if whole.all(w) {
		return most, w.replicas
	}
	var list []int64
	for _, n := range c.left(w) {
		free := n.Status.Allocatable[name]
		for k := range int64(min(mostPerNode, max(w.replicas, 1))) {
			if q := rounded(name, free.MilliValue()/(k+1)); q.Sign() > 0 && q.Cmp(most) < 0 {
				list = append(list, q.MilliValue())
			}
		}
	}
	slices.SortFunc(list, func(a, b int64) int { return cmp.Compare(b, a) })
	list = slices.Compact(list)
	at, _ := slices.BinarySearchFunc(list, true, func(milli int64, _ bool) int {
		if c.withAmount(w, name, rounded(name, milli)).all(w) {
			return 1
		}
		return -1
	})
	if at == len(list) {
		return most, whole.count()
	}
	return rounded(name, list[at]), w.replicas
}

// atMost is the fix of a request that no node has: the most that the workload can reach, or less when not all of its pods would get nodes with
// that, or the most and fewer replicas.
func (c *checker) atMost(w *work, name v1.ResourceName, most resource.Quantity) string {
	q, pods := c.fitting(w, name, most)
	out := "at most " + q.String()
	switch {
	case w.kind == "DaemonSet": // one larger node does not help the others
		return out + " on every node"
	case !w.runs() && pods > 0 && (pods < w.replicas || q.Cmp(most) < 0):
		out += " with " + amount(pods, "replica", "replicas")
	}
	return out + ", or a larger node"
}

// takesTwin reports whether a workload could use one node more: no twin of a node, under another name, is meant by its selectors when they
// name nodes.
func (c *checker) takesTwin(w *work) bool {
	s, _ := affinity.CompileRequired(w.pod)
	for _, n := range c.reachable(w) {
		twin := *n
		twin.Name, twin.Labels = n.Name+"-twin", maps.Clone(n.Labels)
		if _, has := twin.Labels[v1.LabelHostname]; has {
			twin.Labels[v1.LabelHostname] = twin.Name
		}
		if s.Matches(&twin) {
			return true
		}
	}
	return false
}

// rounded returns an amount in whole units that people write: thousandths of a CPU, mebibytes, whole ones. In contrast to the rounding of
// package diagnose, which proposes an amount below one that it has found, this amount is the largest that fits: fewer digits would lose room.
func rounded(name v1.ResourceName, milli int64) resource.Quantity {
	const mebi = 1 << 20
	switch bytes := milli / 1000; {
	case name == v1.ResourceCPU:
		return *resource.NewMilliQuantity(milli, resource.DecimalSI)
	case name == v1.ResourceMemory || name == v1.ResourceEphemeralStorage:
		if bytes > mebi {
			bytes = bytes / mebi * mebi
		}
		return *resource.NewQuantity(bytes, resource.BinarySI)
	default:
		return *resource.NewQuantity(bytes, resource.DecimalSI)
	}
}

// withAmount returns the trial of a workload whose pods ask for this amount of a resource in all, overhead included.
func (c *checker) withAmount(w *work, name v1.ResourceName, amount resource.Quantity) *trial {
	amount = amount.DeepCopy() // a large one shares its digits with its copies
	if amount.Sub(w.pod.Spec.Overhead[name]); amount.Sign() < 0 {
		return &trial{failed: w.pod, placed: true}
	}
	return c.edited(w, func(s *v1.PodSpec) { ask(s, name, amount) })
}

// edited returns the trial of a workload after an edit of its template.
func (c *checker) edited(w *work, edit func(s *v1.PodSpec)) *trial {
	manifest := w.manifest.(runtime.Object).DeepCopyObject().(metav1.Object)
	if t, _ := admission.Template(manifest); t != nil {
		edit(&t.Spec)
	} else if p, is := manifest.(*v1.Pod); is {
		edit(&p.Spec)
	}
	more := *w
	more.manifest, more.trial, more.given, more.pod = manifest, nil, w.given.DeepCopy(), w.pod.DeepCopy()
	edit(&more.given.Spec)
	edit(&more.pod.Spec)
	return c.try(&more, false)
}

// all reports whether all pods of a workload get nodes; of a Job, whether one does.
func (t *trial) all(w *work) bool {
	return t.broken == nil && t.refuse == nil && (t.failed == nil || w.runs() && t.count() > 0)
}

// ask makes the containers of a pod ask for an amount of a resource in all. The first container asks for it.
func ask(s *v1.PodSpec, name v1.ResourceName, amount resource.Quantity) {
	write := func(list v1.ResourceList, q resource.Quantity) {
		if _, has := list[name]; has {
			list[name] = q
		}
	}
	if r := s.Resources; r != nil {
		write(r.Requests, amount)
		write(r.Limits, amount)
	}
	for _, containers := range [...][]v1.Container{s.Containers, s.InitContainers} {
		for i := range containers {
			r, q := &containers[i].Resources, resource.Quantity{}
			if i == 0 {
				if q = amount; r.Requests == nil {
					r.Requests = v1.ResourceList{}
				}
				r.Requests[name] = q
			}
			write(r.Requests, q)
			write(r.Limits, q)
		}
	}
}

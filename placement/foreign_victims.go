package placement

import (
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/view"
	"github.com/podberth/podberth/preemption"
)

// suspects are the pods that may keep a pod off the slots of a domain, although they are on another slot of it. They are the
// pods of lower priority that
//
//   - required anti-affinity, of the pod or of the other pods, rejects in a domain,
//   - the DoNotSchedule spread constraints count in a domain,
//   - use a claim of the pod, in every domain.
//
// Some of them may turn out not to matter.
type suspects struct {
	pods []preemption.Placed // in the order of the slots
	keys []string
	by   []map[string][]int32 // by key: the suspects of each value, in order
	sure []map[string][]int32 // by key: those of them that anti-affinity rejects in the domain
	all  []int32              // suspects in every domain

	lists map[string]suspectList // by the values of a slot
	text  []byte
	merge []int32
}

// suspectList has the suspects of the slots of equal domains.
type suspectList struct {
	all, sure []preemption.Placed
}

// foreign returns the suspects of slot i, those on slot i too. The first call takes O(pods), further calls O(suspects) once for
// each combination of domains. The slots of equal domains share a list, which nobody may change.
func (w *whatIf) foreign(i int) []preemption.Placed {
	if w.suspects == nil {
		w.suspects = w.attempt.suspects()
	}
	return w.suspects.of(w.attempt.plan.cluster.Node(i)).all
}

// Bars returns the pods of lower priority that required anti-affinity keeps apart from the preemptor on slot i, on whatever slot
// they are: the preemptor does not fit on slot i before all of them have left. Slots of equal domains share a list, which nobody
// may change. Bars returns nil if nobody has asked for the pods of other nodes before (CrossNode). O(topology keys).
func (w *whatIf) Bars(i int) []preemption.Placed {
	if w.suspects == nil {
		return nil
	}
	return w.suspects.of(w.attempt.plan.cluster.Node(i)).sure
}

func (a *Attempt) suspects() *suspects {
	c := a.plan.cluster
	x := &suspects{lists: map[string]suspectList{}}
	var all []repelling
	for _, p := range a.Predicates {
		// By which topology keys a pod may keep the incoming pod off the other nodes of a domain. The function is made once for an
		// incoming pod, and is quick for pods that keep nobody off.
		if r, ok := p.(interface {
			Repels(pod *v1.Pod) func(q *v1.Pod) (keys []string)
		}); ok {
			kind, known := p.(interface{ RepelsEach() bool })
			all = append(all, repelling{r.Repels(a.pod), known && kind.RepelsEach(), known})
		}
	}
	priority := podinfo.Priority(a.pod)
	slots := a.repelled(all)
	for j := range c.Len() {
		if c.Node(j) == nil || slots != nil && !slots[j] {
			continue
		}
		for q := range c.Pods(j) {
			if podinfo.Priority(q) >= priority {
				continue
			}
			at, claim := int32(len(x.pods)), a.sharesClaim(q)
			found := claim
			if claim {
				x.all = append(x.all, at)
			}
			for _, r := range all {
				for _, key := range r.keys(q) {
					if value, has := c.Node(j).Labels[key]; has && !claim {
						x.add(key, value, at, r.apart)
						found = true
					}
				}
			}
			if found {
				x.pods = append(x.pods, preemption.Placed{Pod: q, Slot: j})
			}
		}
	}
	return x
}

// repelling is a filter that looks at the pods of a domain.
type repelling struct {
	keys  func(q *v1.Pod) []string
	apart bool // one pod is enough
	sets  bool // the filter looks only at the labels, the namespace and the terms of q
}

// repelled returns the slots of which a pod may repel the incoming pod; nil: all. It asks about one pod of each set of equal pods.
func (a *Attempt) repelled(all []repelling) []bool {
	c, ok := a.plan.cluster.(interface {
		view.PodSets
		view.TermSets
	})
	if !ok || slices.ContainsFunc(all, func(r repelling) bool { return !r.sets }) ||
		slices.ContainsFunc(a.pod.Spec.Volumes, func(v v1.Volume) bool { return v.PersistentVolumeClaim != nil }) {
		return nil
	}
	slots := make([]bool, a.plan.cluster.Len())
	mark := func(rep *v1.Pod, nodes []int32) {
		if rep != nil && slices.ContainsFunc(all, func(r repelling) bool { return len(r.keys(rep)) > 0 }) {
			for _, i := range nodes {
				slots[i] = true
			}
		}
	}
	c.PodSets("", "", "", func(id int32) {
		rep, nodes, _ := c.PodSet(id)
		mark(rep, nodes)
	})
	for id := range c.TermSets() {
		rep, nodes, _ := c.TermSet(int32(id))
		mark(rep, nodes)
	}
	return slots
}

func (x *suspects) add(key, value string, at int32, sure bool) {
	k := slices.Index(x.keys, key)
	if k < 0 {
		k = len(x.keys)
		x.keys, x.by, x.sure = append(x.keys, key), append(x.by, map[string][]int32{}), append(x.sure, map[string][]int32{})
	}
	x.by[k][value] = append(x.by[k][value], at)
	if sure {
		x.sure[k][value] = append(x.sure[k][value], at)
	}
}

// of returns the suspects of a node.
func (x *suspects) of(node *v1.Node) suspectList {
	x.text = x.text[:0]
	for _, key := range x.keys {
		value, has := node.Labels[key]
		if has {
			x.text = append(x.text, 1)
		}
		x.text = append(append(x.text, value...), 0)
	}
	if list, ok := x.lists[string(x.text)]; ok {
		return list
	}
	list := suspectList{x.merged(node, x.all, x.by), x.merged(node, nil, x.sure)}
	x.lists[string(x.text)] = list
	return list
}

// merged returns the suspects of every domain and those of the node's domains, in order.
func (x *suspects) merged(node *v1.Node, all []int32, by []map[string][]int32) []preemption.Placed {
	x.merge = append(x.merge[:0], all...)
	for k, key := range x.keys {
		if value, has := node.Labels[key]; has {
			x.merge = append(x.merge, by[k][value]...)
		}
	}
	slices.Sort(x.merge)
	list := make([]preemption.Placed, 0, len(x.merge))
	for n, at := range x.merge {
		if n == 0 || at != x.merge[n-1] {
			list = append(list, x.pods[at])
		}
	}
	return list
}

// keepsOff reports whether q on slot j may keep the incoming pod off slot i, by one of the keys.
func keepsOff(c Cluster, keys []string, i, j int) bool {
	at, other := c.Node(i).Labels, c.Node(j).Labels
	for _, key := range keys {
		if value, has := at[key]; has {
			if v, ok := other[key]; ok && v == value {
				return true
			}
		}
	}
	return false
}

// sharesClaim reports whether q uses a claim of the pod.
func (a *Attempt) sharesClaim(q *v1.Pod) bool {
	if a.pod.Namespace != q.Namespace {
		return false
	}
	for _, v := range a.pod.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		for _, u := range q.Spec.Volumes {
			if u.PersistentVolumeClaim != nil && u.PersistentVolumeClaim.ClaimName == v.PersistentVolumeClaim.ClaimName {
				return true
			}
		}
	}
	return false
}

// pair is a cluster of two nodes in one domain of a key and in no other domain. At most one pod runs, on the second node.
type pair struct {
	all  Cluster
	node *v1.Node
	pod  *v1.Pod // nil: none
}

// Len returns 2.
func (c *pair) Len() int { return 2 }

// Node returns the node, which both slots share.
func (c *pair) Node(int) *v1.Node { return c.node }

// Pods yields the pod for the second slot.
func (c *pair) Pods(k int) iter.Seq[*v1.Pod] {
	return func(yield func(*v1.Pod) bool) {
		if k == 1 && c.pod != nil {
			yield(c.pod)
		}
	}
}

// Namespaces yields all namespaces of the cluster.
func (c *pair) Namespaces() iter.Seq2[string, map[string]string] { return c.all.Namespaces() }

package affinity

import (
	"iter"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/view"
)

// Cluster is the part of a cluster that inter-pod affinity reads.
//
// Pods yields the pods assigned to a slot: terminating pods included, Succeeded and Failed pods not. Namespaces yields all
// known namespaces with their labels; Count calls it only when a term has a namespaceSelector.
//
// When the cluster also has some of these methods, Count is faster and gives the same answers:
//
//	Domains(key string) (ids []int32, domains, have int)
//	PodSets(namespace, key, value string, yield func(id int32))
//	PodSet(id int32) (rep *v1.Pod, nodes, counts []int32)
//	TermSets() int
//	TermSet(id int32) (rep *v1.Pod, nodes, counts []int32)
//	Namespace(name string) (labels map[string]string, ok bool)
//
// Domains returns for each slot the number of its value of a node label, -1 without the label or without a node. It also returns how many
// values there are, and how many nodes have the label.
//
// PodSets yields the pod sets that have a label pair: all sets when key is "", of every namespace when namespace is "". All
// running pods of one pod set have the same namespace and the same labels. All running pods of one term set have the same namespace and
// the same inter-pod affinity terms. PodSet and TermSet return one pod of the set, the slots that its pods run on, and how many run on
// each.
type Cluster interface {
	Len() int
	Node(i int) *v1.Node
	Pods(i int) iter.Seq[*v1.Pod]
	Namespaces() iter.Seq2[string, map[string]string]
}

// Namespaces yields all known namespaces with their labels. It is the part of [Cluster] that queueing hints need.
type Namespaces interface {
	Namespaces() iter.Seq2[string, map[string]string]
}

// labelsOf returns the labels of a namespace. known is false, and the labels are nil, when the cluster does not have the
// namespace.
func labelsOf(name string, in Namespaces) (labels map[string]string, known bool) {
	if direct, ok := in.(interface {
		Namespace(name string) (labels map[string]string, ok bool)
	}); ok {
		return direct.Namespace(name)
	}
	return findLabels(name, in)
}

// findLabels is labelsOf without the direct question. Its results are captured, so that they need memory.
func findLabels(name string, in Namespaces) (labels map[string]string, known bool) {
	for other, set := range in.Namespaces() {
		if other == name {
			return set, true
		}
	}
	return nil, false
}

// column is one topology key: the domain of each slot and the counts by domain. A count slice is nil, with counts of 0,
// until the first count of its kind.
type column struct {
	key    string
	ids    []int32 // by slot; -1: the node lacks the key
	values int     // number of domains
	unique bool    // every domain has one node, as with kubernetes.io/hostname

	affinity []int32 // pods that match all required affinity terms; such a pod counts once for each term with this key
	anti     []int32 // pods that match a required anti-affinity term, summed over the terms
	existing []int32 // required anti-affinity terms of running pods that match the incoming pod
	score    []int64 // sum of weights
}

func newColumn(cluster Cluster, key string) column {
	c := column{key: key}
	var have int
	c.ids, c.values, have = view.Domains(cluster, key)
	c.unique = c.values == have
	return c
}

// domain returns the domain of slot i, -1 when its node lacks the key.
func (c *column) domain(i int) int32 {
	if uint(i) < uint(len(c.ids)) {
		return c.ids[i]
	}
	return -1
}

func countIn[T int32 | int64](counts []T, domain int32) T {
	if uint(domain) < uint(len(counts)) {
		return counts[domain]
	}
	return 0
}

// add adds n to a count and returns the change in the number of counts that are not 0: -1, 0 or 1.
func (c *column) add(counts *[]int32, domain, n int32) int {
	if *counts == nil {
		*counts = make([]int32, c.values)
	}
	p := &(*counts)[domain]
	before := *p
	*p += n
	switch {
	case n == 0:
		return 0
	case before == 0:
		return 1
	case *p == 0:
		return -1
	}
	return 0
}

// prepare makes the counts that a cell adds to, in a memory.
func (c *column) prepare(x *cell, m *engine.Memory) {
	if x.affinity != 0 && c.affinity == nil {
		c.affinity = m.Counts(c.values)
	}
	if x.anti != 0 && c.anti == nil {
		c.anti = m.Counts(c.values)
	}
	if x.existing != 0 && c.existing == nil {
		c.existing = m.Counts(c.values)
	}
}

func (c *column) addScore(domain int32, n int64) {
	if c.score == nil {
		c.score = make([]int64, c.values)
	}
	c.score[domain] += n
}

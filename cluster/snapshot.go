package cluster

import (
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
)

// Snapshot is a cluster: nodes in slots, the pods on them, the objects that scheduling looks up, and the indexes over them.
// New makes a Snapshot; the zero value is not usable. A Snapshot must not be copied by value; use Fork. Reads and
// Fork may run concurrently. Any other call must not run concurrently with a call on the same snapshot.
type Snapshot struct {
	core

	// Forks do not share the scratch memory and the undo log.
	key       []byte
	request   resources.Vector
	recording bool
	serial    uint64
	open      []open
	undo      []undo

	// Indexes that the first question makes.
	lazy    sync.RWMutex // a read that makes an index may run beside other reads
	indexes map[indexKey]*valueIndex
	images  *images
	order   []int32
	late    []int32 // pod sets that postings do not have yet
}

// core is the part of a snapshot that Fork copies. Afterwards neither snapshot owns what the headers point to.
type core struct {
	own         *owner
	schema      *resources.Schema
	schemaOwn   *owner
	n, live     int
	free        []int32
	nodes       column[*v1.Node]
	rows        column[*row]
	allocatable vectors
	requested   vectors
	nonZero     column[[2]int64]
	nodeIndex   layered[string]
	index       podIndex
	orphans     table[*v1.Pod]
	orphanKeys  layered[podKey]
	members     table[*v1.Pod] // of groups, by namespace and group
	sets        groups
	terms       groups
	postings    postings
	tree        *zoneTree
	objects     objects
	changes     changes[Event]
	claims      changes[ClaimEvent]
	release     release.Version
}

// PodSets calls yield for the id of each pod set that has pods and the label key with that value, in the namespace. Key ""
// means any labels, and namespace "" means every namespace. O(sets with that label pair), and the first call after pods came O(their new sets).
func (s *Snapshot) PodSets(namespace, key, value string, yield func(id int32)) {
	s.lazy.RLock()
	late := len(s.late) > 0
	s.lazy.RUnlock()
	if late {
		s.lazy.Lock()
		s.listSets()
		s.lazy.Unlock()
	}
	s.postings.each(namespace, key, value, func(ids []int32) {
		for _, id := range ids {
			if len(s.sets.at(id).nodes) > 0 {
				yield(id)
			}
		}
	})
}

// listSets puts the late pod sets into the lists by label.
func (s *Snapshot) listSets() {
	for _, id := range s.late {
		rep := s.sets.at(id).id.rep
		s.postings.add(s.own, rep.Namespace, rep.Labels, id)
	}
	s.late = s.late[:0]
}

// PodSet returns a pod set, the running pods equal in namespace, labels and whether they are terminating. rep is a pod that is
// or was in the set, nodes has the slots with pods of the set in no particular order, and counts has their number on each
// slot. A set without pods has no nodes. An id that is not in use has a nil rep; an id that the snapshot never gave out
// panics. Read-only and valid until the next change. O(1).
func (s *Snapshot) PodSet(id int32) (rep *v1.Pod, nodes, counts []int32) {
	return s.sets.read(id)
}

// TermSets returns the number of term set ids. The ids run from 0 to TermSets()-1; some may be free.
func (s *Snapshot) TermSets() int { return s.terms.n }

// TermSet returns a term set, the running pods equal in namespace and in inter-pod affinity and anti-affinity terms. The
// results are those of PodSet. Pods without such terms are in no term set. An id without nodes is free. O(1).
func (s *Snapshot) TermSet(id int32) (rep *v1.Pod, nodes, counts []int32) {
	return s.terms.read(id)
}

func (g *groups) read(id int32) (rep *v1.Pod, nodes, counts []int32) {
	c := g.at(id)
	if c.id == nil {
		return nil, nil, nil
	}
	return c.id.rep, c.nodes, c.counts
}

package affinity_test

import (
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/view"
)

// indexed is a world with every optional interface, built once.
type indexed struct {
	*world
	sets, terms []set
}

type set struct {
	rep           *v1.Pod
	nodes, counts []int32
}

func index(w *world) *indexed {
	x := &indexed{world: w}
	byLabels, byTerms := map[string]int{}, map[string]int{}
	for i := range w.nodes {
		for _, p := range w.pods[i] {
			x.sets = place(x.sets, byLabels, fmt.Sprint(p.Namespace, p.Labels, p.DeletionTimestamp != nil), p, i)
			if a := p.Spec.Affinity; a != nil && (a.PodAffinity != nil || a.PodAntiAffinity != nil) {
				x.terms = place(x.terms, byTerms, p.Namespace+text(a.PodAffinity)+text(a.PodAntiAffinity), p, i)
			}
		}
	}
	x.terms = append(x.terms, set{rep: pod("d", "", "anti h {} nssel={}")}) // has no pods any more
	return x
}

// podSets and termSets are one of the optional indexes.
type (
	podSets  interface{ view.PodSets }
	termSets interface{ view.TermSets }
)

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func place(sets []set, ids map[string]int, key string, p *v1.Pod, i int) []set {
	id, ok := ids[key]
	if !ok {
		id = len(sets)
		ids[key] = id
		sets = append(sets, set{rep: p})
	}
	s := &sets[id]
	if n := len(s.nodes); n > 0 && s.nodes[n-1] == int32(i) {
		s.counts[n-1]++
	} else {
		s.nodes, s.counts = append(s.nodes, int32(i)), append(s.counts, 1)
	}
	return sets
}

func (x *indexed) Domains(key string) (ids []int32, domains, have int) {
	seen := map[string]int32{}
	for _, n := range x.nodes {
		id := int32(-1)
		if n != nil {
			if v, ok := n.Labels[key]; ok {
				if id, ok = seen[v]; !ok {
					id = int32(len(seen))
					seen[v] = id
				}
				have++
			}
		}
		ids = append(ids, id)
	}
	return ids, len(seen), have
}

func (x *indexed) PodSets(namespace, key, value string, yield func(id int32)) {
	for id, s := range x.sets {
		if namespace != "" && s.rep.Namespace != namespace {
			continue
		}
		if v, ok := s.rep.Labels[key]; key == "" || ok && v == value {
			yield(int32(id))
		}
	}
}

func (x *indexed) PodSet(id int32) (rep *v1.Pod, nodes, counts []int32) {
	s := x.sets[id]
	return s.rep, s.nodes, s.counts
}

func (x *indexed) TermSets() int { return len(x.terms) }

func (x *indexed) TermSet(id int32) (rep *v1.Pod, nodes, counts []int32) {
	s := x.terms[id]
	return s.rep, s.nodes, s.counts
}

func (x *indexed) Classes(reads []string) (ids, reps []int32, ok bool) {
	seen := map[string]int32{}
	for i, n := range x.nodes {
		if n == nil {
			ids = append(ids, -1)
			continue
		}
		key := ""
		for _, r := range reads {
			if r == "name" {
				key += "name=" + n.Name + ";"
				continue
			}
			v, ok := n.Labels[r[len("label:"):]]
			key += fmt.Sprintf("%q %t;", v, ok)
		}
		id, ok := seen[key]
		if !ok {
			id = int32(len(reps))
			seen[key] = id
			reps = append(reps, int32(i))
		}
		ids = append(ids, id)
	}
	return ids, reps, true
}

// sparse puts free slots between the nodes of a world.
func sparse(w *world) *world {
	s := &world{namespaces: w.namespaces}
	for i := range w.nodes {
		s.nodes = append(s.nodes, w.nodes[i], nil)
		s.pods = append(s.pods, w.pods[i], nil)
	}
	return s
}

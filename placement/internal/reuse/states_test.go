package reuse

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement/internal/hooks"
	"github.com/podberth/podberth/resources"
)

// guards is a filter with KeepByAllPods: running pods with anti-affinity keep pods of some app away from their node or rack. A pod may bring
// the first term with some topology key.
type guards struct{ testPlugin }

func (x guards) Compile(pod *v1.Pod) (hooks.Compiled, error) {
	x.c["guards compile"]++
	if x.pod = pod; pod.Labels["guards"] == "skip" {
		return nil, nil
	}
	return &guarded{guards: x}, nil
}

// keys returns the topology keys of the terms of a running pod that match the pod.
func (x guards) keys(running *v1.Pod) (keys []string) {
	if running == nil || running.Spec.Affinity == nil || running.Spec.Affinity.PodAntiAffinity == nil {
		return nil
	}
	for _, term := range running.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		if term.LabelSelector.MatchLabels["app"] == x.pod.Labels["app"] {
			keys = append(keys, term.TopologyKey)
		}
	}
	return keys
}

func (x guards) domain(i int, key string) string {
	if key == v1.LabelHostname {
		return x.s.Node(i).Name
	}
	return x.label(i, key)
}

// guarded is a pod and the term sets that match the pod.
type guarded struct {
	guards
	matched []int32
}

func (*guarded) Everywhere() {}

func (x *guarded) AppendKey(dst []byte) []byte {
	x.matched = nil
	for id := range int32(x.s.TermSets()) {
		if rep, _, _ := x.s.TermSet(id); len(x.keys(rep)) > 0 {
			x.matched, dst = append(x.matched, id), fmt.Append(dst, id, "/")
		}
	}
	return dst
}

func (x *guarded) Matched(id int32) bool { return slices.Contains(x.matched, id) }

func (x *guarded) Count() hooks.State {
	x.c["guards count"]++
	state := &guardState{guards: x.guards, in: map[string]map[string]int32{}}
	for i := range x.s.Len() {
		if x.s.Node(i) != nil {
			for p := range x.s.Pods(i) {
				state.add(i, x.keys(p), 1)
			}
		}
	}
	return state
}

type guardState struct {
	guards
	list []string                    // topology keys
	in   map[string]map[string]int32 // pods by topology key and domain
}

func (x *guardState) add(i int, keys []string, n int32) {
	for _, key := range keys {
		if x.in[key] == nil {
			x.in[key], x.list = map[string]int32{}, append(x.list, key)
		}
		x.in[key][x.domain(i, key)] += n
	}
}

func (x *guardState) Filter() filter.Predicate { return x }
func (*guardState) Score() hooks.Scorer        { return nil }
func (x *guardState) Reads(dst []string) []string {
	for _, key := range x.list {
		dst = append(dst, "label:"+key)
	}
	return dst
}
func (x *guardState) Keys() int { return len(x.list) }
func (x *guardState) AppendLayoutKey(dst []byte) []byte {
	return append(append(dst, strings.Join(x.list, " ")...), 0)
}
func (x *guardState) Single() bool                  { return x.in[v1.LabelHostname] != nil }
func (*guardState) OfSet(rep *v1.Pod) hooks.Counter { return nil }

func (x *guardState) AppendDomains(dst []int32, i int) []int32 {
	for _, key := range x.list {
		if key == v1.LabelHostname {
			dst = append(dst, 0)
		} else {
			dst = append(dst, int32((x.domain(i, key) + "-")[0]))
		}
	}
	return dst
}

func (x *guardState) AppendCounts(dst []int32, i int) ([]int32, bool) {
	if !x.Single() {
		return dst, false
	}
	n := x.in[v1.LabelHostname][x.s.Node(i).Name]
	return append(dst, n), n != 0
}

func (x *guardState) AppendCounted(dst []int32) []int32 {
	for i := range x.s.Len() {
		if x.s.Node(i) != nil && x.in[v1.LabelHostname][x.s.Node(i).Name] != 0 {
			dst = append(dst, int32(i), int32(i)) // a slot may come twice
		}
	}
	return dst
}

func (x *guardState) OfTerms(_ int32, rep *v1.Pod) hooks.Counter {
	x.c["guards terms"]++
	keys := x.keys(rep)
	if keys == nil {
		return nil
	}
	return func(slot int, n int32) { x.add(slot, keys, n) }
}

func (x *guardState) Check(i int) resources.Verdict {
	x.c["guards check"]++
	for _, key := range x.list {
		if x.in[key][x.domain(i, key)] > 0 {
			return 3
		}
	}
	return 0
}

// shelves is a filter and a score with KeepByAllPods. What matters is the shelf of a node, which changes without the node. The verdict is
// what a book says that the pod names; what books say changes too.
type shelves struct {
	testPlugin
	f    *field
	form int // of the state, see Count
}

func (shelves) Lasts() {}

func (x shelves) AppendPodKey(dst []byte, pod *v1.Pod) ([]byte, bool) {
	name := pod.Labels["shelves"]
	return append(append(dst, x.f.books[name]...), 0), name != "unserved"
}

func (x shelves) Epoch() uint64 { return x.f.tide }

func (x shelves) Compile(pod *v1.Pod) (hooks.Compiled, error) {
	x.c["shelves compile"]++
	switch says := x.f.books[pod.Labels["shelves"]]; says {
	case "":
		return nil, nil
	case "fail":
		return nil, errors.New("fails")
	default:
		x.pod = pod.DeepCopy()
		x.pod.Labels["shelves"] = says
		return x, nil
	}
}

func (x shelves) AppendKey(dst []byte) []byte {
	return append(append(dst, x.pod.Labels["shelves"]...), 0)
}
func (shelves) Matched(int32) bool { return false }

func (x shelves) number(i int) int { return (x.f.shelf[x.s.Node(i).Name] + int(x.f.tide)) % 4 }

type (
	shelfState    struct{ shelves }
	perPodShelf   struct{ *shelfState }
	divideShelves struct{ shelves }
)

func (x shelves) Count() hooks.State {
	x.c["shelves count"]++
	state := &shelfState{x}
	if x.form == 2 {
		return perPodShelf{state}
	}
	return state
}

func (divideShelves) Divides() {}

// counting returns the Counting of the form.
func (x shelves) counting() hooks.Counting {
	if x.form == 1 {
		return divideShelves{x}
	}
	return x
}

func (x perPodShelf) Of(pod *v1.Pod) filter.Predicate {
	y := x.shelves
	y.pod = pod.DeepCopy()
	y.pod.Labels["shelves"] = x.pod.Labels["shelves"]
	return ownShelf{&shelfState{y}}
}

func (x perPodShelf) Apart(dst []int32, pod *v1.Pod) []int32 {
	for i := range x.s.Len() {
		if pod.Labels["apart"] != "" && x.s.Node(i) != nil && x.apart(i) {
			x.c["shelves apart"]++
			dst = append(dst, int32(i), int32(i))
		}
	}
	return append(dst, int32(x.f.slots()[0])) // where nothing differs
}

func (x shelves) apart(i int) bool { name := x.s.Node(i).Name; return name[len(name)-1]%3 == 0 }

// ownShelf is the predicate of one pod, with reasons that name the pod. On a third of the nodes its verdict is what a label of the pod says.
type ownShelf struct{ *shelfState }

func (x ownShelf) Check(i int) resources.Verdict {
	if own := x.pod.Labels["apart"]; own != "" && x.apart(i) {
		return map[string]resources.Verdict{"allowed": 0, "rejected": 5, "partial": partialVerdict, "error": errorVerdict}[own]
	}
	return x.shelfState.Check(i)
}

func (x ownShelf) Reasons(v resources.Verdict) []string {
	return []string{fmt.Sprint("shelves of ", x.pod.Name, ": ", v)}
}

func (x *shelfState) Filter() filter.Predicate { return x }
func (x *shelfState) Score() hooks.Scorer      { return x }
func (x *shelfState) Raw(i int) int64 {
	x.c["shelves raw"]++
	return int64(10 * x.number(i))
}
func (*shelfState) Reads(dst []string) []string                     { return append(dst, "name", "images") }
func (*shelfState) Keys() int                                       { return 1 }
func (*shelfState) AppendLayoutKey(dst []byte) []byte               { return append(dst, "shelves "...) }
func (*shelfState) Single() bool                                    { return false }
func (*shelfState) OfSet(*v1.Pod) hooks.Counter                     { return nil }
func (*shelfState) OfTerms(int32, *v1.Pod) hooks.Counter            { return nil }
func (*shelfState) AppendCounts(dst []int32, _ int) ([]int32, bool) { return dst, false }
func (*shelfState) AppendCounted(dst []int32) []int32               { return dst }
func (x *shelfState) AppendDomains(dst []int32, i int) []int32 {
	return append(dst, int32(x.number(i)))
}

func (x *shelfState) Check(i int) resources.Verdict {
	x.c["shelves check"]++
	return x.verdict(strconv.Itoa(x.number(i)))
}

func (x *shelfState) Shifted(version uint64, yield func(slot int)) uint64 {
	if yield != nil {
		for _, slot := range x.f.shifts[version:] {
			x.c["shelves shifted"]++
			yield(slot)
		}
	}
	return uint64(len(x.f.shifts))
}

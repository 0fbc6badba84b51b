package reuse

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement/internal/hooks"
	"github.com/podberth/podberth/resources"
)

// The plugins of this file read labels of the pod. They fail, reject with reasons of their own for a node, or score out of range, for
// some pods and on some nodes.
type testPlugin struct {
	name string
	s    *cluster.Snapshot
	pod  *v1.Pod
	c    calls
	f    *field
	plus int64 // a number that came from other nodes, with KeepByNodeAndPods
}

func (k testPlugin) Name() string { return k.name }
func (k testPlugin) Reasons(v resources.Verdict) []string {
	return []string{fmt.Sprint(k.name, " ", v)}
}
func (k testPlugin) Partial(v resources.Verdict) bool { return v == partialVerdict }
func (k testPlugin) ReasonsAt(i int) []string {
	return []string{fmt.Sprint(k.name, " of ", k.s.Node(i).Name)}
}
func (k testPlugin) Code(v resources.Verdict) filter.Code {
	if v == errorVerdict {
		return filter.Error
	}
	return filter.Unschedulable
}

const partialVerdict, errorVerdict resources.Verdict = 8, 9

// verdict is the answer of a plugin about nodes with some value of its label: what the pod's label of the plugin's name says.
func (k testPlugin) verdict(value string) resources.Verdict {
	switch k.pod.Labels[k.name] {
	case "stored": // a storage object says which value
		if value == k.f.stored {
			return 4
		}
	case value:
		return 3
	case "partial-" + value:
		return partialVerdict
	case "error-" + value:
		return errorVerdict
	}
	return 0
}

func (k testPlugin) label(i int, name string) string { return k.s.Node(i).Labels[name] }

// pools is a filter and a score with KeepByNode over the labels pool and grade.
type pools struct{ testPlugin }

func (x pools) Check(i int) resources.Verdict {
	x.c["pools check"]++
	return x.verdict(x.label(i, "pool"))
}

func (x pools) Raw(i int) int64 {
	x.c["pools raw"]++
	raw, _ := strconv.Atoi(x.label(i, "grade"))
	return int64(raw)
}

// signedPools says by numbers how its answers depend on a node, readPools by the labels that it reads.
type (
	signedPools struct{ pools }
	readPools   struct{ pools }
)

func (x signedPools) AppendSignature(dst []int32, i int) []int32 {
	return append(dst, int32(x.verdict(x.label(i, "pool"))), int32(x.pools.Raw(i)))
}

func (readPools) Reads(dst []string) []string { return append(dst, "label:pool", "label:grade") }

// ranked turns the grades into 0 to 100. Nodes of grade 7 are left out.
type ranked struct{ readPools }

func (ranked) Normalize(raw, lo, hi int64) int64 {
	if hi == lo {
		return 50
	}
	return 100 * (raw - lo) / (hi - lo)
}

func (x ranked) Ignored(i int) bool { return x.label(i, "grade") == "7" }

// sizes is a filter and a score with KeepByNodeAndPods over cpu.
type sizes struct{ testPlugin }

func (x sizes) left(allocatable, requested resources.Vector) int64 {
	return allocatable.At(resources.CPU) - requested.At(resources.CPU) - x.pod.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
}

func (x sizes) judge(allocatable, requested resources.Vector) resources.Verdict {
	switch left := x.left(allocatable, requested); {
	case left == 1000:
		return x.verdict("one")
	case left >= 0:
		return 0
	}
	return cmp.Or(x.verdict("full"), 1)
}

func (x sizes) rate(allocatable, requested resources.Vector) int64 {
	most, _ := strconv.ParseInt(x.pod.Labels["most"], 10, 64)
	if x.Zero() {
		return 0
	}
	return x.plus + max(x.left(allocatable, requested)/100%100, most*(x.left(allocatable, requested)/4000))
}

func (x sizes) Zero() bool { return x.pod.Labels["sizes"] == "zero" }

func (x sizes) Check(i int) resources.Verdict {
	x.c["sizes check"]++
	return x.judge(x.s.Allocatable(i), x.s.Requested(i))
}

func (x sizes) Raw(i int) int64 {
	x.c["sizes raw"]++
	return x.rate(x.s.Allocatable(i), x.s.Requested(i))
}

// rowSizes takes the rows from the engine, boxSizes answers about boxes of rows, too.
type (
	rowSizes struct{ sizes }
	boxSizes struct{ rowSizes }
)

func (x rowSizes) CheckRow(_ int, allocatable, requested resources.Vector) resources.Verdict {
	x.c["sizes row"]++
	return x.judge(allocatable, requested)
}

func (x rowSizes) RawRow(_ int, allocatable, requested resources.Vector, _, _ int64) int64 {
	x.c["sizes raw row"]++
	return x.rate(allocatable, requested)
}

func (x boxSizes) CheckRows(allocatable, requested [2]resources.Vector) (resources.Verdict, bool) {
	x.c["sizes rows"]++
	least, most := x.left(allocatable[0], requested[1]), x.left(allocatable[1], requested[0])
	switch {
	case least == most:
		return x.judge(allocatable[0], requested[1]), true
	case most < 0:
		return x.judge(allocatable[1], requested[0]), true
	case least > 1000:
		return 0, true
	}
	return 0, false
}

func (x boxSizes) Raw(i int) int64 { return min(100, max(0, x.sizes.Raw(i))) }

func (x boxSizes) RawRow(i int, allocatable, requested resources.Vector, cpu, memory int64) int64 {
	return min(100, max(0, x.rowSizes.RawRow(i, allocatable, requested, cpu, memory)))
}

func (x boxSizes) MaxRawRow(allocatable, requested [2]resources.Vector, _, _ [2]int64) int64 {
	x.c["sizes max raw"]++
	if allocatable[0].At(resources.CPU) == allocatable[1].At(resources.CPU) && requested[0].At(resources.CPU) == requested[1].At(resources.CPU) {
		return x.RawRow(0, allocatable[0], requested[0], 0, 0)
	}
	return 100
}

// crowd is a filter and a score with KeepByAllPods: at most some pods of the app in a domain, and few of them are better.
type crowd struct {
	testPlugin
	key     string // "": every node is a domain
	divides bool   // the states say so
	scores  int    // 0: not at all, 1: few pods of the app are better, 2: as many feasible nodes as have that many pods
}

func (x crowd) Compile(pod *v1.Pod) (hooks.Compiled, error) {
	x.c[x.name+" compile"]++
	x.pod = pod
	switch pod.Labels[x.name] {
	case "skip":
		return nil, nil
	case "fail":
		return nil, errors.New("fails")
	}
	return x, nil
}

func (x crowd) AppendKey(dst []byte) []byte {
	return fmt.Append(dst, x.pod.Labels["app"], "/", x.pod.Labels[x.name], "/")
}
func (crowd) Matched(int32) bool { return false }

func (x crowd) domain(i int) string {
	if x.key == "" {
		return x.s.Node(i).Name
	}
	return x.label(i, x.key)
}

func (x crowd) Count() hooks.State {
	x.c[x.name+" count"]++
	state := &crowdState{crowd: x, in: map[string]int32{}}
	for i := range x.s.Len() {
		if x.s.Node(i) == nil {
			continue
		}
		for p := range x.s.Pods(i) {
			if p.Labels["app"] == x.pod.Labels["app"] {
				state.in[x.domain(i)]++
			}
		}
	}
	return state
}

type crowdState struct {
	crowd
	in map[string]int32
}

// dividingCrowd counts by racks, so that all nodes of a domain get one verdict.
type dividingCrowd struct{ crowd }

func (dividingCrowd) Divides() {}

// counting returns the Counting, with its mark.
func (x crowd) counting() hooks.Counting {
	if x.divides {
		return dividingCrowd{x}
	}
	return x
}

func (x *crowdState) Filter() filter.Predicate { return x }
func (x *crowdState) Score() hooks.Scorer {
	switch x.scores {
	case 1:
		return x
	case 2:
		return weighed{x, map[int32]int64{}}
	}
	return nil
}

// weighed gives a node the number of feasible nodes that have as many pods of the app.
type weighed struct {
	*crowdState
	of map[int32]int64
}

func (x weighed) Weigh(slots, counts []int32) {
	x.c[x.name+" weigh"]++
	clear(x.of)
	for k, i := range slots {
		x.of[x.in[x.domain(int(i))]] += int64(counts[k])
	}
}

func (x weighed) Raw(i int) int64 { return x.of[x.in[x.domain(i)]] }

func (weighed) Normalize(raw, lo, hi int64) int64        { return 100*raw/hi - lo }
func (x *crowdState) Reads(dst []string) []string        { return append(dst, "label:"+x.key) }
func (*crowdState) Keys() int                            { return 1 }
func (x *crowdState) AppendLayoutKey(dst []byte) []byte  { return append(append(dst, x.key...), 0) }
func (x *crowdState) Single() bool                       { return x.key == "" }
func (*crowdState) OfTerms(int32, *v1.Pod) hooks.Counter { return nil }
func (x *crowdState) AppendDomains(dst []int32, i int) []int32 {
	x.c[x.name+" domains"]++
	if x.key == "" {
		return append(dst, 0)
	}
	return append(dst, int32((x.domain(i) + "-")[0]))
}

func (x *crowdState) AppendCounts(dst []int32, i int) ([]int32, bool) {
	x.c[x.name+" counts"]++
	if x.key != "" {
		return dst, false
	}
	return append(dst, x.in[x.domain(i)]), x.in[x.domain(i)] != 0
}

func (x *crowdState) AppendCounted(dst []int32) []int32 {
	for i := range x.s.Len() {
		if x.key == "" && x.s.Node(i) != nil && x.in[x.domain(i)] != 0 {
			dst = append(dst, int32(i))
		}
	}
	return dst
}

func (x *crowdState) OfSet(rep *v1.Pod) hooks.Counter {
	x.c[x.name+" set"]++
	if rep.Labels["app"] != x.pod.Labels["app"] {
		return nil
	}
	return func(slot int, n int32) { x.in[x.domain(slot)] += n }
}

func (x *crowdState) Check(i int) resources.Verdict {
	x.c[x.name+" check"]++
	return x.verdict(strconv.Itoa(int(x.in[x.domain(i)])))
}

func (x *crowdState) Raw(i int) int64 {
	x.c[x.name+" raw"]++
	return 100 - 20*int64(x.in[x.domain(i)]) // more than five pods: out of range
}

// scoresOf returns how the states of a Counting of crowds score; 0: they do not.
func scoresOf(c hooks.Counting) int {
	if x, ok := c.(dividingCrowd); ok {
		c = x.crowd
	}
	return c.(crowd).scores
}

package devices

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// failure is a test that a device fails for a request alone. Tests have the order of the search: by step, then by text.
type failure struct {
	step int
	text string
	name string // of the capacity or counter; empty for other tests
}

// The steps of the tests. The selectors of class and request are steps 1, 2 and so on.
const (
	stepUse   = 0
	stepReach = 1000 + iota
	stepCapacity
	stepCounters
	stepTaints
)

const (
	maxSelectors = 50 // selectors that are explained one by one
	maxTests     = 63 // tests of a request
)

// explainRequest applies every test of a request to every device that the node can use. The second result has the tests in which
// other claims have a part, without the index of the request.
func (s *Search) explainRequest(c *claimAsk, r *request, v *view) (out RequestReport, blames []blame) {
	out = RequestReport{Claim: c.name, Request: r.result(), Wants: r.count}
	if r.class != nil {
		out.Class = r.class.Name
	}
	if r.err != nil {
		out.Refused = []Refusal{{Test: r.err.Error(), Decisive: true}}
		return out, nil
	}
	var failed [][]failure // by device
	var names []string
	var asked []*device
	all := 0 // devices that match the selectors
	for _, p := range v.pools {
		if p.state != complete {
			continue
		}
		for _, d := range p.devices {
			list := s.failures(r, p, d, v.node)
			if !slices.ContainsFunc(list, func(f failure) bool { return f.step > stepUse && f.step <= stepReach }) {
				all++
			}
			if len(list) == 0 {
				out.Left++
			}
			failed, names = append(failed, list), append(names, d.object.Name)
			asked = append(asked, d)
		}
	}
	if out.Devices = len(failed); r.all {
		out.Wants = max(1, all)
	}
	tests, masks := numbered(failed)
	decisive := uint64(0)
	if out.Left < out.Wants {
		decisive = smallest(masks, len(tests), out.Wants)
	}
	counts, first := make([]int, len(tests)), make([][]string, len(tests))
	for at, m := range masks {
		for ; m != 0; m &= m - 1 {
			k := bits.TrailingZeros64(m)
			if counts[k]++; len(first[k]) < mostNames {
				first[k] = append(first[k], names[at])
			}
		}
	}
	for k, n := range counts {
		refused := Refusal{Test: tests[k].text, Devices: n, Names: first[k], Decisive: decisive&(1<<k) != 0}
		if step := tests[k].step; step >= 1 && step <= maxSelectors && refused.Decisive {
			var of []*device
			for at, m := range masks {
				if m&(1<<k) != 0 {
					of = append(of, asked[at])
				}
			}
			refused.Mismatches = mismatches(r.selectors[step-1].program.text, of)
		}
		out.Refused = append(out.Refused, refused)
		if step := tests[k].step; step != stepUse && step != stepCapacity && step != stepCounters {
			continue
		}
		b := blame{test: k, failure: tests[k]}
		for at, m := range masks {
			if m&(1<<k) != 0 {
				b.devices = append(b.devices, int32(at))
			}
		}
		blames = append(blames, b)
	}
	return out, blames
}

// mostNames is how many devices a refusal names.
const mostNames = 3

// failures returns the tests that a device fails for a request alone.
func (s *Search) failures(r *request, p *pool, d *device, node *v1.Node) (out []failure) {
	add := func(f failure) {
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	fail := func(step int, format string, args ...any) {
		add(failure{step: step, text: fmt.Sprintf(format, args...)})
	}
	if s.held(d, r) {
		fail(stepUse, "is not in use")
	}
	for k, ref := range r.selectors {
		if ok, _ := s.allocator.matches(ref.program, d); ok {
			continue
		}
		if k < maxSelectors {
			fail(1+k, "selector of %s: %s", ref.prefix, ref.program.text)
		} else {
			fail(1+maxSelectors, "one of %d more selectors", len(r.selectors)-maxSelectors)
		}
	}
	if d.slice.each {
		if ok, _ := d.reach.has(node); !ok {
			fail(stepReach, "can be used on this node")
		}
	}
	for _, name := range s.fullCapacities(d, r.capacity) {
		add(failure{stepCapacity, fmt.Sprintf("has enough of the capacity %s free", name), string(name)})
	}
	ok, paid := s.charge(p, d)
	if paid {
		s.refund(p, d)
	}
	if !ok {
		for _, name := range s.shortCounters(p, d) {
			add(failure{stepCounters, "has enough of the counter " + name, name})
		}
	}
	taints := s.taints(d)
	for k := range taints {
		if t := &taints[k]; !tolerated(taints[k:k+1], r.tolerations) {
			text := t.Key
			if t.Value != "" {
				text += "=" + t.Value
			}
			fail(stepTaints, "has no taint %s:%s that the request does not tolerate", text, t.Effect)
		}
	}
	return out
}

// fullCapacities returns the capacities of which a request cannot have what it takes of a device.
func (s *Search) fullCapacities(d *device, requests capacities) (out []resourcev1.QualifiedName) {
	for name := range requests {
		if _, ok := d.object.Capacity[name]; !ok {
			out = append(out, name)
		}
	}
	for name, c := range d.object.Capacity {
		object, one, asked := *d.object, *d, capacities{}
		object.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{name: c}
		one.object = &object
		if amount, ok := requests[name]; ok {
			asked[name] = amount
		}
		if taken, ok, _ := s.consumption(&one, asked); !ok || !s.room(&one, taken) {
			out = append(out, name)
		}
	}
	return out
}

// shortCounters returns the counters of a pool that do not suffice for a device which charge has refused.
func (s *Search) shortCounters(p *pool, d *device) (out []string) {
	uses := map[counterID]resource.Quantity{}
	eachCounter(d.object, func(id counterID, amount resource.Quantity) {
		sum := uses[id]
		sum.Add(amount)
		uses[id] = sum
	})
	for id, have := range s.left[s.counterPool(p)] {
		if have.value.Cmp(uses[id]) < 0 {
			out = append(out, id.name)
		}
	}
	return out
}

// numbered returns the tests that some device fails, in their order, and for each device the tests that it fails as bits. Where
// there are too many tests, capacities, counters and taints are one test each.
func numbered(failed [][]failure) (tests []failure, masks []uint64) {
	for _, list := range failed {
		tests = append(tests, list...)
	}
	slices.SortFunc(tests, func(a, b failure) int { return cmp.Or(a.step-b.step, strings.Compare(a.text, b.text)) })
	tests = slices.Compact(tests)
	if len(tests) > maxTests {
		together := map[int]string{stepCapacity: "has the requested capacity free", stepCounters: "has the counters that it consumes", stepTaints: "has no taint that the request does not tolerate"}
		for _, list := range failed {
			for k := range list {
				if text := together[list[k].step]; text != "" {
					list[k].text, list[k].name = text, ""
				}
			}
		}
		return numbered(failed)
	}
	at := map[failure]int{}
	for k, t := range tests {
		at[t] = k
	}
	for _, list := range failed {
		mask := uint64(0)
		for _, f := range list {
			mask |= 1 << at[f]
		}
		masks = append(masks, mask)
	}
	return tests, masks
}

// smallest returns a smallest set of tests which fewer than want devices pass; 0 when there are fewer devices than that.
func smallest(failed []uint64, tests, want int) uint64 {
	if len(failed) < want {
		return 0
	}
	var found uint64
	var try func(set uint64, first, n int) bool
	try = func(set uint64, first, n int) bool {
		if n == 0 {
			left := 0
			for _, mask := range failed {
				if mask&set == 0 {
					left++
				}
			}
			found = set
			return left < want
		}
		for k := first; k <= tests-n; k++ {
			if try(set|1<<k, k+1, n-1) {
				return true
			}
		}
		return false
	}
	for n := 1; n <= min(tests, 4); n++ {
		if try(0, 0, n) {
			return found
		}
	}
	return 1<<tests - 1
}

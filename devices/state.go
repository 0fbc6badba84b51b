package devices

import (
	"fmt"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/key"
	"github.com/podberth/podberth/resources"
)

// Cluster is the part of a cluster that the filter reads. Node(i) is nil for a free slot.
type Cluster interface {
	Len() int
	Node(i int) *v1.Node
}

// Clock is the time for binding conditions. With the zero value no condition times out.
type Clock struct {
	Now time.Time
	// BindingTimeout is how long a claim may wait for the binding conditions of its devices. 0 means 10 minutes.
	BindingTimeout time.Duration
}

// The verdicts. Preemption cannot help against any verdict of a [State], except against an error. firstError and the verdicts after it
// are errors; with Unresolvable they reject the node.
const (
	noFreeSlot      resources.Verdict = 1 | resources.Unresolvable
	notAllocated    resources.Verdict = 2 | resources.Unresolvable
	notAvailable    resources.Verdict = 3 | resources.Unresolvable
	invalidPools    resources.Verdict = 4 | resources.Unresolvable
	leftOver        resources.Verdict = 5 | resources.Unresolvable
	resourceAbsent  resources.Verdict = 6 | resources.Unresolvable
	notAllocatedNow resources.Verdict = 7 // of Freeing
	firstError      resources.Verdict = 16
	lastError       resources.Verdict = 1 << 12
)

// State is the filter and score DynamicResources of one pod over one cluster. It computes the answer for a slot once and
// keeps it. A State is safe for concurrent use while the cluster and the ledger do not change.
type State interface {
	// Explain says what slot i offers to the claims of the pod that have no allocation. ok is false when the plugin has nothing to
	// allocate there: the slot has no node, every claim has an allocation, or v1.36 does not search on the node. The cost is that
	// of [Search.Explain].
	Explain(i int) (e Explanation, ok bool)
	// Numbers returns why Check rejects slot i: the lines of Explain, and a line for each claim whose allocation cannot be used
	// there. It returns nil when Check allows the slot.
	Numbers(i int) []string
	// Shortage returns how many devices the requests of the pod's claims lack on slot i, each request looked at alone, and how many devices
	// they see there in usable pools. Both are 0 where Explain has nothing to say. Nodes of one class share the answer.
	Shortage(i int) (lacks, sees int)
	// Name returns "DynamicResources".
	Name() string
	// Check returns the verdict on slot i (rule U8.4). It rejects a free slot and a slot that the cluster does not have.
	Check(i int) resources.Verdict
	// Reasons returns v1.37's text of a verdict of Check; nil for 0 and for any other verdict.
	Reasons(v resources.Verdict) []string
	// Code returns Error for the verdict of an error, Unschedulable where preemption can free devices, and
	// UnschedulableAndUnresolvable for any other verdict.
	Code(v resources.Verdict) filter.Code
	// Raw returns the score of slot i (rule U8.7): the sum over all firstAvailable requests of 8 minus the position of the
	// chosen alternative. It is 0 when the node has nothing to allocate, and for a slot that the cluster does not have.
	Raw(i int) int64
	// Normalize is [Normalize].
	Normalize(raw, lo, hi int64) int64
	// Allocation returns what the pod gets on slot i, which Check must allow. The result is empty when all claims of the pod
	// are allocated already, and for a slot that Check rejects.
	Allocation(i int) Allocation
	// Freed returns what v1.37 gives back when the pod fits on no node, so that the next attempt can allocate again (rule
	// U8.5). Call Freed after Check was called for all nodes. The code is always Unschedulable, so preemption runs next.
	Freed() Freed
	own() *state
}

type state struct {
	pod       *Pod
	cluster   Cluster
	allocator *Allocator
	clock     Clock
	pending   []*resourcev1.ResourceClaim // the pod's own claims that need an allocation
	preferred int64                       // score of the alternatives in the allocations that the pod's claims have
	away      bool                        // no allocation reaches any node

	mu        sync.Mutex
	searches  map[string]*nodeSearch // by the extended resources that classes provide
	names     []byte                 // key of searches, to be written again
	left      map[poolKey]map[counterID]counter
	answers   []*answerPage // by slot / pageSize; nil: nothing is known
	errors    []string
	unusable  map[*resourcev1.ResourceClaim]bool
	explained map[int32]*explained // by class
}

type nodeSearch struct {
	*Search
	mappings []v1.ContainerExtendedResourceRequest
}

// answerPage has the answers for slots in a row, so that a question about one node does not take memory for all nodes.
type answerPage [pageSize]slotAnswer

const pageSize = 256

// slotAnswer is what is known about a slot.
type slotAnswer struct {
	known   bool
	verdict resources.Verdict
	score   int64
	search  *nodeSearch // nil: the node allocates nothing, or the verdict rejects
}

// On returns the filter and score over a cluster. The allocator's ledger must count the allocations of all claims of the
// cluster and the allocations in flight. The cluster and the allocator must not be nil.
func (p *Pod) On(c Cluster, allocator *Allocator, clock Clock) State {
	return p.on(c, allocator, clock)
}

func (p *Pod) on(c Cluster, allocator *Allocator, clock Clock) *state {
	s := &state{
		pod: p, cluster: c, allocator: allocator, clock: clock, searches: map[string]*nodeSearch{},
		answers:  make([]*answerPage, (c.Len()+pageSize-1)/pageSize),
		unusable: map[*resourcev1.ResourceClaim]bool{}, explained: map[int32]*explained{},
	}
	if s.clock.BindingTimeout == 0 {
		s.clock.BindingTimeout = defaultBindingTimeout
	}
	for k := range p.claims {
		x := &p.claims[k]
		switch {
		case x.allocated():
			s.preferred += preference(&x.object.Spec, x.object.Status.Allocation)
		case x.object == p.special:
		case allocator.options.ClaimOnce && slices.ContainsFunc(s.pending, func(c *resourcev1.ResourceClaim) bool { return c.Name == x.object.Name }):
		default:
			s.pending = append(s.pending, x.object)
		}
	}
	return s
}

func (s *state) own() *state { return s }

func (*state) Name() string { return "DynamicResources" }

func (s *state) Check(i int) resources.Verdict { return s.answer(i).verdict }

func (s *state) Reasons(v resources.Verdict) []string {
	switch v {
	case noFreeSlot:
		return []string{"the slot has no node"}
	case notAllocated, notAllocatedNow:
		return []string{"cannot allocate all claims"}
	case notAvailable:
		return []string{"resourceclaim not available on the node"}
	case invalidPools:
		return []string{ErrInvalidPools.Error()}
	case leftOver:
		return []string{"cannot schedule extended resource claim"}
	case resourceAbsent:
		return []string{"cannot fit resource"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v &^= resources.Unresolvable            // that a cut search has up to v1.35
	if int(v-firstError) >= len(s.errors) { // and so for a verdict below firstError, whose difference is a large number
		return nil
	}
	return []string{s.errors[v-firstError]}
}

func (s *state) Code(v resources.Verdict) filter.Code {
	switch {
	case v&resources.Unresolvable != 0:
		return filter.UnschedulableAndUnresolvable
	case v == notAllocatedNow:
		return filter.Unschedulable
	}
	return filter.Error
}

func (s *state) Raw(i int) int64 {
	return s.answer(i).score
}

// best is the score of the first alternative of a request.
const best = resourcev1.FirstAvailableDeviceRequestMaxSize

func preference(spec *resourcev1.ResourceClaimSpec, allocation *resourcev1.AllocationResult) (sum int64) {
	for k := range spec.Devices.Requests {
		r := &spec.Devices.Requests[k]
		for j := range r.FirstAvailable {
			name := r.Name + "/" + r.FirstAvailable[j].Name
			if slices.ContainsFunc(allocation.Devices.Results, func(x resourcev1.DeviceRequestAllocationResult) bool { return x.Request == name }) {
				sum += int64(best - j)
				break
			}
		}
	}
	return sum
}

func (*state) Normalize(raw, lo, hi int64) int64 { return Normalize(raw, lo, hi) }

// Normalize returns 100 for the largest raw score of the feasible nodes, and a proportional value for other scores. It does not use lo.
func Normalize(raw, _, hi int64) int64 {
	if hi == 0 {
		return raw
	}
	return raw * 100 / hi
}

// Allocation is what a pod gets on one node.
type Allocation struct {
	// Claims are the claims to allocate, in the pod's order. The special claim for extended resources is the last one. It
	// has no UID because the API server does not have it yet.
	Claims []*resourcev1.ResourceClaim
	// Results has an allocation for each of Claims.
	Results []resourcev1.AllocationResult
	// Mappings says which request of the special claim serves which container's extended resource.
	Mappings []v1.ContainerExtendedResourceRequest
}

func (s *state) Allocation(i int) Allocation {
	a := s.answer(i)
	if a.search == nil {
		return Allocation{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	results, ok, err := a.search.Allocate(s.cluster.Node(i))
	if !ok || err != nil {
		return Allocation{} // the ledger or the cluster has changed since Check allowed the slot
	}
	out := Allocation{Results: results, Mappings: a.search.mappings}
	for k := range a.search.claims {
		out.Claims = append(out.Claims, a.search.claims[k].object)
	}
	return out
}

func (s *state) answer(i int) slotAnswer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i < 0 || i >= s.cluster.Len() {
		return slotAnswer{verdict: noFreeSlot}
	}
	page := i / pageSize
	if page >= len(s.answers) {
		s.answers = append(s.answers, make([]*answerPage, (s.cluster.Len()+pageSize-1)/pageSize-len(s.answers))...)
	}
	if s.answers[page] == nil {
		s.answers[page] = new(answerPage)
	}
	a := &s.answers[page][i%pageSize]
	if !a.known {
		*a = s.decide(i)
		a.known = true
	}
	return *a
}

func (s *state) decide(i int) slotAnswer {
	node := s.cluster.Node(i)
	if node == nil {
		return slotAnswer{verdict: noFreeSlot}
	}
	var provided []v1.ResourceName
	if s.pod.special != nil {
		if len(s.pod.special.Spec.Devices.Requests) > 0 {
			return slotAnswer{verdict: leftOver}
		}
		var fits bool
		if provided, fits = s.pod.extended.provided(s.pod.asked, node); !fits {
			return slotAnswer{verdict: resourceAbsent}
		}
		if len(provided) == 0 && len(s.pod.claims) == 1 {
			return slotAnswer{}
		}
	}
	missing := s.unavailable(node)
	if s.allocator.options.AlwaysRelease {
		s.keep(missing)
	}
	a := slotAnswer{}
	if len(s.pending) > 0 || s.special(provided) {
		a.search = s.searchFor(provided)
		x := a.search.ask(s.allocator.viewOf(i, node))
		if v := s.verdictOf(x, node); v != 0 {
			return slotAnswer{verdict: v}
		}
		a.score = x.score + s.preferred
	}
	if len(missing) > 0 {
		s.keep(missing)
		rejected := slotAnswer{verdict: notAvailable}
		if s.away {
			rejected.score = a.score
		}
		return rejected
	}
	return a
}

// verdictOf returns the verdict on what a search found.
func (s *state) verdictOf(x answer, node *v1.Node) resources.Verdict {
	switch {
	case cut(x.err) && endsAttempt(s.allocator.options.Release):
		return s.fail(fmt.Errorf("node %s: %w", node.Name, x.err))
	case cut(x.err):
		return s.fail(x.err) | resources.Unresolvable
	case x.err == ErrInvalidPools:
		return invalidPools
	case x.err != nil:
		return s.fail(x.err)
	case !x.ok:
		return notAllocated
	}
	return 0
}

// keep notes for Freed that claims cannot be used on a node.
func (s *state) keep(missing []*resourcev1.ResourceClaim) {
	for _, c := range missing {
		s.unusable[c] = true
	}
}

// special reports whether the special claim is allocated on a node where classes provide some resources.
func (s *state) special(provided []v1.ResourceName) bool {
	return s.pod.special != nil && (len(provided) > 0 || !s.allocator.options.NoEmptyClaim)
}

// unavailable returns the allocated claims that cannot be used on a node: the node is out of reach, or the devices are not
// ready in time. A claim without an allocation has no reach and is ready.
func (s *state) unavailable(node *v1.Node) (out []*resourcev1.ResourceClaim) {
	for k := range s.pod.claims {
		c := &s.pod.claims[k]
		if s.away && c.allocated() {
			out = append(out, c.object)
			continue
		}
		ready := BindingReadiness(c.object, s.clock.BindingTimeout, s.clock.Now)
		if !c.reach.Matches(node) || ready.Failed != "" || !ready.Ready && ready.TimedOut {
			out = append(out, c.object)
		}
	}
	return out
}

// searchFor returns the search for the claims without allocation. The special claim gets requests for the resources that
// classes provide on the node.
func (s *state) searchFor(provided []v1.ResourceName) *nodeSearch {
	s.names = key.Texts(s.names[:0], provided)
	x := s.searches[string(s.names)]
	if x == nil {
		x = s.newSearch(provided)
		s.searches[string(s.names)] = x
	}
	return x
}

func (s *state) newSearch(provided []v1.ResourceName) *nodeSearch {
	claims, x := slices.Clone(s.pending), &nodeSearch{}
	if s.special(provided) {
		special := s.pod.special.DeepCopy()
		special.Spec.Devices.Requests, x.mappings = s.pod.extended.requests(s.pod.pod, provided)
		claims = append(claims, special)
	}
	x.Search = s.allocator.Compile(claims...)
	if s.left == nil {
		s.left = x.left
	}
	x.left = s.left // one cache for the whole attempt (quirk U10.2)
	return x
}

// fail keeps an error and returns its verdict.
func (s *state) fail(err error) resources.Verdict {
	text := err.Error()
	at := slices.Index(s.errors, text)
	if at < 0 {
		if at = len(s.errors); at < int(lastError-firstError) {
			s.errors = append(s.errors, text)
		} else {
			at--
		}
	}
	return firstError + resources.Verdict(at)
}

// Freed lists the allocations that PostFilter frees for a pod that fits on no node.
type Freed struct {
	// Deallocate is a claim whose allocation keeps the pod from every node; nil when there is none.
	Deallocate *resourcev1.ResourceClaim
	// Delete is the special claim that an earlier attempt created for extended resources; nil when there is none.
	Delete *resourcev1.ResourceClaim
	// Reason is v1.37's text.
	Reason string
}

func (s *state) Freed() Freed {
	if len(s.pod.claims) == 0 {
		return Freed{Reason: "no new claims to deallocate"}
	}
	for _, c := range s.notUsable() {
		if freeFor(c, s.pod.pod.UID) {
			return Freed{Deallocate: c, Reason: "deallocation of ResourceClaim completed"}
		}
	}
	if c := s.leftOver(); c != nil {
		return Freed{Delete: c, Reason: "deletion of ResourceClaim completed"}
	}
	return Freed{Reason: "still not schedulable"}
}

// leftOver returns the special claim that an earlier attempt created for the pod's extended resources; nil when there is none.
func (s *state) leftOver() *resourcev1.ResourceClaim {
	if s.pod.special == nil || s.pod.special.UID == "" {
		return nil
	}
	return s.pod.special
}

package placement

import (
	"encoding/binary"
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/hints"
	"github.com/podberth/podberth/internal/podkey"
	"github.com/podberth/podberth/placement/internal/hooks"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/release/plugins"
)

// newDynamicResources returns the filter and score of that name. A node is allowed when it has devices for the pod's claims.
// Decision.Devices is what the claims get. It skips a pod without spec.resourceClaims and without an extended resource that a
// device class provides. The zero Options are v1.37's without a compiler of selectors.
func newDynamicResources(o tracker.Options) *Plugin { return devicesOver(o, nil) }

// devicesOver returns the plugin over a tracker; nil: over the cluster of each question.
func devicesOver(o tracker.Options, t *tracker.Tracker) *Plugin {
	x := &dynamicResources{options: o, tracker: t}
	if t != nil {
		x.shared = t.Filter(o).(deviceFilter)
	}
	return &Plugin{
		Name: plugins.DynamicResources, Args: o,
		Keep: keepByAllPods, AppendKey: podkey.Devices, states: func(c Cluster) hooks.Counting { return claimCounting{x, c} },
		WithShared: func(p Profile) *Plugin { return devicesOver(o, p.Devices) },
		Hint:       func(known affinity.Namespaces) queue.Hint { return devicesHint(known, o.Search.Release) },
		Filter:     x.filter, Score: x.score, GroupPostFilter: x.groupPostFilter,
	}
}

// deviceFilter is a tracker.Filter with what the engine keeps of its answers.
type deviceFilter interface {
	tracker.Filter
	// Predicate returns the filter of a State of On: the State, or with tracker.Options.VictimsFree one for which preemption can free
	// devices.
	Predicate(s devices.State) filter.Predicate
	// Kept returns what pods share whose claims ask for the same as those of a State of On. It is nil over a cluster without a log of
	// claims, and for a pod that shares nothing.
	Kept(s devices.State) engine.Kept
	// Elsewhere returns what pods share whose allocated claims name the nodes that they can be used on, for all other nodes, and these nodes. It
	// is nil for other pods.
	Elsewhere(s devices.State) (kept engine.Kept, nodes []string)
	// Epoch returns a number that grows when the slices have changed: no Kept of an earlier epoch is right any more. It grows with a
	// call of On.
	Epoch() uint64
}

// dynamicResources is the plugin over a tracker.
type dynamicResources struct {
	options tracker.Options
	tracker *tracker.Tracker // nil: none is shared
	shared  deviceFilter     // over the tracker; nil: none is shared

	latest *v1.Pod // the pod of the latest answer, so that filter and score of an attempt search once
	at     uint64  // the tracker's version then
	pod    *devices.Pod
	state  devices.State

	named []string     // nodes apart of the pod of the latest key, see deviceFilter.Elsewhere
	again map[int]bool // Kept.ID of pods with an allocated claim that were decided node by node
}

// ask looks up the claims of a pod. The state is nil when the pod is skipped or rejected.
func (x *dynamicResources) ask(pod *v1.Pod, c Cluster, again bool) (*devices.Pod, devices.State) {
	if again && x.latest == pod && x.tracker != nil && x.at == x.tracker.Version() {
		return x.pod, x.state
	}
	f := x.shared
	if f == nil {
		f = newDevices(c).Filter(x.options).(deviceFilter)
	}
	compiled := f.Compile(pod)
	var state devices.State
	if compiled.Code() == filter.Success {
		state = f.On(compiled)
	}
	x.latest, x.pod, x.state = pod, compiled, state
	if x.tracker != nil {
		x.at = x.tracker.Version()
	}
	return compiled, state
}

func (x *dynamicResources) filter(pod *v1.Pod, c Cluster) PreFiltered {
	if x.shared != nil && x.shared.Skips(pod) {
		return PreFiltered{Code: filter.Skip}
	}
	compiled, state := x.ask(pod, c, false)
	switch code := compiled.Code(); code {
	case filter.Success:
		f := x.shared
		if f == nil {
			f = newDevices(c).Filter(x.options).(deviceFilter)
		}
		return PreFiltered{Predicate: f.Predicate(state)}
	case filter.Skip:
		return PreFiltered{Code: code}
	default:
		return PreFiltered{Code: code, Reasons: []string{compiled.Reason()}}
	}
}

func (x *dynamicResources) score(pod *v1.Pod, c Cluster) (Scorer, error) {
	if x.shared != nil && x.shared.Skips(pod) {
		return nil, nil
	}
	if _, state := x.ask(pod, c, true); state != nil {
		return state, nil
	}
	return nil, nil
}

// devicesHint returns the hint for events of claims and of the pod itself. Every other event may help.
func devicesHint(known affinity.Namespaces, v release.Version) queue.Hint {
	objects := deviceObjectsOf(known)
	claim, own := hints.Claim(objects, v), hints.Pod(objects)
	return func(pod *v1.Pod, old, new any) (bool, error) {
		for _, object := range [...]any{old, new} {
			switch object.(type) {
			case *v1.Pod:
				return own(pod, old, new)
			case *resourcev1.ResourceClaim:
				return claim(pod, old, new)
			}
		}
		return true, nil
	}
}

// claimCounting keeps the work of DynamicResources for pods whose claims ask for the same. It keeps nothing by id.
type claimCounting struct {
	x *dynamicResources
	c Cluster
}

// Lasts marks a Counting that the engine may use for ever.
func (claimCounting) Lasts() {}

// errClaimsApart means that a pod shares no answers with other pods.
var errClaimsApart = errors.New("the claims of the pod are decided node by node")

// kept returns what a pod shares with the pods whose claims ask for the same; nil for a pod that the plugin skips. again means
// that this decision has looked up the claims already.
func (k claimCounting) kept(pod *v1.Pod, again bool) (engine.Kept, error) {
	if k.x.shared == nil {
		return nil, errClaimsApart
	}
	if k.x.shared.Skips(pod) {
		return nil, nil
	}
	compiled, state := k.x.ask(pod, k.c, again)
	switch {
	case compiled.Code() == filter.Skip:
		return nil, nil
	case state == nil:
		return nil, errClaimsApart
	}
	x, named := k.x.shared.Elsewhere(state)
	if k.x.named = named; x != nil {
		return x, nil
	}
	if x := k.x.shared.Kept(state); x != nil {
		return x, nil
	}
	return nil, errClaimsApart
}

// AppendPodKey appends what the claims of a pod ask for, in place of their names.
func (k claimCounting) AppendPodKey(dst []byte, pod *v1.Pod) ([]byte, bool) {
	x, err := k.kept(pod, false)
	if err != nil || k.first(x) {
		return dst, false
	}
	if x == nil {
		return append(dst, 0), true
	}
	return k.appendKey(append(dst, 1), x), true
}

// maxFirst bounds the allocations that were seen once.
const maxFirst = 1 << 12

// first reports whether the pod of the latest answer is the first pod with these answers and has an allocated claim that names no nodes. The groups
// of nodes of such a pod serve other pods with the claim only, and many claims have one pod.
func (k claimCounting) first(x engine.Kept) bool {
	if x == nil || k.x.named != nil || !k.x.allocated() || k.x.again[x.ID()] {
		return false
	}
	if k.x.again == nil || len(k.x.again) >= maxFirst {
		k.x.again = map[int]bool{}
	}
	k.x.again[x.ID()] = true
	return true
}

// allocated reports whether a claim of the pod of the latest answer has an allocation.
func (x *dynamicResources) allocated() bool {
	return slices.ContainsFunc(x.pod.Claims(), func(c *resourcev1.ResourceClaim) bool { return c.Status.Allocation != nil })
}

// Epoch grows when no answer of before is right any more.
func (k claimCounting) Epoch() uint64 {
	if k.x.shared == nil {
		return 0
	}
	return k.x.shared.Epoch()
}

func (k claimCounting) appendKey(dst []byte, x engine.Kept) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(dst, k.Epoch()), uint64(x.ID()))
}

// Compile returns the claims of a pod; nil for a pod that the plugin skips.
func (k claimCounting) Compile(pod *v1.Pod) (hooks.Compiled, error) {
	x, err := k.kept(pod, true)
	if x == nil || err != nil {
		return nil, err
	}
	return keptClaims{claimCounting: k, devices: x}, nil
}

// keptClaims is what pods with equal claims share. No running pod changes it: the ledger of the claims does.
type keptClaims struct {
	unmoved
	claimCounting
	devices engine.Kept
}

var (
	_ hooks.PodKeyer = claimCounting{}
	_ hooks.Shifting = keptClaims{}
	_ hooks.PerPod   = keptClaims{}
)

func (k keptClaims) AppendKey(dst []byte) []byte { return k.appendKey(dst, k.devices) }
func (k keptClaims) Count() hooks.State          { return k }

func (k keptClaims) Filter() filter.Predicate { return k.devices }
func (k keptClaims) Score() hooks.Scorer      { return k.devices }

// AppendLayoutKey and AppendDomains divide the nodes by their answers.
func (k keptClaims) AppendLayoutKey(dst []byte) []byte { return k.AppendKey(dst) }
func (k keptClaims) AppendDomains(dst []int32, slot int) []int32 {
	return k.devices.AppendSignature(dst, slot)
}

// Shifted yields the slots whose answers may have changed.
func (k keptClaims) Shifted(version uint64, yield func(slot int)) uint64 {
	return k.devices.Since(version, yield)
}

// Apart appends the nodes that the allocations of the pod name.
func (k keptClaims) Apart(dst []int32, _ *v1.Pod) []int32 {
	for _, name := range k.x.named {
		if i := slotNamed(k.c, name); i >= 0 {
			dst = append(dst, int32(i))
		}
	}
	return dst
}

// Of returns the predicate of one pod. It says what the pod's claims get. Of the nodes that it was asked about depends which allocation v1.37 gives
// back when the pod fits on no node (rule U8.5): a node of each group is enough, because its group has the same claims missing.
func (k keptClaims) Of(pod *v1.Pod) filter.Predicate {
	_, state := k.x.ask(pod, k.c, true) // not nil: the pod has a Kept
	return k.x.shared.Predicate(state)
}

// errNoState is v1.37's error of DynamicResources for a group of which no member reached it (rule PG8.6).
var errNoState = errors.New("not found")

// groupPostFilter gives back claims of an unschedulable group. v1.37 writes its text for groups without claims too.
func (x *dynamicResources) groupPostFilter(f GroupFailure) (GroupAnswer, error) {
	switch {
	case f.Constrained:
		return GroupAnswer{}, nil
	case len(f.Members) == 0:
		return GroupAnswer{}, errNoState
	}
	var members []devices.Member
	for _, m := range f.Members {
		members = append(members, devices.Member{Pod: m.Pod, State: claimState(m)})
	}
	group := f.Group
	if f.Scheduled || !x.options.GroupClaims {
		group = nil
	}
	claims, err := devices.FreeGroup(members, group, x.tracker, f.Tie)
	return GroupAnswer{Reasons: []string{claims.Reason}, Ends: claims.Unreserve != nil, Claims: claims}, err
}

// claimState returns the state that was asked about the nodes for a member; nil: none was.
func claimState(m GroupMember) devices.State {
	for _, p := range m.Predicates {
		if s, ok := p.(devices.State); ok {
			return s
		}
	}
	return nil
}

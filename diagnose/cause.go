package diagnose

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/resources"
)

// The types of causes. docs/diagnose.md lists them.
const (
	causeGate     = "Gate"     // scheduling gates
	causeRejected = "Rejected" // a plugin rejects the pod before it sees a node, for no other cause of this list

	causeClaim       = "Claim"       // a claim that a volume names does not exist
	causeClass       = "Class"       // a claim without its storage class
	causeUnbound     = "Unbound"     // a claim that its provisioner must bind first
	causePlace       = "Place"       // a bound volume is in a place that no node of the pod has
	causeVolume      = "Volume"      // no free volume fits a claim, or no driver has room
	causeAttachments = "Attachments" // as many volumes as the driver attaches to the node
	causeOnePod      = "OnePod"      // a claim with access mode ReadWriteOncePod has its pod
	causeDevices     = "Devices"     // a claim of devices

	causeContradiction = "Contradiction" // rules of the pod exclude each other
	causeNoNode        = "NoNode"        // no node matches node selector and node affinity
	causeToleration    = "Toleration"    // a toleration that nearly tolerates
	causeMeant         = "Meant"         // a reserved pool that the pod is meant for
	causeReserved      = "Reserved"      // a reserved pool that the pod is not meant for
	causeNotReady      = "NotReady"      // broken nodes
	causePressure      = "Pressure"      // nodes without disk, memory or process IDs
	causeStarting      = "Starting"      // nodes that wait for an agent
	causeLeaving       = "Leaving"       // nodes that go away
	causeCordoned      = "Cordoned"      // cordoned nodes

	causeTopologyKey  = "TopologyKey"  // no node has the topology key
	causeAntiAffinity = "AntiAffinity" // of the pod, or of running pods
	causeEmptyDomain  = "EmptyDomain"  // a spread constraint wants a domain whose nodes are closed
	causeSpread       = "Spread"       // a spread constraint
	causeAffinity     = "Affinity"     // affinity to pods that are not there
	causePort         = "Port"         // a host port

	causeTooLarge   = "TooLarge"   // a request larger than any node
	causeNotOffered = "NotOffered" // no node has the resource
	causeFragments  = "Fragments"  // enough is free, but not on one node
	causeFull       = "Full"       // nodes without room
	causePreempting = "Preempting" // pods give way already
	causeDaemon     = "DaemonSet"  // the node of a pod of a DaemonSet has no room
	causeScheduler  = "Scheduler"  // spec.schedulerName of a scheduler that is not known here
	causeNodeName   = "NodeName"   // spec.nodeName, so that no scheduler sees the pod
	causeOther      = "Other"      // a plugin of the caller
	causeError      = "Error"      // every attempt ends with an error
	causeRefused    = "Refused"    // the API server refuses the pod
)

// Cause says why a pod waits: the one thing that a person must know first. A field that a cause does not have is empty.
type Cause struct {
	Type string `json:"type"` // docs/diagnose.md lists the types
	// Object has the field: "Pod default/web", "PersistentVolumeClaim default/data", "Node n1".
	Object string `json:"object"`
	Field  string `json:"field,omitempty"`  // path of the field; missing when there is none, as the fields below
	Wanted string `json:"wanted,omitempty"` // what the pod, or the field, wants
	Found  string `json:"found,omitempty"`  // what is there instead
	// Nodes are the nodes that the cause is about, in scan order.
	Nodes []string `json:"nodes,omitempty"`
	// Text is the cause as a sentence without its end: "n1 has DiskPressure (kubelet has disk pressure)".
	Text string `json:"text"`
	// Others says what is wrong with the other nodes: "of the other 9 nodes 6 are full and 3 are reserved by nvidia.com/gpu".
	Others string `json:"others,omitempty"`
	// Not is what people often do about the cause, and why it does harm: "tolerate node.kubernetes.io/disk-pressure: ...".
	Not string `json:"not,omitempty"`
}

// CauseOf returns why a pod waits, nil when a node takes it. plan is one over the cluster; neither may be nil. waiting are other pods of the
// scheduler that wait: where required affinity wants one of them, its cause is named, or the pods that wait for each other. Nil pods,
// and pods that the cluster has on nodes, are left out. The choice:
//
//  1. The pod is gated, or a plugin rejects it before it sees a node, or a plugin fails: an error ends the attempt on all nodes.
//  2. Every node fails for the same claim or device.
//  3. The pool is the nodes that match node selector, node affinity and the place of bound volumes. It is empty. When some of these nodes
//     offer the devices that the pod asks for, the others are not of the pool.
//  4. No node of the pool is open: the state of most of them.
//  5. Some nodes of the pool are open. The nodes that fail the fewest rules count, and of their rules the first of this list: topology
//     key, affinity, host port, attachments, access mode, anti-affinity, empty domain, spread, too large, not offered, fragments, full.
//
// O(nodes x filters), and the running pods for affinity and spread.
func CauseOf(plan *placement.Plan, c *cluster.Snapshot, pod *v1.Pod, waiting ...*v1.Pod) *Cause {
	return newSought(plan.Prepare, c, pod, waiting).cause()
}

// cause returns the cause with the object that a person edits.
func (x *sought) cause() *Cause {
	out := x.find()
	if out == nil {
		return nil
	}
	if out.Object == "" && lacks(podTemplate(x.c, x.pod), x.pod, out.Field) {
		out.Object = "Pod " + podinfo.Name(x.pod)
		by := metav1.GetControllerOfNoCopy(x.pod)
		out.Text += fmt.Sprintf("; the template of %s %s does not have this rule", by.Kind, by.Name)
		return out
	}
	out.Object = cmp.Or(out.Object, x.owner.String())
	if out.Object == x.owner.String() && strings.HasPrefix(out.Field, "spec.") {
		out.Field = x.owner.path + out.Field
	}
	return out
}

// sought is a cause that is being looked for.
type sought struct {
	prepare func(pod *v1.Pod) *placement.Attempt
	waiting []*v1.Pod // pods that may wait
	before  []*v1.Pod // pods whose affinity wants the next one, and the last one this pod
	follows *chain    // of a pod whose affinity wants a waiting pod; nil: it wants none

	a     *placement.Attempt
	c     *cluster.Snapshot
	pod   *v1.Pod
	owner owner
	law   *law
	slots []int // all, in scan order

	fails      map[int][]failure // of each node that was asked
	pool, open []int
	inPool     map[int]bool
	inOpen     map[int]bool
	shared     map[string][]failure // by the verdicts of all predicates
	key        []byte               // of shared, and scratch
	said       []verdictOf          // scratch
	makers     map[string][]*v1.Pod // by provisioner
	errs       bool                 // a filter fails on a node that was asked
	differs    []devices.Mismatch   // what a selector of devices wants and no device has, when that is the cause
	limit      limit                // of attached volumes, when that is the cause
	unoffered  demand               // what no node offers, when that is the cause
	packed     []int                // nodes that have room for no more pod, when that is the cause
	wanted     map[int]bool         // the nodes of the domains, other than host names, where the rule that is the cause wants the pod
}

// verdictOf is a verdict of a predicate.
type verdictOf struct {
	predicate int
	verdict   resources.Verdict
}

// failure is a rule that rejects a node.
type failure struct {
	plugin, reason string
	of             filter.Predicate
}

func newSought(prepare func(pod *v1.Pod) *placement.Attempt, c *cluster.Snapshot, pod *v1.Pod, waiting []*v1.Pod) *sought {
	x := &sought{prepare: prepare, waiting: waiting, a: prepare(pod), c: c, pod: pod, owner: ownerOf(c, pod), inPool: map[int]bool{}, inOpen: map[int]bool{}, shared: map[string][]failure{}, makers: map[string][]*v1.Pod{}}
	x.law = &law{pod: pod, bare: x.owner.kind == "Pod", state: x.owner.kind == "StatefulSet"}
	for _, i := range c.Order() {
		x.slots = append(x.slots, int(i))
		x.law.nodes = append(x.law.nodes, c.Node(int(i)))
	}
	return x
}

func (x *sought) find() *Cause {
	if len(x.pod.Spec.SchedulingGates) > 0 {
		return x.gated()
	}
	if x.a.Rejected() {
		return x.rejected()
	}
	if len(x.slots) == 0 {
		return &Cause{Type: causeNoNode, Text: "the cluster has no node"}
	}
	fails, fits := x.split()
	if c := x.failed(fits); c != nil || fits {
		return c
	}
	x.fails = fails
	if c := x.everywhere(fails); c != nil {
		return c
	}
	switch {
	case len(x.pool) == 0:
		return x.noPool(fails)
	case len(x.open) == 0:
		return x.closed()
	}
	return x.ofOpen(fails)
}

// split asks every filter about every node, and finds the nodes of the pool and the open ones of them. fits reports whether a node takes
// the pod: there is no pool then.
func (x *sought) split() (fails map[int][]failure, fits bool) {
	fails = make(map[int][]failure, len(x.slots))
	for _, i := range x.a.Candidates() {
		if fails[i] = x.failures(i); len(fails[i]) == 0 {
			return nil, true
		}
	}
	for _, i := range x.slots {
		if list, asked := fails[i]; asked && !slices.ContainsFunc(list, ofPool) {
			x.pool = append(x.pool, i)
		}
	}
	x.pool = x.offering(x.pool)
	for _, i := range x.pool {
		x.inPool[i] = true
		if !slices.ContainsFunc(fails[i], ofOpening) {
			x.open, x.inOpen[i] = append(x.open, i), true
		}
	}
	return fails, false
}

// failures returns the rules that reject a node. Nodes with equal verdicts share the list, unless a reason has numbers of its node.
func (x *sought) failures(i int) (out []failure) {
	x.key, x.said = x.key[:0], x.said[:0]
	partial := false
	for k, p := range x.a.Predicates {
		if v := p.Check(i); v != 0 {
			x.key = binary.AppendUvarint(binary.AppendUvarint(x.key, uint64(k)), uint64(v))
			x.said = append(x.said, verdictOf{k, v})
			if d, ok := p.(filter.Detailer); ok && d.Partial(v) {
				partial = true
			}
		}
	}
	if list, known := x.shared[string(x.key)]; known && !partial {
		return list
	}
	for _, s := range x.said {
		x.errs = x.errs || x.ends(s)
		p := x.a.Predicates[s.predicate]
		reasons := x.a.Predicates[s.predicate:s.predicate+1].Reasons(filter.Rejection{Verdict: s.verdict}, i)
		for _, r := range reasons {
			out = append(out, failure{p.Name(), r, p})
		}
		if len(reasons) == 0 {
			out = append(out, failure{p.Name(), "", p})
		}
	}
	if !partial {
		x.shared[string(x.key)] = out
	}
	return out
}

const (
	ofBinding     = "VolumeBinding"
	ofZone        = "VolumeZone"
	ofTaints      = "TaintToleration"
	ofCordon      = "NodeUnschedulable"
	ofName        = "NodeName"
	ofPods        = "InterPodAffinity"
	ofPorts       = "NodePorts"
	ofLimits      = "NodeVolumeLimits"
	ofRestriction = "VolumeRestrictions"
	ofRoom        = "NodeResourcesFit"
)

// ofPool reports whether a rule takes a node out of the pool.
func ofPool(f failure) bool {
	return f.plugin == ofAffinity || f.plugin == ofZone || f.plugin == ofName || f.plugin == ofBinding && strings.Contains(f.reason, "PersistentVolume's node affinity")
}

// ofOpening reports whether a rule closes a node.
func ofOpening(f failure) bool { return f.plugin == ofTaints || f.plugin == ofCordon }

// numbers returns the facts of a plugin about a node.
func numbers(f failure, slot int) []string {
	if n, ok := f.of.(interface{ Numbers(i int) []string }); ok {
		return n.Numbers(slot)
	}
	return nil
}

// gated returns the cause of a pod with gates.
func (x *sought) gated() *Cause {
	var names, said []string
	for _, g := range x.pod.Spec.SchedulingGates {
		text := g.Name
		for prefix, who := range gateOwners {
			if strings.HasPrefix(g.Name, prefix) {
				text += ", which " + who + " removes"
			}
		}
		names, said = append(names, g.Name), append(said, text)
	}
	return &Cause{Type: causeGate, Object: "Pod " + podinfo.Name(x.pod), Field: "spec.schedulingGates", Found: strings.Join(names, ", "), Text: "it is gated by " + joined(said)}
}

// joined joins names in a sentence: "a", "a and b", "a, b and c".
func joined(list []string) string {
	if n := len(list); n > 1 {
		return strings.Join(list[:n-1], ", ") + " and " + list[n-1]
	}
	return strings.Join(list, "")
}

// mostNamed is how many nodes a sentence names.
const mostNamed = 3

// few joins names, the first three at most: "n1, n2, n3 and 4 more".
func few(list []string) string { return fewOf(list, len(list)) }

// fewOf is few for a list of which there are n in all.
func fewOf(list []string, n int) string {
	if n <= mostNamed {
		return joined(list)
	}
	shown := min(mostNamed, len(list))
	return strings.Join(list[:shown], ", ") + " and " + decimal(int64(n-shown)) + " more"
}

// namesOf returns the names of nodes.
func (x *sought) namesOf(slots []int) (out []string) {
	for _, i := range slots {
		out = append(out, x.c.Node(i).Name)
	}
	return out
}

// count writes a number of things: "1 node", "3 nodes".
func count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return decimal(int64(n)) + " " + one + "s"
}

package diagnose

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/decider"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/taints"
)

// Input is a cluster and the profile that decides. Only Snapshot is required.
type Input struct {
	Snapshot *cluster.Snapshot
	// Profile without filters and scores is placement.DefaultProfile. Its Volumes and Devices must be nil.
	Profile placement.Profile
	// Pending are the pods that wait, in the order in which they are tried; whether the pod is among them does not matter. A remedy counts
	// the pods of the pod's owner, and leaves the room that pods before them take. Nil pods are left out.
	Pending []*v1.Pod
	// More returns how many pods equal to a pod of Pending wait beside it and are not in Pending; nil: none.
	More func(pod *v1.Pod) int
	// Autoscalers say how many pods owners may have. A nil one is none.
	Autoscalers []*autoscalingv2.HorizontalPodAutoscaler
	// Accept returns the error with which the API server refuses one of some new pods that come one after the other, nil when it takes all. raised has
	// larger spec.hard of quotas of the pods' namespace, by quota; nil: none. It must change neither. [Refused] asks it about pods with other amounts, and
	// about larger quotas; nil: what the text says decides.
	Accept func(pods []*v1.Pod, raised map[string]v1.ResourceList) error
	// RuntimeClasses are those that there are: Refused names them. A nil one is none.
	RuntimeClasses []*nodev1.RuntimeClass
	// Stop ends a call when it returns true: the answer has what is known by then, and its Cut is "stop". It is asked before each decision.
	// nil: never. Options.Stop and WakeOptions.Stop leave the cause and the first decision in the answer.
	Stop func() bool
}

// stopped reports whether the caller wants no more.
func (in Input) stopped() bool { return in.Stop != nil && in.Stop() }

// Options change one question. The zero value asks for any node and has the default limits.
type Options struct {
	// Where reports whether a node is one that the pod should get, such as a node of a pool; nil: every node is.
	Where func(n *v1.Node) bool
	// Cost returns what a change costs; nil: DefaultCost. A set costs the sum. A cost below 0 leaves the change out of every set.
	// Cost is asked before the values are known too.
	Cost func(c Change) int64
	// Nodes is the number of nodes whose changes are tried; 0 means 3, below 0 none. Of nodes that agents keep closed as many more are
	// tried.
	Nodes int
	// Size is the largest number of changes in a set; 0 means 4.
	Size int
	// Steps limits the search: one for each set, and one each time a filter is asked, more where the pod has more than 64 requirements
	// and requests. 0 means 200,000.
	Steps int
	// Stop ends the search when it returns true; it is asked before each set. nil: never.
	Stop func() bool
}

// defaultSteps is the limit of a search without [Options.Steps].
const defaultSteps = 200000

// Diagnosis is what would have to change.
type Diagnosis struct {
	Pod string `json:"pod"` // namespace/name
	// Node is where the pod goes as things are, with its nomination; "" when it goes nowhere, or not where Options.Where wants it.
	Node string `json:"node,omitempty"`
	// Message is v1.37's message for a pod that goes nowhere.
	Message string `json:"message,omitempty"`
	// Preempts is the node on which v1.37's preemption makes room without any change, Victims the pods that leave; "" for none.
	Preempts string   `json:"preempts,omitempty"`
	Victims  []string `json:"victims,omitempty"`
	// Cause is why the pod has no node; nil for a pod with a node elsewhere.
	Cause *Cause `json:"cause,omitempty"`
	// Changes are the single changes of which the sets are made, as far as they can go.
	Changes []Change `json:"changes"`
	// Relaxations are all smallest sets of changes that place the pod, the cheapest first.
	Relaxations []Relaxation `json:"relaxations"`
	// Remedies are at most three lines of advice, the best for the cause first: relaxations and edits of the owner, with all pods of
	// the owner counted.
	Remedies []Remedy `json:"remedies,omitempty"`
	// Dropped are changes that would be in sets, and that advice must not name because they do harm.
	Dropped []Dropped `json:"dropped,omitempty"`
	// Conflicts are the smallest sets of rules of the pod, by field path, that keep the pod out whatever its other rules are.
	// A conflict without rules says that the pod would not be placed with all its rules dropped.
	Conflicts [][]string `json:"conflicts"`
	// Cut says why there may be more relaxations or conflicts: "size", "steps", "stop", or "error" for a set
	// with which a filter fails; "" when there are none.
	Cut string `json:"cut,omitempty"`
	// Untried is the number of sets of at most Options.Size changes that the end of the steps or Stop left out. Sets that hold one of the
	// relaxations need no trial, and are counted all the same.
	Untried int `json:"untried,omitempty"`

	probes []Change // of the pod, that the law forbids: Conflicts read them
}

// Dropped is a change that advice does not name, because it does harm.
type Dropped struct {
	Change string `json:"change"` // in words
	Rule   string `json:"rule"`   // why not
	// Ask says that whoever has reserved the nodes may allow the change: the taint is neither an agent's nor the cluster's own.
	Ask bool `json:"ask,omitempty"`
}

// Relaxation is a smallest set of changes that places the pod.
type Relaxation struct {
	Cost    int64    `json:"cost"`
	Node    string   `json:"node"` // where the pod goes then
	Changes []Change `json:"changes"`
}

// Text returns the changes in words, joined by "; ". An object that has several changes in a row is named once.
func (r Relaxation) Text() string {
	text, object := "", ""
	for i, c := range r.Changes {
		if i > 0 {
			text += "; "
		}
		own := c.Text()
		before, edit, ok := strings.Cut(own, ": ")
		if ok && before == object {
			own = edit
		}
		text, object = text+own, before
	}
	return text
}

var errNoSnapshot = fmt.Errorf("diagnose: %w", cluster.ErrNoSnapshot)

// diagnosis is one question on its way.
type diagnosis struct {
	o         Options
	profile   placement.Profile
	tolerates taints.Options // of the profile's TaintToleration
	base      *cluster.Snapshot
	pod       *v1.Pod

	slots  []int // in scan order
	rank   []int // place of a slot in the scan order
	target bits
	full   filter.Predicates // of the pod as it is
	sought *sought           // has the pool
	cause  *Cause            // of the pod as it is; nil for a pod that fits elsewhere

	budgets     *budgets
	devices     *tracker.Tracker // of the base
	asksDevices bool             // the pod has claims, or asks for an extended resource that a device class provides

	changes    []*Change // of the pod
	everyone   []*Change // beside the pod and one node; their bits follow those of changes
	places     []place
	gates      uint64 // changes of the pod that every set needs
	probes     uint64 // changes of the pod that the law forbids: they are in no set, and conflicts read them
	dropped    []Dropped
	law        *law
	owner      owner
	crew       crew
	controller *metav1.OwnerReference // of the pod; nil: none
	scalers    []*autoscalingv2.HorizontalPodAutoscaler
	harm       []int     // of remedies
	repels     *[]repels // nil: not asked yet
	common     *common
	asking     []int // slots of the last call of asked, to be used again
	input      Input
	unmade     []*v1.Pod // pods that the API server refuses, the pod among them: they do not exist
	lean       bool      // of All: no conflicts, and pods leave only where that is good advice about the cause
	sees       []uint64  // by filter: the changes that it sees
	pods       map[uint64]*v1.Pod
	worlds     map[worldKey]*world
	goes       map[choice]string // where the pod goes with a set that works, its values as far as they can go
	scratch    bits

	steps, asks int
	weight      int // of an ask, in steps
	cut         string
	untried     int
}

// place is a node that a set may change, or a node that it may add (slot -1).
type place struct {
	slot    int
	changes []*Change
}

// Relax returns what would have to change so that the pod gets a node that [Options.Where] wants. A pod that gets one as things are
// has no relaxations. The pod must not be on a node. The errors are [cluster.ErrNoSnapshot], those of Profile.Validate, and an error for a
// nil pod, a pod that is on a node or has finished, and a profile with Volumes or Devices.
func Relax(in Input, pod *v1.Pod, o Options) (_ *Diagnosis, err error) {
	defer must.Catch(&err)
	return must.Get(begin(in, pod, o)).relax(), nil
}

// unanswered is the diagnosis of a pod that the caller's stop has left out.
func unanswered(pod *v1.Pod) *Diagnosis {
	return &Diagnosis{Pod: podinfo.Name(pod), Changes: []Change{}, Relaxations: []Relaxation{}, Conflicts: [][]string{}, Cut: "stop"}
}

// relax answers the question.
func (d *diagnosis) relax() *Diagnosis {
	pod := d.pod
	out := unanswered(pod)
	if d.input.stopped() {
		return out
	}
	out.Cut = ""
	if d.asItIs(out) {
		return out
	}
	out.Cause = d.cause
	if d.input.stopped() || d.lean && d.o.Stop() { // of many groups the causes alone take a while
		out.Cut = "stop"
		return out
	}
	d.list()
	out.Relaxations = d.finish(d.search())
	if r, ok := d.raised(); ok && r.Cost >= 0 {
		out.Relaxations = append(out.Relaxations, r)
		slices.SortStableFunc(out.Relaxations, byCost)
	}
	out.Remedies = d.remedies(out.Relaxations)
	if !d.lean {
		out.Conflicts = d.conflicts()
	}
	out.Cut, out.Untried, out.Dropped = d.cut, d.untried, d.dropped
	for _, c := range d.changes {
		if c.why == "" {
			out.Changes = append(out.Changes, c.loosest())
		} else {
			out.probes = append(out.probes, c.loosest())
		}
	}
	for _, c := range d.everyone {
		out.Changes = append(out.Changes, c.loosest())
	}
	for _, p := range d.places {
		for _, c := range p.changes {
			out.Changes = append(out.Changes, *c)
		}
	}
	return out
}

func begin(in Input, pod *v1.Pod, o Options) (*diagnosis, error) {
	return beginWith(in, pod, o, newCommon())
}

// beginWith is begin with what several diagnoses share.
func beginWith(in Input, pod *v1.Pod, o Options, shared *common) (*diagnosis, error) {
	switch {
	case in.Snapshot == nil:
		return nil, errNoSnapshot
	case pod == nil:
		return nil, errors.New("diagnose: pod: Required value: must not be nil")
	case pod.Spec.NodeName != "" || in.Snapshot.Pod(pod.Namespace, pod.Name) != nil:
		return nil, fmt.Errorf("diagnose: pod %s: spec.nodeName: Forbidden: the pod is on a node", podinfo.Name(pod))
	case cluster.Finished(pod):
		return nil, fmt.Errorf("diagnose: pod %s: status.phase: Forbidden: the pod has finished", podinfo.Name(pod))
	}
	var err error
	if in.Profile, err = profileOf(in); err != nil {
		return nil, err
	}
	if o.Nodes == 0 {
		o.Nodes = 3
	}
	o.Nodes = max(o.Nodes, 0)
	if o.Size <= 0 {
		o.Size = 4
	}
	if o.Steps <= 0 {
		o.Steps = defaultSteps
	}
	if o.Cost == nil {
		o.Cost = DefaultCost
	}
	search := o.Stop
	o.Stop = func() bool { return in.stopped() || search != nil && search() }
	d := &diagnosis{o: o, input: in, profile: in.Profile, tolerates: decider.Tolerations(in.Profile), base: in.Snapshot.Fork(), common: shared, pod: pod.DeepCopy(), pods: map[uint64]*v1.Pod{}, worlds: map[worldKey]*world{}, goes: map[choice]string{}}
	if i := d.base.Slot(d.pod.Status.NominatedNodeName); o.Where != nil && (i < 0 || !o.Where(d.base.Node(i))) {
		d.pod.Status.NominatedNodeName = "" // v1.37 tries a nominated node whatever nodes plugins name
	}
	d.rank = make([]int, d.base.Len())
	for at, i := range d.base.Order() {
		d.slots, d.rank[i] = append(d.slots, int(i)), at
	}
	d.owner = ownerOf(d.base, d.pod)
	d.crew, d.scalers = d.crewOf(in), in.Autoscalers
	d.law = d.lawOf()
	d.budgets, d.devices = budgetsOf(d.base), tracker.New(d.base, tracker.Of(d.base))
	d.asksDevices = len(d.pod.Spec.ResourceClaims) > 0 || d.devices.ExtendedResources().Serve(d.pod)
	d.weight = podinfo.Weight(d.pod)
	w := d.newWorld(d.base)
	d.worlds[worldKey{place: -1}], d.target = w, w.target
	return d, nil
}

// slotsOf returns the slots of the running pods.
func (d *diagnosis) slotsOf() map[*v1.Pod]int { return d.common.slotsOf(d.base, d.slots) }

// nodeOf returns the name of the node of a running pod.
func (d *diagnosis) nodeOf(p *v1.Pod) string { return d.base.Node(d.slotsOf()[p]).Name }

// profileOf returns the profile that decides, the default one when the input has none.
func profileOf(in Input) (placement.Profile, error) {
	p := in.Profile
	if p.Volumes != nil || p.Devices != nil {
		return p, errors.New("diagnose: profile: Forbidden: every changed cluster has volumes and devices of its own")
	}
	if len(p.Filters) == 0 && len(p.Scores) == 0 {
		p = placement.DefaultProfile()
		p.SchedulerName = in.Profile.SchedulerName
	}
	p.Sampling = placement.AllNodes()
	if errs := p.Validate(nil); len(errs) > 0 {
		return p, errs.ToAggregate()
	}
	return p, nil
}

// asItIs decides about the pod without changes, and reports whether it goes where it should.
func (d *diagnosis) asItIs(out *Diagnosis) bool {
	plan, _ := d.common.placerOf(d)
	attempt := plan.Prepare(d.pod)
	d.full = attempt.Predicates
	defer func() {
		if out.Node == "" {
			d.sought = newSought(func(p *v1.Pod) *placement.Attempt {
				if p == d.pod {
					return attempt
				}
				return plan.Prepare(p)
			}, d.base, d.pod, d.waiting())
			d.cause = d.sought.cause()
		}
	}()
	if len(d.pod.Spec.SchedulingGates) > 0 {
		out.Message = "Scheduling is blocked due to non-empty scheduling gates"
		return false
	}
	dec := plan.Decide(d.pod, placement.Options{})
	if dec.Placed() && d.o.Where == nil {
		out.Node = dec.Node
		return true
	}
	if !dec.Placed() {
		out.Message = dec.Failure.Text()
		r := plan.Preempt(d.pod, dec.Failure, placement.Options{}, placement.PreemptOptions{Budgets: disruption.NewBudgets(d.budgets.pdbs, disruption.BudgetOptions{})})
		if r.Node != "" {
			out.Preempts = r.Node
			for _, v := range r.Victims {
				out.Victims = append(out.Victims, podinfo.Name(v.Pod))
			}
		}
		return false
	}
	out.Node = must.Get(placement.New(d.base, d.where(d.base))).Decide(d.pod, placement.Options{}).Node
	return out.Node != ""
}

// ofDevices is the plugin that no change makes necessary for a pod that asks for no devices.
const ofDevices = "DynamicResources"

// freeFilter returns a name that no filter of the profile has.
func (d *diagnosis) freeFilter(name string) string {
	for slices.ContainsFunc(d.profile.Filters, func(f *placement.Plugin) bool { return f.Name == name }) {
		name += "-more"
	}
	return name
}

// where is the profile over a snapshot with a filter in front that allows the nodes of Options.Where alone.
func (d *diagnosis) where(s *cluster.Snapshot) placement.Profile {
	p := d.ofPod(s)
	if d.o.Where == nil {
		return p
	}
	p.Filters = append([]*placement.Plugin{{Name: d.freeFilter("Where"), Filter: func(_ *v1.Pod, c placement.Cluster) placement.PreFiltered {
		names := []string{}
		for i := range c.Len() {
			if n := c.Node(i); n != nil && d.o.Where(n) {
				names = append(names, n.Name)
			}
		}
		return placement.PreFiltered{Nodes: names}
	}}}, p.Filters...)
	return p
}

// isOf reports whether a change of the first pod can be made in the second: they have one spec, the node apart.
func isOf(of, pod *v1.Pod) bool {
	a, b := of.Spec, pod.Spec
	a.NodeName, b.NodeName = "", ""
	return of == pod || reflect.DeepEqual(a, b)
}

// Apply makes changes, of one [Diagnosis] of that pod, in a snapshot, and returns the changed pod. The pod stays as it is and comes on
// no node. The pods of a [Relaxation] leave by eviction: a pod stays if a disruption budget does not allow its eviction. Fork the snapshot to keep it. Without changes Apply returns a copy of the pod. A [Change] that was read from JSON, or
// is one of another pod, is an error. The other errors are those of [cluster.Snapshot.Set] and Remove, and the snapshot then has some of the changes.
func Apply(s *cluster.Snapshot, pod *v1.Pod, changes ...Change) (changed *v1.Pod, err error) {
	defer must.Catch(&err)
	if s == nil {
		return nil, errNoSnapshot
	}
	if pod == nil {
		return nil, errors.New("diagnose: pod: Required value: must not be nil")
	}
	for i, c := range changes {
		if c.edit != nil && !isOf(c.pod, pod) {
			return nil, fmt.Errorf("diagnose: changes[%d]: Invalid value: %q: is a change of another pod or of another spec: %s", i, c.Path, podinfo.Name(c.pod))
		}
		if c.edit == nil && c.make == nil {
			return nil, fmt.Errorf("diagnose: changes[%d]: Invalid value: %q: is no change of a Diagnosis", i, c.Kind)
		}
	}
	return apply(s, pod, changes), nil
}

// apply is Apply for changes that are known to fit.
func apply(s *cluster.Snapshot, pod *v1.Pod, changes []Change) *v1.Pod {
	p, gone := pod.DeepCopy(), map[*v1.Pod]bool{}
	for i := range changes {
		c := &changes[i]
		if c.edit != nil {
			c.edit(p, c.now())
		}
		if c.make != nil {
			c.once(s, gone)
		}
	}
	return p
}

// once makes a change of the cluster. gone has the pods that earlier changes take away: two removals of a node may have the same pods.
func (c *Change) once(s *cluster.Snapshot, gone map[*v1.Pod]bool) {
	own := *c
	own.remove = slices.DeleteFunc(slices.Clone(c.remove), func(p *v1.Pod) bool { return gone[p] })
	for _, p := range c.remove {
		gone[p] = true
	}
	own.make(s, &own)
}

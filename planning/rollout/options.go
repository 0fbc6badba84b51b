package rollout

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/resources"
)

// DefaultSteps is the limit of [Options.Steps]: 20 plans of 100 nodes.
const DefaultSteps = 2000

// OldTaint is the key of the taint that nodes have until their turn comes. Its effect is PreferNoSchedule and its value is empty.
const OldTaint = "podberth.io/old"

// SafeToEvict is the annotation whose value "false" forbids the cluster autoscaler to evict a pod.
const SafeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict"

// Order says in which order nodes are replaced.
type Order string

const (
	// FewestPods begins with the node that has the fewest pods to evict, because pods of early nodes may have to move twice.
	// Nodes with equally many keep the order of Given.
	FewestPods Order = "fewest-pods"
	// Given keeps the order of Options.Nodes; without Nodes the order of the slots.
	Given Order = "given"
)

// Options change a plan. The zero value replaces all nodes, one after the other, without surge nodes, and stops and starts pods as
// the comments say.
type Options struct {
	// Nodes are the nodes to replace; nil: all nodes. Order is their order; "" is FewestPods.
	Nodes []string
	Order Order
	// Batch is the number of nodes that are replaced at once; 0 means 1.
	Batch int
	// Surge is the number of nodes that come first, each like Shape. A nil Shape is the first of the nodes to replace. They leave
	// in the end unless KeepSurge is set.
	Surge     int
	Shape     *v1.Node
	KeepSurge bool
	// Drain are the flags of kubectl drain. A pod that they refuse keeps its node from being replaced.
	Drain disruption.DrainOptions
	// Pinned returns why a pod must not be evicted, "" for a pod that may. nil pins the pods whose annotation SafeToEvict is
	// "false".
	Pinned func(pod *v1.Pod) string
	// Stop returns how long a pod takes from its eviction until it is gone. nil: its grace period. Start returns how long a new
	// pod takes from its placement until it is ready; node is "" for a pod of another scheduler. nil: no time. Renew returns how
	// long it takes from the moment in which a node is empty until the new node takes pods, and for a surge node until it is
	// there. nil: no time. Negative durations count as 0.
	Stop  func(pod *v1.Pod) time.Duration
	Start func(pod *v1.Pod, node string) time.Duration
	Renew func(node *v1.Node) time.Duration
	// Timeout is how long the drain of a batch may take; 0: no limit.
	Timeout time.Duration
	// Remedies is the number of changes to try for each deadlock at most; 0: none. Each costs a plan.
	Remedies int
	// Steps limits the plans of the remedies together: each costs a step for each of its nodes, more where a pod that it
	// places has more than 64 requirements and requests. 0 means DefaultSteps. End ends the remedies
	// when it returns true; it is asked before each batch of nodes. nil: never. Plan.Untried counts the changes that are left out.
	Steps int
	End   func() bool
	// Progress is called with the number of nodes that have been decided about. nil: no calls.
	Progress func(done, total int)
}

// check returns the error of options that contradict the cluster or themselves.
func (p *Planner) check(o *Options) error {
	seen := map[string]bool{}
	for _, n := range o.Nodes {
		switch {
		case p.base.Slot(n) < 0:
			return fmt.Errorf("nodes: Not found: %q: no such node in the cluster", n)
		case seen[n]:
			return fmt.Errorf("nodes: Duplicate value: %q", n)
		}
		seen[n] = true
	}
	for _, x := range []struct {
		name string
		n    int
	}{{"batch", o.Batch}, {"surge", o.Surge}, {"remedies", o.Remedies}, {"steps", o.Steps}} {
		if x.n < 0 {
			return fmt.Errorf("%s: Invalid value: %d: must not be negative", x.name, x.n)
		}
	}
	if o.Timeout < 0 {
		return fmt.Errorf("timeout: Invalid value: %v: must not be negative", o.Timeout)
	}
	if o.Shape != nil && o.Shape.Name == "" {
		return errors.New("shape.metadata.name: Required value")
	}
	if o.Order != "" && o.Order != FewestPods && o.Order != Given {
		return fmt.Errorf("order: Unsupported value: %q: supported values: %q, %q", o.Order, FewestPods, Given)
	}
	return nil
}

// complete returns the options with the defaults in the place of zero values.
func (p *Planner) complete(o Options) Options {
	if o.Nodes == nil {
		o.Nodes = slices.Clone(p.nodes)
	}
	o.Order, o.Batch = cmp.Or(o.Order, FewestPods), max(1, o.Batch)
	if o.Shape == nil && len(o.Nodes) > 0 {
		o.Shape = p.base.Node(p.base.Slot(o.Nodes[0]))
	}
	if o.Shape == nil {
		o.Surge = 0
	}
	if o.Pinned == nil {
		o.Pinned = unsafe
	}
	return o
}

// unsafe pins the pods that the cluster autoscaler does not evict.
func unsafe(pod *v1.Pod) string {
	if strings.EqualFold(pod.Annotations[SafeToEvict], "false") {
		return "annotation " + SafeToEvict + " is " + pod.Annotations[SafeToEvict]
	}
	return ""
}

// later returns the time that is d after at, and at most the largest duration.
func later(at, d time.Duration) time.Duration {
	return time.Duration(resources.Add(int64(at), int64(d)))
}

func (o *Options) start(pod *v1.Pod, node string) time.Duration {
	if o.Start == nil {
		return 0
	}
	return max(0, o.Start(pod, node))
}

func (o *Options) renew(node *v1.Node) time.Duration {
	if o.Renew == nil {
		return 0
	}
	return max(0, o.Renew(node))
}

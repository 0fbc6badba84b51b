package estimate

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/internal/copies"
	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/release/plugins"
	"github.com/podberth/podberth/resources"
)

// Domains says how often rules over domains larger than a node, such as zones, are asked.
type Domains int

const (
	// First asks them for the first copy on a node: the caller chooses the domains. These are hard spread constraints and required terms of
	// inter-pod affinity of the pod itself, with a topology key of which two nodes have the same value. Default constraints of the profile
	// are asked for every copy.
	First Domains = iota
	// Every asks them for every copy.
	Every
)

// Question asks how many workers each node takes.
type Question struct {
	// Worker is the pod to count.
	Worker *v1.Pod
	// Leader is a pod that goes beside the workers; nil: there is none.
	Leader *v1.Pod
	// Among names the nodes to ask; nil asks all in scan order.
	Among []string
	// Limit is the largest number to count on a node; 0: as many pods as the node allows.
	Limit int
	// Domains says how often rules over larger domains are asked.
	Domains Domains
	// Free replaces what is left on a node, allocatable minus requested, for callers with books of their own. Without "pods" in the list
	// the number of pods stays what it is. nil: the cluster's.
	Free func(node string) v1.ResourceList
}

// Count is what a node takes, as if all copies went there alone.
type Count struct {
	Node string
	// Alone is the number of workers.
	Alone int
	// Leader reports whether the node takes the leader; false without a leader.
	Leader bool
	// Beside is the number of workers after the leader; 0 when the node does not take it.
	Beside int
	// Stop is why there is no further worker than Alone: a filter and its text, as in [Refused] without nodes. It is empty at the limit.
	Stop Refused
}

// PerNode counts the workers that each node takes, alone and beside a leader, in the order of the question. The errors are those of Feasible,
// and a *field.Error for a negative limit. O(nodes) where no copy can change what the filters say about
// the next one: without host ports, spread constraints, anti-affinity terms, volumes and claims of the worker. Otherwise each copy is asked about,
// and with volumes or claims of the worker or the leader prepared anew.
func (e *Estimator) PerNode(q Question) ([]Count, error) {
	if q.Limit < 0 {
		return nil, field.Invalid(field.NewPath("limit"), q.Limit, "must not be negative")
	}
	slots, err := e.slots(q.Among)
	if err != nil {
		return nil, err
	}
	defer e.snapshot.Rollback(e.snapshot.Mark())
	if q.Free != nil {
		for _, i := range slots {
			if err := e.free(i, q.Free); err != nil {
				return nil, err
			}
		}
	}
	c, err := e.counter(q)
	if err != nil {
		return nil, err
	}
	out := make([]Count, len(slots))
	for k, i := range slots {
		if out[k], err = c.count(i); err != nil {
			return nil, fmt.Errorf("node %s: %w", e.snapshot.Node(i).Name, err)
		}
	}
	return out, nil
}

// free gives the node of a slot the allocatable amounts that leave what free says.
func (e *Estimator) free(i int, free func(node string) v1.ResourceList) error {
	s := e.snapshot
	list, node := free(s.Node(i).Name), *s.Node(i)
	node.Status.Allocatable = v1.ResourceList{}
	if _, ok := list[v1.ResourcePods]; !ok {
		node.Status.Allocatable[v1.ResourcePods] = s.Node(i).Status.Allocatable[v1.ResourcePods]
	}
	requested := s.Requested(i)
	for name, amount := range list {
		sum := amount.DeepCopy()
		if c, ok := s.Schema().Column(name); ok {
			if name == v1.ResourceCPU {
				sum.Add(*resource.NewMilliQuantity(requested.At(c), resource.DecimalSI))
			} else {
				sum.Add(*resource.NewQuantity(requested.At(c), resource.DecimalSI))
			}
		}
		node.Status.Allocatable[name] = sum
	}
	return s.Set(&node)
}

// counter counts the copies on one node after the other.
type counter struct {
	*Estimator
	limit          int
	worker, leader *side // leader nil: there is none
	alone, beside  way
	heeds          bool             // the leader counts for the first worker with more than its requests
	repels         func(i int) bool // reports whether terms of the leader keep workers off its node; nil: they do not
	ready          []*v1.Pod        // copies of the worker with their claims, for placing
	sum            resources.Vector // scratch of arithmetic
}

// way says how copies are counted.
type way int

const (
	byArithmetic way = iota // the filter of resources is asked with more and more requested
	byTrial                 // copies come in a what-if of the filters
	byPlacing               // copies are placed, because the filters keep what is promised in the cluster
)

// side is a pod and what is asked of it.
type side struct {
	first, later           *asked            // later: of every copy but the first
	firstTrial, laterTrial preemption.WhatIf // nil until somebody asks
	whole, copy            *v1.Pod           // what comes to a node in a trial: with all rules, and without those that later copies are not asked about
	requests               resources.Vector  // what a copy takes of a node
}

// counter prepares a question.
func (e *Estimator) counter(q Question) (*counter, error) {
	c := &counter{Estimator: e, limit: q.Limit}
	var err error
	if c.worker, err = e.side(q.Worker, "worker", q.Domains); err != nil {
		return nil, err
	}
	c.alone = c.worker.way()
	c.beside = c.alone
	if q.Leader == nil {
		return c, nil
	}
	if c.leader, err = e.side(q.Leader, "leader", q.Domains); err != nil {
		return nil, err
	}
	if c.leader.way() == byPlacing {
		c.beside = byPlacing
	}
	keepsOff := antiTerms(c.leader.first.pod)
	c.heeds = keepsOff || terms(c.worker.first.pod) || !c.worker.first.alike()
	if keepsOff && c.beside != byPlacing && !c.worker.first.has(plugins.InterPodAffinity) {
		c.repels, err = c.repelling()
	}
	return c, err
}

// repelling returns repels for a worker that the filter of inter-pod affinity skips, because nothing but the leader can keep it away.
func (c *counter) repelling() (func(i int) bool, error) {
	if !slices.ContainsFunc(c.filters, func(p *placement.Plugin) bool { return p.Name == plugins.InterPodAffinity }) {
		return nil, nil
	}
	e, err := affinity.CompilePods(c.worker.first.pod, affinity.PodOptions{})
	if err != nil {
		return nil, err
	}
	state := e.Count(c.snapshot)
	move := state.(engine.MovingTerms).OfTerms(nil, 0, c.leader.whole)
	if move == nil {
		return nil, nil
	}
	return func(i int) bool {
		defer move(i, -1)
		move(i, 1)
		return state.Check(i) != 0
	}, nil
}

// side prepares a pod of a question.
func (e *Estimator) side(pod *v1.Pod, name string, d Domains) (*side, error) {
	if err := check(pod, field.NewPath(name)); err != nil {
		return nil, err
	}
	fresh := copies.Of(e.snapshot, pod, 1, nil)
	fresh.Status = v1.PodStatus{ResourceClaimStatuses: pod.Status.ResourceClaimStatuses}
	if err := copies.SetClaims(e.snapshot, fresh); err != nil {
		return nil, err
	}
	s := &side{}
	var err error
	if s.first, err = e.prepare(fresh); err != nil {
		return nil, err
	}
	s.later = s.first
	if d == First {
		if inner := e.inner(fresh); inner != fresh {
			if s.later, err = e.prepare(inner); err != nil {
				return nil, err
			}
		}
	}
	s.whole, s.copy = copies.Of(e.snapshot, fresh, 2, nil), copies.Of(e.snapshot, s.later.pod, 2, nil)
	s.requests = requests(e.snapshot, s.copy)
	return s, nil
}

// count counts on the node of slot i.
func (c *counter) count(i int) (out Count, err error) {
	node := c.snapshot.Node(i)
	out.Node = node.Name
	limit := c.limit
	if limit == 0 {
		limit = int(max(0, c.snapshot.Allocatable(i).At(resources.Pods)))
	}
	var stop *reason
	if out.Alone, stop, err = c.room(c.alone, i, limit, nil); err != nil {
		return out, err
	}
	if stop != nil {
		out.Stop = Refused{Plugin: stop.plugin, Reason: stop.text}
	}
	if c.leader == nil {
		return out, nil
	}
	why, err := c.leader.first.check(node, i)
	if out.Leader = err == nil && why == nil; !out.Leader {
		return out, err
	}
	if c.repels != nil && c.repels(i) {
		return out, nil
	}
	out.Beside, _, err = c.room(c.beside, i, limit, c.leader)
	return out, err
}

// room returns how many workers the node of slot i takes, behind the leader if there is one, and why there is no further one; nil at the limit.
func (c *counter) room(w way, i, limit int, leader *side) (int, *reason, error) {
	switch w {
	case byArithmetic:
		return c.arithmetic(i, limit, leader)
	case byTrial:
		return c.trial(i, limit, leader)
	default:
		return c.placing(i, limit, leader)
	}
}

// Package embed is a controller that asks package [placement] before it creates pods. The controller keeps its own node cache.
// Three methods make the cache a [placement.View], so that no object is converted and no second cache is filled.
//
//	c := embed.New(write)
//	c.SetNode(node); c.SetPod(pod); c.SetWorkload(w)      // what the controller's informers see
//	err := c.Reconcile()                                  // writes a condition for each workload that needs it
//
// A condition says how many replicas would find a node now, on which nodes, and why the next replica would not. The controller
// keeps no ResourceClaims and no device classes: a workload with claims is an error. A [Controller]
// belongs to one goroutine, the goroutine of its reconcile loop.
package embed

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
)

// nodeCache has the nodes in slots and the pods by the name of their node. Pods may come before their node.
type nodeCache struct {
	nodes []*v1.Node
	pods  map[string][]*v1.Pod
}

// Len, Node and Pods are the methods of placement.View. A slot whose node is gone is free.
func (c *nodeCache) Len() int            { return len(c.nodes) }
func (c *nodeCache) Node(i int) *v1.Node { return c.nodes[i] }
func (c *nodeCache) Pods(i int) iter.Seq[*v1.Pod] {
	if c.nodes[i] == nil {
		return slices.Values[[]*v1.Pod](nil)
	}
	return slices.Values(c.pods[c.nodes[i].Name])
}

// slot returns the slot of a node, or else a free one.
func (c *nodeCache) slot(name string) int {
	free := len(c.nodes)
	for i, n := range c.nodes {
		if n != nil && n.Name == name {
			return i
		}
		if n == nil && free == len(c.nodes) {
			free = i
		}
	}
	if free == len(c.nodes) {
		c.nodes = append(c.nodes, nil)
	}
	return free
}

// drop takes a pod out, whatever node it was on.
func (c *nodeCache) drop(pod *v1.Pod) {
	same := func(p *v1.Pod) bool { return p.Namespace == pod.Namespace && p.Name == pod.Name }
	for node, pods := range c.pods {
		c.pods[node] = slices.DeleteFunc(pods, same)
	}
}

// Workload is what the controller reconciles: a number of equal pods.
type Workload struct {
	Namespace, Name string
	Replicas        int
	Template        v1.PodTemplateSpec
}

// Condition is what the controller writes about a workload.
type Condition struct {
	Ready   bool     // every replica would find a node
	Count   int      // so many replicas would
	Nodes   []string // the nodes of these replicas, in the order of the decisions
	Message string   // why the next replica would not; empty when Ready
	Details []string // the reasons of each node, when no replica would find one
}

// Controller has a condition for each workload. Make one with [New].
type Controller struct {
	cache     nodeCache
	workloads map[string]Workload
	dirty     map[string]bool
	written   map[string]Condition
	write     func(workload string, c Condition) error
}

// New returns a controller that writes conditions with write. write gets the workload as namespace/name.
func New(write func(workload string, c Condition) error) *Controller {
	return &Controller{
		cache: nodeCache{pods: map[string][]*v1.Pod{}}, workloads: map[string]Workload{},
		dirty: map[string]bool{}, written: map[string]Condition{}, write: write,
	}
}

// SetNode takes in a new node or a new version of a node.
func (c *Controller) SetNode(node *v1.Node) {
	i := c.cache.slot(node.Name)
	c.cache.nodes[i] = node
	c.touch()
}

// DeleteNode takes in that a node is gone.
func (c *Controller) DeleteNode(node *v1.Node) {
	i := c.cache.slot(node.Name)
	c.cache.nodes[i] = nil
	c.touch()
}

// SetPod takes in a new pod or a new version of a pod. Only pods that hold room on a node count.
func (c *Controller) SetPod(pod *v1.Pod) {
	c.cache.drop(pod)
	if pod.Spec.NodeName != "" && !cluster.Finished(pod) {
		c.cache.pods[pod.Spec.NodeName] = append(c.cache.pods[pod.Spec.NodeName], pod)
	}
	c.touch()
}

// DeletePod takes in that a pod is gone.
func (c *Controller) DeletePod(pod *v1.Pod) {
	c.cache.drop(pod)
	c.touch()
}

// SetWorkload takes in a new workload or a new version of a workload.
func (c *Controller) SetWorkload(w Workload) {
	key := w.Namespace + "/" + w.Name
	c.workloads[key], c.dirty[key] = w, true
}

// touch marks every workload: a change of the cluster may change each answer.
func (c *Controller) touch() {
	for key := range c.workloads {
		c.dirty[key] = true
	}
}

// Reconcile works off the workloads that something changed for, sorted by name. It writes only conditions that differ from the
// last ones written. A workload whose condition cannot be made or written stays marked for the next call; the error names it.
func (c *Controller) Reconcile() error {
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(c.dirty)) {
		want, err := c.condition(c.workloads[key])
		if err == nil && !reflect.DeepEqual(c.written[key], want) { // no condition is the zero one
			err = c.write(key, want)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("workload %s: %w", key, err))
			continue
		}
		c.written[key] = want
		delete(c.dirty, key)
	}
	return errors.Join(errs...)
}

// condition places the replicas for trial: each that finds a node is put into the cache, so that the next decision counts it,
// and all are taken out again.
func (c *Controller) condition(w Workload) (out Condition, err error) {
	if len(w.Template.Spec.ResourceClaims) > 0 {
		return out, field.Forbidden(field.NewPath("template", "spec", "resourceClaims"), "the controller keeps no claims of devices")
	}
	var placed []*v1.Pod
	defer func() {
		for _, pod := range placed {
			c.cache.drop(pod)
		}
	}()
	for out.Count < w.Replicas {
		pod := &v1.Pod{ObjectMeta: *w.Template.ObjectMeta.DeepCopy(), Spec: w.Template.Spec}
		pod.Namespace, pod.Name = w.Namespace, fmt.Sprintf("%s-%d in thought", w.Name, out.Count)
		plan, err := placement.New(placement.Rows(&c.cache), placement.DefaultProfile()) // over the cache as it is now
		if err != nil {
			return Condition{}, err
		}
		d := plan.Decide(pod, placement.Options{})
		if !d.Placed() {
			return explain(plan, pod, d, out)
		}
		c.cache.pods[d.Node] = append(c.cache.pods[d.Node], pod)
		placed = append(placed, pod)
		out.Count, out.Nodes = out.Count+1, append(out.Nodes, d.Node)
	}
	out.Ready = true
	return out, nil
}

// explain adds why a replica finds no node, and what every node says when it is the first replica.
func explain(plan *placement.Plan, pod *v1.Pod, d placement.Decision, out Condition) (Condition, error) {
	if d.Failure.Err != nil {
		return Condition{}, d.Failure.Err
	}
	out.Message = d.Failure.Text()
	if out.Count > 0 {
		return out, nil
	}
	table, err := plan.Table(pod)
	for _, n := range table {
		for _, r := range n.Rejections {
			out.Details = append(out.Details, fmt.Sprintf("%s: %s: %s", n.Node, r.Plugin, strings.Join(append(slices.Clone(r.Reasons), r.Numbers...), "; ")))
		}
	}
	return out, err
}

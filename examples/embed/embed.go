// Package embed is a controller that asks package [placement] before it creates pods. What its informers see goes into a
// [cluster.Snapshot], which keeps the same objects, copies none, and follows each change.
//
//	c, err := embed.New(write)
//	err = c.Set(node) // and pods: what the controller's informers see
//	c.SetWorkload(w)
//	err = c.Reconcile() // writes a condition for each workload that needs it
//
// A condition says how many replicas would find a node now, on which nodes, and why the next replica would not. The controller
// keeps no ResourceClaims and no device classes: a workload with claims is an error. A [Controller]
// belongs to one goroutine, the goroutine of its reconcile loop.
package embed

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
)

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

// Controller has a condition for each workload. Make one with New.
type Controller struct {
	snapshot  *cluster.Snapshot
	placer    *placement.Placer
	workloads map[string]Workload
	dirty     map[string]bool
	written   map[string]Condition
	write     func(workload string, c Condition) error
}

// New returns a controller that writes conditions with write. write gets the workload as namespace/name.
func New(write func(workload string, c Condition) error) (*Controller, error) {
	snapshot, err := cluster.New(cluster.Objects{})
	if err != nil {
		return nil, err
	}
	profile := placement.DefaultProfile()
	profile.Sampling = placement.AllNodes() // equal replicas share their work
	placer, err := placement.NewPlacer(snapshot, profile)
	return &Controller{
		snapshot: snapshot, placer: placer, workloads: map[string]Workload{},
		dirty: map[string]bool{}, written: map[string]Condition{}, write: write,
	}, err
}

// Set takes in a new node or pod, or a new version of one. Only pods that hold room on a node count.
func (c *Controller) Set(obj metav1.Object) error {
	c.touch()
	return c.snapshot.Set(obj)
}

// Remove takes in that a node or pod is gone. One that was not known is none of the errors: a pod may wait, or be finished.
func (c *Controller) Remove(obj metav1.Object) error {
	c.touch()
	err := c.snapshot.Remove(obj)
	if unknown := new(field.Error); errors.As(err, &unknown) && unknown.Type == field.ErrorTypeNotFound {
		return nil
	}
	return err
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

// condition places the replicas on trial, each beside those before it, and takes all of them out again.
func (c *Controller) condition(w Workload) (out Condition, err error) {
	if len(w.Template.Spec.ResourceClaims) > 0 {
		return out, field.Forbidden(field.NewPath("template", "spec", "resourceClaims"), "the controller keeps no claims of devices")
	}
	defer c.snapshot.Rollback(c.snapshot.Mark())
	for out.Count < w.Replicas {
		pod := &v1.Pod{ObjectMeta: *w.Template.ObjectMeta.DeepCopy(), Spec: w.Template.Spec}
		pod.Namespace, pod.Name = w.Namespace, fmt.Sprintf("%s-%d in thought", w.Name, out.Count)
		d := c.placer.Decide(pod, placement.Options{})
		if !d.Placed() {
			return c.explain(pod, d, out)
		}
		if err := c.placer.Assume(pod, d); err != nil {
			return Condition{}, err
		}
		out.Count, out.Nodes = out.Count+1, append(out.Nodes, d.Node)
	}
	out.Ready = true
	return out, nil
}

// explain adds why a replica finds no node, and what every node says when it is the first replica.
func (c *Controller) explain(pod *v1.Pod, d placement.Decision, out Condition) (Condition, error) {
	if d.Failure.Err != nil {
		return Condition{}, d.Failure.Err
	}
	out.Message = d.Failure.Text()
	if out.Count > 0 {
		return out, nil
	}
	table, err := c.placer.Table(pod)
	for _, n := range table {
		for _, r := range n.Rejections {
			out.Details = append(out.Details, fmt.Sprintf("%s: %s: %s", n.Node, r.Plugin, strings.Join(append(slices.Clone(r.Reasons), r.Numbers...), "; ")))
		}
	}
	return out, err
}

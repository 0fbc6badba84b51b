// Package reasons is a controller that says why pods wait. It takes the events of informers, keeps a cluster.Snapshot, and asks
// package diagnose on each tick, once for the equal pods of an owner.
//
//	c, err := reasons.New()
//	c.OnAdd(pod, false) // informers call it: AddEventHandler(c) for nodes, pods, and what else the pods use
//	text, err := c.Tick()
//
// A Controller may be used by several goroutines.
package reasons

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/diagnose"
)

// Controller has the cluster and the pods that wait. Make one with New.
type Controller struct {
	mu       sync.Mutex
	snapshot *cluster.Snapshot
	pending  map[types.UID]*v1.Pod
	err      error // of the first event that the snapshot refused
}

// New returns a controller of an empty cluster.
func New() (*Controller, error) {
	snapshot, err := cluster.New(cluster.Objects{})
	return &Controller{snapshot: snapshot, pending: map[types.UID]*v1.Pod{}}, err
}

// OnAdd takes in an object that came. With OnUpdate and OnDelete a controller is a cache.ResourceEventHandler of client-go.
func (c *Controller) OnAdd(obj any, _ bool) { c.see(obj, false) }

// OnUpdate takes in the newer version of an object.
func (c *Controller) OnUpdate(_, newer any) { c.see(newer, false) }

// OnDelete takes in that an object went. A client-go informer may send a tombstone: give its Obj.
func (c *Controller) OnDelete(obj any) { c.see(obj, true) }

// see takes in an object that came, changed or went.
func (c *Controller) see(obj any, gone bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, ok := obj.(metav1.Object)
	if !ok {
		c.fail(fmt.Errorf("%T is no object of the API", obj))
		return
	}
	pod, isPod := obj.(*v1.Pod)
	if isPod {
		delete(c.pending, pod.UID)
	}
	switch {
	case isPod && !gone && pod.Spec.NodeName == "" && !cluster.Finished(pod):
		c.pending[pod.UID] = pod
	case !gone:
		c.fail(c.snapshot.Set(o))
	default:
		err := c.snapshot.Remove(o)
		if unknown := new(field.Error); isPod && errors.As(err, &unknown) && unknown.Type == field.ErrorTypeNotFound {
			err = nil // it waited, or was finished
		}
		c.fail(err)
	}
}

// fail keeps the first error, for Tick.
func (c *Controller) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// Tick returns a line for the equal pods of each owner that wait: how many, why, and what helps most. The error is that of an event, or
// of the diagnosis.
func (c *Controller) Tick() (string, error) {
	c.mu.Lock()
	fork, err := c.snapshot.Fork(), c.err // events go on while the fork is asked
	pending := slices.SortedFunc(maps.Values(c.pending), func(a, b *v1.Pod) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	c.mu.Unlock()
	if err != nil {
		return "", err
	}
	groups, err := diagnose.All(diagnose.Input{Snapshot: fork, Pending: pending}, diagnose.Options{})
	var lines strings.Builder
	for _, g := range groups {
		why := g.Message
		if g.Cause != nil {
			why = g.Cause.Text
		}
		fmt.Fprintf(&lines, "%d like %s: %s", len(g.Pods), g.Pods[0], why)
		if len(g.Remedies) > 0 {
			fmt.Fprintf(&lines, "; %s", g.Remedies[0].Text)
		}
		lines.WriteString("\n")
	}
	return lines.String(), err
}

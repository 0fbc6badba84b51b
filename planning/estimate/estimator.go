package estimate

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/copies"
	"github.com/podberth/podberth/internal/decider"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/taints"
)

// Input is the cluster and the rules of an Estimator.
type Input struct {
	// Snapshot is the cluster. The estimator follows its changes, and changes it during a call; it must not be nil.
	Snapshot *cluster.Snapshot
	// Profile has the filters, and for Replicas, Sets and Assume the scores.
	Profile placement.Profile
}

// Estimator answers questions about one cluster. [New] makes an Estimator; the zero value is not usable.
type Estimator struct {
	snapshot  *cluster.Snapshot
	placer    *placement.Placer
	filters   []*placement.Plugin
	tolerates taints.Options // of the profile's TaintToleration
	made      int            // copies of components so far, which gives them names
}

var errNoSnapshot = fmt.Errorf("estimate: %w", cluster.ErrNoSnapshot)

// New returns an Estimator. The error is cluster.ErrNoSnapshot, or that of placement.NewPlacer.
func New(in Input) (*Estimator, error) {
	if in.Snapshot == nil {
		return nil, errNoSnapshot
	}
	placer, err := placement.NewPlacer(in.Snapshot, in.Profile)
	if err != nil {
		return nil, err
	}
	return &Estimator{snapshot: in.Snapshot, placer: placer, filters: slices.Clone(in.Profile.Filters), tolerates: decider.Tolerations(in.Profile)}, nil
}

// check returns an error for a pod about which nobody can ask.
func check(pod *v1.Pod, path *field.Path) error {
	if pod == nil {
		return field.Required(path, "a pod")
	}
	if pod.Spec.NodeName != "" {
		return field.Invalid(path.Child("spec", "nodeName"), pod.Spec.NodeName, "must be empty: the question is which node can take the pod")
	}
	return nil
}

// slots returns the slots of nodes, all in scan order for nil. The error is a *field.Error that names a node that the cluster lacks.
func (e *Estimator) slots(among []string) ([]int, error) {
	if among == nil {
		order := e.snapshot.Order()
		out := make([]int, len(order))
		for k, i := range order {
			out[k] = int(i)
		}
		return out, nil
	}
	out := make([]int, len(among))
	for k, name := range among {
		if out[k] = e.snapshot.Slot(name); out[k] < 0 {
			return nil, field.NotFound(field.NewPath("among").Index(k), name)
		}
	}
	return out, nil
}

// asked is one pod, prepared, with the nodes that the plugins left.
type asked struct {
	*placement.Attempt
	pod       *v1.Pod
	tolerates taints.Options
	left      map[string]bool              // nil: all nodes
	known     map[filter.Rejection]*reason // of rejections that say the same of every node
}

// ask prepares a question, in which a pod that was not made yet gets the claims that the controllers will make. The error is that of a plugin.
// The caller takes the claims back.
func (e *Estimator) ask(pod *v1.Pod) (*asked, error) {
	if e.lacksClaims(pod) {
		pod = copies.Of(e.snapshot, pod, 1, nil)
		if err := copies.SetClaims(e.snapshot, pod); err != nil {
			return nil, err
		}
	}
	return e.prepare(pod)
}

// prepare prepares a question about a pod whose claims are there.
func (e *Estimator) prepare(pod *v1.Pod) (*asked, error) {
	a := &asked{Attempt: e.placer.Prepare(pod), pod: pod, tolerates: e.tolerates}
	if a.Pre.Err != nil {
		return nil, a.Pre.Err
	}
	if a.Pre.Nodes != nil {
		a.left = map[string]bool{}
		for _, n := range a.Pre.Nodes {
			a.left[n] = true
		}
	}
	return a, nil
}

// lacksClaims reports whether a controller has still to make a claim of the pod.
func (e *Estimator) lacksClaims(pod *v1.Pod) bool {
	for _, claim := range podinfo.EphemeralClaims(pod) {
		if _, ok := cluster.List[*v1.PersistentVolumeClaim](e.snapshot).Get(claim.Namespace, claim.Name); !ok {
			return true
		}
	}
	for k := range pod.Spec.ResourceClaims {
		entry := &pod.Spec.ResourceClaims[k]
		made := func(s v1.PodResourceClaimStatus) bool { return s.Name == entry.Name }
		if entry.ResourceClaimTemplateName != nil && !slices.ContainsFunc(pod.Status.ResourceClaimStatuses, made) {
			return true
		}
	}
	return false
}

// outside reports whether the plugins left a node out before they saw it.
func (a *asked) outside(node *v1.Node) bool {
	return a.Rejected() || a.left != nil && !a.left[node.Name]
}

// has reports whether a plugin checks the nodes for the pod.
func (a *asked) has(names ...string) bool {
	for _, p := range a.Predicates {
		if slices.Contains(names, p.Name()) {
			return true
		}
	}
	return false
}

package main

import (
	"fmt"
	"io"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/examples/dump"
	"github.com/podberth/podberth/examples/report"
)

// input is a cluster, ready to be drained.
type input struct {
	objects  *dump.Objects
	budgets  []*policyv1.PodDisruptionBudget // each with a status
	scale    disruption.Scale                // nil: not all controllers are known
	warnings report.Warnings
}

// load reads the cluster, checks it against the command line and completes the budgets.
func load(o options, stdin io.Reader) (*input, error) {
	objects, err := dump.Read(o.files, stdin, o.input)
	if err != nil {
		return nil, err
	}
	if o.expand {
		if _, err := objects.Expand(); err != nil {
			return nil, err
		}
	}
	if err := objects.Orphans("left out of the plan"); err != nil && o.strict {
		return nil, err
	}
	objects.WithoutDevices()
	objects.Absent(true)
	in := &input{objects: objects, warnings: objects.Warnings}
	known := map[string]bool{}
	for _, n := range objects.Nodes {
		known[n.Name] = true
	}
	for i, n := range o.nodes {
		switch {
		case !known[n]:
			return nil, fmt.Errorf("NODE: Not found: %q: no such node in the input", n)
		case slices.Contains(o.nodes[:i], n):
			return nil, fmt.Errorf("NODE: Duplicate value: %q", n)
		}
	}
	return in, in.complete(o)
}

// complete gives budgets without a status the one that the disruption controller gives them, and settles whether the
// controllers of the input are enough to compute budgets again between waves.
func (in *input) complete(o options) error {
	in.scale = disruption.NewScale(in.objects.Workloads())
	for _, b := range in.objects.PodDisruptionBudgets {
		if b.APIVersion == "policy/v1beta1" {
			b.Spec.Selector = disruption.SelectorFromV1beta1(b.Spec.Selector)
		}
		if bad := admission.ValidateBudget(&b.Spec, nil); len(bad) > 0 {
			return fmt.Errorf("PodDisruptionBudget %s/%s: spec.%w", b.Namespace, b.Name, bad[0])
		}
	}
	synced := disruption.NewEvictions(in.objects.PodDisruptionBudgets).Sync(in.objects.Pods, in.scale, o.at)
	for i, b := range in.objects.PodDisruptionBudgets {
		s := synced[i]
		switch {
		case reflect.DeepEqual(b.Status, policyv1.PodDisruptionBudgetStatus{}):
			b = b.DeepCopy()
			b.Status = s.Status
			if s.Err != nil {
				in.warnings.Add(fmt.Sprintf("PodDisruptionBudget %s/%s: how many pods it expects is not known: %v", b.Namespace, b.Name, s.Err))
			}
		case s.Err != nil:
			in.scale = nil
			in.warnings.Add(fmt.Sprintf("PodDisruptionBudget %s/%s: how many pods it expects is taken from its status: %v", b.Namespace, b.Name, s.Err))
		}
		in.budgets = append(in.budgets, b)
	}
	return nil
}

// daemonSets returns whether a DaemonSet is there; nil, all are, when the input has none at all.
func (in *input) daemonSets() func(namespace, name string) bool {
	if len(in.objects.DaemonSets) == 0 {
		return nil
	}
	there := map[string]bool{}
	for _, d := range in.objects.DaemonSets {
		there[d.Namespace+"/"+d.Name] = true
	}
	return func(namespace, name string) bool { return there[namespace+"/"+name] }
}

func (in *input) pod(name string) *v1.Pod {
	for _, p := range in.objects.Pods {
		if p.Namespace+"/"+p.Name == name {
			return p
		}
	}
	return nil
}

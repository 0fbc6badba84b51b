package main

import (
	"fmt"
	"math/rand/v2"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/resources"
)

// This file has workloads that differ in what the caller of podberth asks for.

// withTie is soft-spread, where equal totals are common, with a choice among them.
func withTie(n int) (world, error) {
	w, err := replicas(func(p *v1.Pod, app string) { addSpread(p, v1.LabelTopologyZone, v1.ScheduleAnyway, app) })(n)
	w.tie = true
	return w, err
}

// withNominated has a pod of higher priority for every hundredth node, which takes all that is left there.
func withNominated(constrain func(p *v1.Pod, app string)) func(int) (world, error) {
	return func(n int) (world, error) {
		w, err := replicas(constrain)(n)
		for i := 0; i < n; i += 100 {
			p := makePod("default", fmt.Sprintf("nominated-%d", i), "nominated")
			p.Spec.Priority = new(int32(10))
			p.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse("31")
			p.Status.NominatedNodeName = w.nodes[i].Name
			w.nominated = append(w.nominated, p)
		}
		return w, err
	}
}

// withTenants is plain beside a plugin of the caller.
func withTenants(n int) (world, error) {
	w, err := replicas(func(*v1.Pod, string) {})(n)
	w.tenants = true
	return w, err
}

// options returns what the caller of podberth asks for.
func (b *berth) options(w world) placement.Options {
	var o placement.Options
	if w.tie {
		r := rand.New(rand.NewPCG(1, 2))
		o.Tie = r.IntN
	}
	if len(w.nominated) > 0 {
		bySlot := make([][]*v1.Pod, b.snapshot.Len())
		for _, p := range w.nominated {
			i := b.snapshot.Slot(p.Status.NominatedNodeName)
			bySlot[i] = append(bySlot[i], p)
		}
		o.Nominated = func(i int) []*v1.Pod { return bySlot[i] }
		for i := range bySlot {
			if len(bySlot[i]) > 0 {
				o.NominatedSlots = append(o.NominatedSlots, i)
			}
		}
	}
	return o
}

const tenantLabel = "example.com/tenant"

// tenants is a plugin of the caller: a node with a tenant takes the pods of that tenant only.
func tenants() *placement.Plugin {
	return &placement.Plugin{
		Name: "Tenants", Keep: placement.KeepByNode,
		AppendKey: func(dst []byte, pod *v1.Pod) []byte { return append(append(dst, pod.Labels[tenantLabel]...), 0) },
		Filter: func(pod *v1.Pod, c placement.Cluster) placement.PreFiltered {
			return placement.PreFiltered{Code: filter.Success, Predicate: tenancy{pod.Labels[tenantLabel], c}}
		},
	}
}

type tenancy struct {
	tenant  string
	cluster placement.Cluster
}

func (t tenancy) Name() string { return "Tenants" }

func (t tenancy) Check(i int) resources.Verdict {
	n := t.cluster.Node(i)
	if n == nil || n.Labels[tenantLabel] != "" && n.Labels[tenantLabel] != t.tenant {
		return 1
	}
	return 0
}

func (t tenancy) Reasons(resources.Verdict) []string { return []string{"node(s) had another tenant"} }

// Reads lets the plan ask once for all nodes of a tenant.
func (tenancy) Reads(dst []string) []string { return append(dst, "label:"+tenantLabel) }

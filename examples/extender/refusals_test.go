package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/resources"
)

// Each verb refuses a request without a pod by itself, whatever has looked at the request before.
func TestVerbsNeedAPod(t *testing.T) {
	s, _ := start(t, nil)
	w := s.world()
	_, err := w.filter(&extenderv1.ExtenderArgs{NodeNames: &all})
	require.ErrorAs(t, err, new(badRequest))
	_, err = w.prioritize(&extenderv1.ExtenderArgs{NodeNames: &all}, 10)
	require.ErrorAs(t, err, new(badRequest))
	_, err = w.preempt(&extenderv1.ExtenderPreemptionArgs{})
	require.ErrorAs(t, err, new(badRequest))
}

// Only pods that wait keep room on their nominated node. A pod that runs may still have its old nomination.
func TestNominationOfRunningPod(t *testing.T) {
	const node = `
{apiVersion: v1, kind: Node, metadata: {name: node-1}, status: {allocatable: {cpu: "4", pods: "10"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: node-2}, status: {allocatable: {cpu: "4", pods: "10"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: moved, namespace: shop, uid: moved}, spec: {nodeName: node-2, priority: 100, containers: [{name: c, resources: {requests: {cpu: "3"}}}]}, status: {nominatedNodeName: node-1}}
`
	file := filepath.Join(t.TempDir(), "input.yaml")
	require.NoError(t, os.WriteFile(file, []byte(node), 0o600))
	o := options{files: []string{file}, scores: 10}
	s := newServer(o)
	require.NoError(t, s.read(o, strings.NewReader(""), io.Discard))
	got, err := s.world().filter(&extenderv1.ExtenderArgs{Pod: podAsking("2"), NodeNames: &[]string{"node-1", "node-2"}})
	require.NoError(t, err)
	require.Equal(t, []string{"node-1"}, *got.NodeNames)
}

// failing fails on each node but the first.
type failing struct{}

func (failing) Name() string { return "Failing" }

func (failing) Check(i int) resources.Verdict { return resources.Verdict(min(i, 1)) }

func (failing) Code(resources.Verdict) filter.Code { return filter.Error }

func (failing) Reasons(resources.Verdict) []string { return []string{"no answer"} }

// A filter that fails on a node that was asked about is an error of the answer. Other nodes do not matter.
func TestFilterFails(t *testing.T) {
	s, _ := start(t, nil)
	w := s.world()
	plan, err := placement.New(w.snapshot, placement.Profile{SchedulerName: "s", Filters: []*placement.Plugin{{
		Name: "Failing", Filter: func(*v1.Pod, placement.Cluster) placement.Filtering { return placement.Filtering{Predicate: failing{}} },
	}}})
	require.NoError(t, err)
	w.plans = map[string]*placement.Plan{"": plan}
	got, err := w.filter(&extenderv1.ExtenderArgs{Pod: podAsking("1"), NodeNames: &[]string{"node-1"}})
	require.NoError(t, err)
	require.Equal(t, []string{"node-1"}, *got.NodeNames)
	got, err = w.filter(&extenderv1.ExtenderArgs{Pod: podAsking("1"), NodeNames: &[]string{"node-1", "node-2"}})
	require.NoError(t, err)
	require.Equal(t, &extenderv1.ExtenderFilterResult{Error: `running "Failing" filter plugin: no answer`}, got)
}

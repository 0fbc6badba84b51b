package httpextender

import (
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
)

// server starts a stub and returns the stub and its configuration.
func server(t *testing.T, answer string, change func(*configv1.Extender)) (*stub, configv1.Extender) {
	s := &stub{answer: answer}
	return s, serve(t, s, func(x *configv1.Extender) {
		x.NodeCacheCapable = true
		if change != nil {
			change(x)
		}
	}).config
}

func ignorable(x *configv1.Extender) { x.Ignorable = true }

func TestFilterAll(t *testing.T) {
	first, a := server(t, `{"NodeNames":["n1","n2"],"FailedNodes":{"n3":"first"}}`, nil)
	broken, b := server(t, `no JSON`, ignorable)
	second, c := server(t, `{"NodeNames":["n2"],"FailedNodes":{"n3":"second"},"FailedAndUnresolvableNodes":{"n1":"second"}}`, nil)
	stranger, d := server(t, ``, func(x *configv1.Extender) {
		x.ManagedResources = []configv1.ExtenderManagedResource{{Name: "example.com/gpu"}}
	})
	clients, err := NewAll([]configv1.Extender{b, a, c, d}, Options{})
	require.NoError(t, err)
	got, err := FilterAll(ctx, clients, web(), nodes("n1", "n2", "n3"))
	require.NoError(t, err)
	require.Equal(t, []string{"n2"}, got.Nodes)
	require.Equal(t, map[string]string{"n3": "second"}, got.Failed)
	require.Equal(t, map[string]string{"n1": "second"}, got.Unresolvable)
	require.Contains(t, first.asked[0], `["n1","n2","n3"]`)
	require.Contains(t, second.asked[0], `["n1","n2"]`, "each is asked about what the one before left")
	require.Contains(t, broken.asked[0], `["n2"]`, "ignorable ones come last, though configured first; their failure changes nothing")
	require.Empty(t, stranger.asked, "not interested")
}

func TestFilterAllStops(t *testing.T) {
	_, nothing := server(t, `{}`, nil)
	after, b := server(t, `{"NodeNames":[]}`, nil)
	clients, err := NewAll([]configv1.Extender{nothing, b}, Options{})
	require.NoError(t, err)
	got, err := FilterAll(ctx, clients, web(), nodes("n1"))
	require.NoError(t, err)
	require.Empty(t, got.Nodes)
	require.Empty(t, got.Failed, "nodes that are merely missing have no reason")
	require.Empty(t, after.asked, "no nodes are left to ask about")

	_, failing := server(t, `{"Error":"busy"}`, nil)
	clients, err = NewAll([]configv1.Extender{failing, b}, Options{})
	require.NoError(t, err)
	_, err = FilterAll(ctx, clients, web(), nodes("n1"))
	require.EqualError(t, err, "busy", "an extender that is not ignorable ends the attempt")
}

func TestScoreAll(t *testing.T) {
	_, a := server(t, `[{"Host":"n1","Score":2},{"Host":"n2","Score":5}]`, func(x *configv1.Extender) { x.Weight = 1 })
	_, b := server(t, `[{"Host":"n1","Score":10},{"Host":"n9","Score":10}]`, func(x *configv1.Extender) { x.Weight = 7 })
	_, broken := server(t, `<html>`, nil)
	_, silent := server(t, ``, func(x *configv1.Extender) { x.PrioritizeVerb = "" })
	clients, err := NewAll([]configv1.Extender{a, b, broken, silent}, Options{})
	require.NoError(t, err)
	require.Equal(t, []int64{720, 50}, ScoreAll(ctx, clients, web(), nodes("n1", "n2")), "failures are ignored although the extender is not ignorable")
	require.Empty(t, ScoreAll(ctx, clients, web(), nil))
}

func TestBindAll(t *testing.T) {
	type test struct {
		name, answer string
		ignorable    bool
		bound        bool
		err          string
	}
	testkit.Run(t, []test{
		{"binds", `{}`, false, true, ""},
		{"fails", `{"Error":"no"}`, false, false, "no"},
		{"fails and is ignorable", `{"Error":"no"}`, true, false, ""},
	}, func(t *testing.T, c test) {
		_, none := server(t, ``, func(x *configv1.Extender) { x.BindVerb = "" })
		_, binder := server(t, c.answer, func(x *configv1.Extender) { x.Ignorable = c.ignorable })
		clients, err := NewAll([]configv1.Extender{none, binder}, Options{})
		require.NoError(t, err)
		bound, err := BindAll(ctx, clients, web(), "n1")
		require.Equal(t, c.bound, bound)
		if c.err != "" {
			require.EqualError(t, err, c.err)
			return
		}
		require.NoError(t, err)
	})
}

// oneNode is a cluster of one node with pods.
type oneNode []*v1.Pod

func (oneNode) Len() int          { return 1 }
func (oneNode) Node(int) *v1.Node { return nodes("n1")[0] }
func (c oneNode) Pods(int) iter.Seq[*v1.Pod] {
	return func(yield func(*v1.Pod) bool) {
		for _, p := range c {
			if !yield(p) {
				return
			}
		}
	}
}

// fitsWithout is a what-if of a pod that fits once another pod is gone.
type fitsWithout struct {
	name string
	gone map[string]bool
}

func (w *fitsWithout) Check(int) preemption.Answer {
	if w.gone[w.name] {
		return preemption.Answer{}
	}
	return preemption.Answer{Verdict: 1}
}
func (w *fitsWithout) Add(p *v1.Pod, _ int)    { delete(w.gone, p.Name) }
func (w *fitsWithout) Remove(p *v1.Pod, _ int) { w.gone[p.Name] = true }
func (w *fitsWithout) Reset()                  { clear(w.gone) }
func (w *fitsWithout) Reasons(int, preemption.Answer) ([]string, bool) {
	return []string{"in the way"}, true
}
func (w *fitsWithout) Err(int, preemption.Answer) error { return nil }

// The answers of extenders about victims, including the result of preemption.
func TestPreempters(t *testing.T) {
	low, other := int32(1), int32(2)
	running := func(name string, priority *int32) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)}, Spec: v1.PodSpec{NodeName: "n1", Priority: priority}}
	}
	high := int32(10)
	preemptor := web()
	preemptor.Spec.Priority = &high
	type test struct {
		name, why string
		answers   []string
		ignorable bool
		victims   string
		err       string
	}
	testkit.Run(t, []test{
		{"agreed", "the extender agrees with the victims", []string{`{"NodeNameToMetaVictims":{"n1":{"Pods":[{"UID":"a"}]}}}`}, false, "[a]", ""},
		{"others", "the extender's victims replace those found", []string{`{"NodeNameToMetaVictims":{"n1":{"Pods":[{"UID":"b"}],"NumPDBViolations":5}}}`}, false, "[b]", ""},
		{"one after the other", "each gets what the one before made", []string{`{"NodeNameToMetaVictims":{"n1":{"Pods":[{"UID":"b"}]}}}`, `{"NodeNameToMetaVictims":{"n1":{"Pods":[{"UID":"a"},{"UID":"b"}]}}}`}, false, "[a b]", ""},
		{"refused", "no node is left", []string{`{}`, `no JSON`}, false, "[]", ""},
		{"unknown pod", "no node has this pod", []string{`{"NodeNameToMetaVictims":{"n1":{"Pods":[{"UID":"z"}]}}}`}, false, "", "claims to preempt pod (UID: &{z}) on node: n1, but the pod is not found on that node"},
		{"unknown node", "the node is no candidate", []string{`{"NodeNameToMetaVictims":{"n9":{"Pods":[{"UID":"a"}]}}}`}, false, "", `names node "n9"`},
		{"unknown pod, ignorable", "its answer is passed over", []string{`{"NodeNameToMetaVictims":{"n1":{"Pods":[{"UID":"z"}]}}}`}, true, "[a]", ""},
		{"no victims", "a node without victims needs no preemption", []string{`{"NodeNameToMetaVictims":{"n1":{"Pods":[]}}}`}, false, "", `expected at least one victim pod on node "n1"`},
		{"no victims, ignorable", "the node is left out", []string{`{"NodeNameToMetaVictims":{"n1":null}}`}, true, "[]", ""},
		{"malformed", "the extender is not ignorable", []string{`<html>`}, false, "", "invalid character"},
		{"malformed, ignorable", "the failure of an ignorable extender is ignored", []string{`<html>`}, true, "[a]", ""},
	}, func(t *testing.T, c test) {
		var list []configv1.Extender
		for _, answer := range c.answers {
			_, x := server(t, answer, func(x *configv1.Extender) { x.Ignorable = c.ignorable })
			list = append(list, x)
		}
		clients, err := NewAll(list, Options{})
		require.NoError(t, err)
		r := preemption.Preempt(preemption.Request{
			Pod: preemptor, Cluster: oneNode{running("a", &low), running("b", &other)}, WhatIf: &fitsWithout{"a", map[string]bool{}},
			Rejections: []preemption.Rejection{preemption.Resolvable}, Extenders: Preempters(ctx, clients, preemptor), Now: time.Unix(0, 0),
		})
		if c.err != "" {
			require.ErrorContains(t, r.Err, c.err)
			return
		}
		require.NoError(t, r.Err)
		names := []string{}
		for _, v := range r.Victims {
			names = append(names, v.Pod.Name)
		}
		require.Equal(t, c.victims, fmt.Sprint(names))
	})
}

// An extender that is not interested in the pod is asked nothing.
func TestStrangers(t *testing.T) {
	x, c := server(t, `[{"Host":"n1","Score":2}]`, func(x *configv1.Extender) {
		x.ManagedResources = []configv1.ExtenderManagedResource{{Name: "example.com/gpu"}}
	})
	clients, err := NewAll([]configv1.Extender{c}, Options{})
	require.NoError(t, err)
	require.True(t, clients[0].Offers(Bind) && clients[0].Offers(Preempt) && clients[0].Offers(Prioritize))
	require.Equal(t, []int64{0}, ScoreAll(ctx, clients, web(), nodes("n1")))
	bound, err := BindAll(ctx, clients, web(), "n1")
	require.NoError(t, err)
	require.False(t, bound)
	require.Empty(t, Preempters(ctx, clients, web()))
	require.Empty(t, x.asked)
}

package cluster

import (
	"fmt"
	"math/rand"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
)

// A snapshot may use an info that another snapshot prepared.
func TestInfoOfAnotherSnapshot(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two()})
	f := s.Fork()
	a := testkit.Pod("a").Labels("app=a").Request("example.com/a=1").Obj()
	b := testkit.Pod("b").Labels("app=b").Request("example.com/b=2").Obj()
	require.NoError(t, s.Assume(a, 0))
	info := f.prepare(b) // the same set id and column as a's in s
	require.NoError(t, assumePrepared(s, info, b, 1))
	require.Equal(t, "pods=1 example.com/b=2", s.Requested(1).Describe(s.Schema()))
	require.Equal(t, resources.Scalars+2, s.Schema().Len())
	require.Equal(t, resources.Scalars+1, f.Schema().Len(), "a fork's schema grows alone")
	require.Empty(t, total(f))
	_, inF := f.Schema().Column("example.com/a")
	require.False(t, inF)
}

func TestHotVerbsDoNotAllocate(t *testing.T) {
	s := build(t, 100, 3)
	pod := testkit.Pod("new").Labels("app=a1,tier=t1").Request("cpu=100m").RequireApart(v1.LabelHostname, "app=x0").Obj()
	info := s.prepare(pod)
	type test struct {
		name string
		call func()
	}
	testkit.Run(t, []test{
		{"Prepare of a known kind", func() { s.prepare(pod) }},
		{"rows", func() {
			s.Allocatable(5)
			s.Requested(5)
			s.NonZero(5)
			s.Node(5)
			s.PortPods(5)
			podCount(s, 5)
		}},
		{"Domains", func() { s.Domains(v1.LabelTopologyZone) }},
		{"sets", func() { s.PodSet(0); s.TermSet(0); s.TermSets() }},
		{"PodRequests", func() { s.PodRequests(s.Pod("default", "pod-1-1")) }},
		{"PodSets", func() { s.PodSets("default", "app", "a1", func(int32) {}); s.PodSets("", "", "", func(int32) {}) }},
		{"Since", func() { s.Since(s.Version()-min(s.Version(), 100), func([]Event) {}) }},
		{"Order", func() { s.Order() }},
		{"look-ups", func() { s.Slot("node-00007"); s.podSlot("default", "pod-1-1"); s.Pod("default", "pod-1-1") }},
		{"Mark and Rollback", func() { s.Rollback(s.Mark()) }},
	}, func(t *testing.T, c test) {
		c.call()
		require.Zero(t, testing.AllocsPerRun(100, c.call))
	})
	t.Run("Assume and Remove", func(t *testing.T) {
		// One of 128 pairs of calls begins a block of the change log.
		got := testing.AllocsPerRun(1000, func() {
			if assumePrepared(s, info, pod, 5) != nil || s.Remove(pod) != nil {
				t.Error("not assumed")
			}
		})
		require.Zero(t, got)
	})
}

// Reads run concurrently, also the reads that make an index, and so does Fork. A fork and its original change concurrently.
func TestConcurrentUse(t *testing.T) {
	s := build(t, 70, 3)
	text := describe(s.Fork())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if describe(s) != text {
				t.Error("a read beside others differs")
			}
			if describe(s.Fork()) != text {
				t.Error("a fork made beside reads differs")
			}
		})
	}
	wg.Wait()
	forks := make([]*Snapshot, 4)
	for i := range forks {
		forks[i] = s.Fork()
	}
	for i, f := range append(forks, s) {
		wg.Go(func() {
			w := newWorld(t, rand.New(rand.NewSource(int64(i))))
			for k := range 200 {
				if err := f.Set(w.pod(fmt.Sprintf("n1/p%d", k))); err != nil {
					t.Error(err)
				}
				if err := f.Assume(w.pod(fmt.Sprintf("n%d/p%d", i, k)), k%70); err != nil {
					t.Error(err)
				}
				if err := f.Set(w.node(fmt.Sprintf("node-%05d", k%70))); err != nil {
					t.Error(err)
				}
			}
			describe(f)
			check(t, f)
		})
	}
	wg.Wait()
	for i, f := range append(forks, s) {
		require.Equal(t, 70*3+200, total(f), "fork %d", i)
	}
}

// The key of a term set has label maps in the order of their keys, so that equal terms are one term set.
func TestTermsDoNotDependOnMapOrder(t *testing.T) {
	s := mustNew(t, Objects{Nodes: two()})
	for range 50 {
		pod := testkit.Pod("p").Labels("a=1,b=2,c=3,d=4,e=5").RequireApart("k", "a=1,b=2,c=3,d=4,e=5,f=6,g=7").PreferWith(1, "k", "x=1,y=2,z=3").Obj()
		info := s.prepare(pod)
		require.Equal(t, []int32{0, 0}, []int32{info.set, info.terms})
	}
	pod := testkit.Pod("p").Obj()
	pod.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{}, PodAntiAffinity: &v1.PodAntiAffinity{}}
	require.Equal(t, int32(-1), s.prepare(pod).terms, "empty lists are no terms")
	apart := testkit.Pod("p").RequireApart("k", "a=1").Obj()
	with := testkit.Pod("p").RequireWith("k", "a=1").Obj()
	require.NotEqual(t, s.prepare(apart).terms, s.prepare(with).terms, "affinity and anti-affinity differ")
}

package placement

import (
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
)

// watched counts what a plan reads of a snapshot.
type watched struct {
	*cluster.Snapshot
	cluster.Owners
	calls asked
}

func (w watched) Node(i int) *v1.Node {
	w.calls["read node"]++
	return w.Snapshot.Node(i)
}

func (w watched) Allocatable(i int) resources.Vector {
	w.calls["read allocatable"]++
	return w.Snapshot.Allocatable(i)
}

func (w watched) Requested(i int) resources.Vector {
	w.calls["read requested"]++
	return w.Snapshot.Requested(i)
}

func (w watched) NonZero(i int) (cpuMilli, memoryBytes int64) {
	w.calls["read nonzero"]++
	return w.Snapshot.NonZero(i)
}

func (w watched) Pods(i int) iter.Seq[*v1.Pod] {
	w.calls["read pods"]++
	return w.Snapshot.Pods(i)
}

func (w watched) PodKind(pod *v1.Pod) (kind any, terms int32) {
	w.calls["read pod kind"]++
	return w.Snapshot.PodKind(pod)
}

func (w watched) Order() []int32 {
	w.calls["read order"]++
	return w.Snapshot.Order()
}

func (w watched) PodSet(id int32) (rep *v1.Pod, nodes, counts []int32) {
	w.calls["read pod set"]++
	return w.Snapshot.PodSet(id)
}

func (w watched) TermSet(id int32) (rep *v1.Pod, nodes, counts []int32) {
	w.calls["read term set"]++
	return w.Snapshot.TermSet(id)
}

func (w watched) Domains(key string) (ids []int32, domains, have int) {
	w.calls["read domains"]++
	return w.Snapshot.Domains(key)
}

func (w watched) Classes(reads []string) (ids, reps []int32, ok bool) {
	w.calls["read classes"]++
	return w.Snapshot.Classes(reads)
}

func (w watched) Since(version uint64, yield func([]cluster.Event)) bool {
	w.calls["read log"]++
	return w.Snapshot.Since(version, func(events []cluster.Event) {
		w.calls["events"] += len(events)
		yield(events)
	})
}

// plan returns a plan over the snapshot, whose work is counted when the world counts.
func (w *world) plan(t *testing.T, s *cluster.Snapshot, profile Profile) *Plan {
	var c Cluster = s
	if w.calls != nil {
		c, profile = watched{s, cluster.Owners{Snapshot: s}, w.calls}, w.calls.over(profile)
	}
	p, err := New(c, profile)
	require.NoError(t, err)
	return p
}

// How often plans ask their plugins to prepare an answer and read the cluster, in random clusters that change. A loss of reuse changes
// no answer; here it changes a number. With -rewrite the test writes the numbers as they are.
func TestWork(t *testing.T) {
	testkit.CountsWork(t)
	testkit.Sequential(t)
	var out strings.Builder
	count := func(name string, seeds int, play func(w *world, seed int)) {
		calls := asked{}
		for seed := range seeds {
			play(&world{r: rand.New(rand.NewPCG(uint64(seed), 43)), calls: calls}, seed)
		}
		fmt.Fprintf(&out, "%s\n", name)
		for _, what := range slices.Sorted(maps.Keys(calls)) {
			fmt.Fprintf(&out, "\t%s: %d\n", what, calls[what])
		}
	}
	count("changes", 60, func(w *world, seed int) { play(t, w, fmt.Sprint("seed ", seed), 60) })
	count("nodes leave", 30, func(w *world, seed int) { leave(t, w, fmt.Sprint("seed ", seed), 12) })
	count("preemption", 30, func(w *world, seed int) { playPreemptors(t, w, fmt.Sprint("seed ", seed), 60) })
	count("explanations", 30, func(w *world, _ int) { explain(t, w) })
	count("boxes", 1, func(w *world, _ int) {
		profile := DefaultProfile()
		profile.Sampling = AllNodes()
		decideByBoxes(t, w, profile)
	})
	testkit.Golden(t, "testdata/work.golden", out.String())
}

// explain asks for the tables of some pods, of which some are rejected by running pods.
func explain(t *testing.T, w *world) {
	s := w.snapshot(t, 3+w.r.IntN(8), w.r.IntN(40))
	p := w.plan(t, s, DefaultProfile())
	for range 4 {
		_, err := p.Table(w.pod(w.r.IntN(30)))
		require.NoError(t, err)
		p.Violations()
	}
}

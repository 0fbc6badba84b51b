package filter

import (
	"errors"
	"fmt"
	"math/rand"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
)

type sampleCase struct {
	name, why string
	n         int
	s         Sampling
	want      int
}

func TestNumToFind(t *testing.T) {
	profile := func(p int32) Sampling { return Sampling{Percentage: &p} }
	testkit.Run(t, []sampleCase{
		{"99 nodes", "below 100 all are looked at", 99, Sampling{}, 99},
		{"100 nodes", "49% of them, at least 100", 100, Sampling{}, 100},
		{"150 nodes at 30%", "the minimum of 100", 150, Sampling{Global: 30}, 100},
		{"249 nodes", "50 - 1 = 49%", 249, Sampling{}, 122},
		{"250 nodes", "50 - 2 = 48%", 250, Sampling{}, 120},
		{"500 nodes", "46%", 500, Sampling{}, 230},
		{"500 nodes at 30%", "a set percentage", 500, Sampling{Global: 30}, 150},
		{"1000 nodes", "42%", 1000, Sampling{}, 420},
		{"1000 nodes at 70%", "a set percentage", 1000, Sampling{Global: 70}, 700},
		{"2000 nodes", "34%", 2000, Sampling{}, 680},
		{"5000 nodes", "10%", 5000, Sampling{}, 500},
		{"5000 nodes at 30%", "a set percentage", 5000, Sampling{Global: 30}, 1500},
		{"6000 nodes", "the floor of 5%", 6000, Sampling{}, 300},
		{"10000 nodes", "the floor of 5%", 10000, Sampling{}, 500},
		{"5000 nodes at 1%", "the minimum of 100", 5000, Sampling{Global: 1}, 100},
		{"profile before global", "the profile's value counts", 1000, Sampling{Percentage: ptr(int32(30)), Global: 70}, 300},
		{"profile 0 before global", "an explicit 0 asks for the formula", 1000, Sampling{Percentage: ptr(int32(0)), Global: 70}, 420},
		{"all", "100% is all", 5000, profile(100), 5000},
		{"above 100", "counts as 100, as the documents say", 5000, profile(150), 5000},
		{"nothing scores", "the first node will do", 5000, Sampling{Unscored: true}, 1},
		{"nothing scores and no nodes", "there is none", 0, Sampling{Unscored: true}, 0},
	}, func(t *testing.T, c sampleCase) { require.Equal(t, c.want, NumToFind(c.n, c.s)) })

	for n := range 20000 {
		p, want := n%101, n
		if p == 0 {
			p = max(5, 50-n/125)
		}
		if n >= 100 {
			want = max(100, n*p/100)
		}
		require.Equal(t, want, NumToFind(n, Sampling{Global: int32(n % 101)}), n)
	}
}

// The percentages of the documentation, without the minimum of 100 nodes: 50% of 100 nodes, 10% of 5000, never below 5%.
func TestPercentagesOfTheDocuments(t *testing.T) {
	require.Equal(t, 50, share(100, 0))
	require.Equal(t, 500, share(5000, 0))
	require.Equal(t, 5000, share(100_000, 0))
	require.Equal(t, NumToFind(5000, Sampling{Global: 10}), NumToFind(5000, Sampling{}))
	require.Equal(t, NumToFind(100_000, Sampling{Global: 5}), NumToFind(100_000, Sampling{}))
}

func TestValidatePercentage(t *testing.T) {
	path := field.NewPath("percentageOfNodesToScore")
	require.Empty(t, ValidatePercentage(nil, path))
	require.Empty(t, ValidatePercentage(ptr(int32(100)), path))
	require.Empty(t, ValidatePercentage(ptr(int32(0)), path))
	require.Equal(t, "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]", ValidatePercentage(ptr(int32(101)), path)[0].Error())
	require.Len(t, ValidatePercentage(ptr(int32(-1)), path), 1)
}

func inZone(name, zone string) *v1.Node {
	n := node(name)
	n.Labels = map[string]string{v1.LabelTopologyZone: zone}
	return n
}

// The documents' example: six nodes in two zones.
func TestSixNodesInTwoZones(t *testing.T) {
	w := newWorld(inZone("1", "z1"), inZone("2", "z1"), inZone("3", "z1"), inZone("4", "z1"), inZone("5", "z2"), inZone("6", "z2"))
	require.Equal(t, []int{0, 4, 1, 5, 2, 3}, ScanOrder(w))
	found := Search{Candidates: ScanOrder(w), Next: 5}.Run(nil, nil)
	require.Equal(t, []int{3, 0, 4, 1, 5, 2}, found.Feasible, "after the last node comes the first")
	require.Equal(t, 5, found.Next)
}

// fixed is a predicate whose verdicts a test gives.
type fixed struct {
	name     string
	verdicts []resources.Verdict
	codes    map[resources.Verdict]Code
}

func (p fixed) Name() string                  { return p.name }
func (p fixed) Check(i int) resources.Verdict { return p.verdicts[i] }
func (p fixed) Reasons(v resources.Verdict) []string {
	return []string{fmt.Sprintf("%s %d", p.name, v&^resources.Unresolvable)}
}
func (p fixed) Code(v resources.Verdict) Code {
	if c, ok := p.codes[v]; ok {
		return c
	}
	if v&resources.Unresolvable != 0 {
		return UnschedulableAndUnresolvable
	}
	return Unschedulable
}

func slots(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// Of 250 nodes the first 60 are cordoned. The search finds 120 feasible nodes at 61 to 180, and the next search begins after
// them.
func TestSearch250(t *testing.T) {
	v := make([]resources.Verdict, 250)
	for i := range 60 {
		v[i] = 1 | resources.Unresolvable
	}
	ps := Predicates{fixed{"NodeUnschedulable", v, nil}}
	found := Search{Candidates: slots(250), Limit: NumToFind(250, Sampling{})}.Run(ps, nil)
	require.Equal(t, slots(250)[60:180], found.Feasible)
	require.Equal(t, 180, found.Examined)
	require.Equal(t, 180, found.Next)
	require.Equal(t, 60, found.Rejected.Nodes())
	next := Search{Candidates: slots(250), Limit: 120, Next: found.Next}.Run(ps, nil)
	require.Equal(t, 180, next.Feasible[0])
	require.Equal(t, (180+180)%250, next.Next, "70, then 60 cordoned ones, then 50 more")
}

func TestSearch(t *testing.T) {
	ps := Predicates{fixed{"A", []resources.Verdict{0, 1, 0, 0, 2}, nil}, fixed{"B", []resources.Verdict{3, 1, 0, 0, 0}, map[resources.Verdict]Code{3: Error, 4: Skip, 5: Pending}}}
	t.Run("an error ends the search and advances", func(t *testing.T) {
		f := Search{Candidates: slots(5), Next: 3}.Run(ps, nil)
		require.EqualError(t, f.Err, `running "B" filter plugin: B 3`)
		require.Equal(t, []int{3}, f.Feasible)
		require.Equal(t, 3, f.Examined)
		require.Equal(t, (3+3)%5, f.Next)
		var plugin *pluginError
		require.True(t, errors.As(f.Err, &plugin))
		require.Equal(t, "B", plugin.Plugin)
	})
	t.Run("nominated node alone", func(t *testing.T) {
		f := Search{Candidates: slots(5), Next: 1, Nominated: ptr(2)}.Run(ps, nil)
		require.True(t, f.OnNominated)
		require.Equal(t, []int{2}, f.Feasible)
		require.Equal(t, 1, f.Next, "the beginning stays")
		require.Equal(t, 1, f.Examined)
	})
	t.Run("nominated node outside a narrowed set", func(t *testing.T) {
		f := Search{Candidates: []int{4}, Nodes: 5, Nominated: ptr(1)}.Run(ps, nil)
		require.Empty(t, f.Feasible)
		require.Equal(t, 2, f.Rejected.Nodes(), "its reasons count like the reasons of the candidate")
		require.Equal(t, "A", f.NominatedBy)
		var pre PreFilters
		pre.Add(PreFilterResult{Plugin: "N", Nodes: []string{"n4"}})
		require.Equal(t, []string{"node(s) didn't satisfy plugin(s) [A N]"}, pre.LeftOut(f.NominatedBy))
	})
	t.Run("nominated node rejects", func(t *testing.T) {
		f := Search{Candidates: slots(5), Next: 1, Limit: 1, Nominated: ptr(0)}.Run(ps, nil)
		require.False(t, f.OnNominated, "its error counts as a rejection")
		require.Equal(t, []int{2}, f.Feasible)
		require.Equal(t, 3, f.Next)
		require.NoError(t, f.Err)
	})
	t.Run("a narrowed set", func(t *testing.T) {
		f := Search{Candidates: []int{1, 2, 4}, Nodes: 5, Next: 4}.Run(ps, nil)
		require.Equal(t, []int{2}, f.Feasible, "begins at 4 modulo 3")
		require.Equal(t, (4+3)%5, f.Next, "modulo all nodes")
		require.Equal(t, []Count{{"A 1", 1}, {"A 2", 1}}, f.Rejected.Counts(ps))
		require.Equal(t, []string{"A"}, f.Rejected.Rejecters(ps))
	})
	t.Run("no candidates", func(t *testing.T) {
		f := Search{Nodes: 5, Next: 4}.Run(ps, nil)
		require.Empty(t, f.Feasible)
		require.Equal(t, 4, f.Next)
	})
	t.Run("no predicates", func(t *testing.T) {
		f := Search{Candidates: slots(5), Next: 3, Limit: 3}.Run(nil, nil)
		require.Equal(t, []int{3, 4, 0}, f.Feasible, "the first nodes from the beginning")
	})
	t.Run("codes a filter must not use", func(t *testing.T) {
		require.EqualError(t, ps.Err(Rejection{1, 4}, 0), `running "B" filter plugin: unexpected status Skip`)
		require.NoError(t, ps.Err(Rejection{1, 5}, 0), "Pending rejects the node")
		require.NoError(t, ps.Err(Rejection{}, 0))
		require.Equal(t, Success, ps.Code(Rejection{}))
		require.Empty(t, ps.Reasons(Rejection{}, 0))
	})
	t.Run("two filters reject", func(t *testing.T) {
		require.NotZero(t, ps[1].Check(1))
		require.Equal(t, Rejection{0, 1}, ps.First(1), "the rejection of the first filter counts")
	})
}

// Any number of workers that fill a column of verdicts give the same search.
func TestSearchAtAnyParallelism(t *testing.T) {
	const n = 1000
	rng := rand.New(rand.NewSource(7))
	v := make([]resources.Verdict, n)
	for i := range v {
		v[i] = resources.Verdict(rng.Intn(3))
	}
	ps := Predicates{fixed{"A", v, nil}}
	s := Search{Candidates: rng.Perm(n), Next: 333, Limit: 200}
	want := s.Run(ps, nil)
	for workers := 1; workers <= 16; workers *= 2 {
		column := make([]Rejection, n)
		var wg sync.WaitGroup
		for k := range workers {
			wg.Go(func() {
				for i := k; i < n; i += workers {
					column[i] = ps.First(i)
				}
			})
		}
		wg.Wait()
		got := s.Run(ps, func(i int) Rejection { return column[i] })
		require.Equal(t, want.Feasible, got.Feasible)
		require.Equal(t, want.Next, got.Next)
		require.Equal(t, want.Rejected.Counts(ps), got.Rejected.Counts(ps))
	}
}

// After several attempts, the beginning is the number of all nodes looked at, modulo the number of nodes.
func TestSearchRotation(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	const n = 37
	next, sum := 0, 0
	for range 100 {
		v := make([]resources.Verdict, n)
		for i := range v {
			v[i] = resources.Verdict(rng.Intn(2))
		}
		f := Search{Candidates: slots(n), Next: next, Limit: 1 + rng.Intn(n)}.Run(Predicates{fixed{"A", v, nil}}, nil)
		require.Equal(t, f.Examined, len(f.Feasible)+f.Rejected.Nodes())
		sum += f.Examined
		next = f.Next
		require.Equal(t, sum%n, next)
	}
}

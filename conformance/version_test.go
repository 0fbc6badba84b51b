package conformance

import (
	"flag"
	"math/rand"
	"slices"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/conformance/compare"
	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/conformance/ledger"
	"github.com/podberth/podberth/conformance/remote"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/release"
)

var (
	judgePath    = flag.String("judge", "", "a judge of another version: the program of folder judge")
	judgeRelease = flag.String("release", "", "the judge's release, such as 1.37")
	ledgerPath   = flag.String("ledger", "", "a file of slices (package ledger): TestRelease goes on where the last slice of the release ended, and adds its own")
)

// beginSlice sets the seed to that of the next slice, unless -seed is given.
func beginSlice(t *testing.T, v release.Version) {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "seed" })
	if *ledgerPath == "" || given {
		return
	}
	slices, err := ledger.Read(*ledgerPath)
	if err != nil {
		t.Fatal(err)
	}
	*gen.Seed = ledger.Next(slices, v.String())
}

// endSlice writes what this run compared.
func endSlice(t *testing.T, v release.Version) {
	if *ledgerPath == "" {
		return
	}
	comparisons, bad := seen.Sums()
	s := ledger.Slice{Release: v.String(), Seed: *gen.Seed, Clusters: seen.Clusters(), Comparisons: comparisons, Disagreements: bad}
	if err := ledger.Append(*ledgerPath, s); err != nil {
		t.Fatal(err)
	}
}

// podberth with a Release against kube-scheduler of that release, in a process of its own: filters, scores, choices, messages,
// preemption and long sequences of the default profile, with the generators of the other tests.
func TestRelease(t *testing.T) {
	if *judgePath == "" {
		t.Skip("needs -judge and -release")
	}
	v, err := release.Parse(*judgeRelease)
	if err != nil {
		t.Fatal(err)
	}
	beginSlice(t, v)
	defer endSlice(t, v)
	against := func(t *testing.T, n int, make func(seed int64) *gen.Cluster, f check) {
		runOn(t, *gen.Seed, n, make, f, func() *compare.Side {
			s, err := compare.Remote(*judgePath, v, seen)
			if err != nil {
				t.Fatal(err)
			}
			return s
		})
	}
	t.Run("requests", func(t *testing.T) { requestsOf(t, v) })
	t.Run("default profile", func(t *testing.T) { against(t, gen.Count(600, 40), gen.New, (*compare.Side).Cluster) })
	t.Run("scores", func(t *testing.T) {
		against(t, gen.Count(150, 15), func(seed int64) *gen.Cluster {
			return gen.Of(seed, gen.Shape{Roomy: true, Nodes: 9, Running: 25, Pending: 6, Focus: roomyFeatures[seed%int64(len(roomyFeatures))]})
		}, (*compare.Side).Cluster)
	})
	t.Run("volumes", func(t *testing.T) {
		against(t, gen.Count(150, 15), func(seed int64) *gen.Cluster {
			return gen.Of(seed, gen.Shape{Volumes: true, Pending: 5, Focus: gen.Volumes * gen.Focus(seed%2)})
		}, (*compare.Side).Cluster)
	})
	t.Run("storage", func(t *testing.T) {
		against(t, gen.Count(50, 5), func(seed int64) *gen.Cluster {
			return gen.Of(seed, gen.Shape{Roomy: true, Volumes: true, Nodes: 9, Pending: 6})
		}, (*compare.Side).Cluster)
	})
	t.Run("nominated", func(t *testing.T) {
		against(t, gen.Count(100, 10), func(seed int64) *gen.Cluster { return gen.Of(seed, gen.Shape{Nominated: true, Pending: 5}) }, (*compare.Side).Cluster)
	})
	t.Run("preemption", func(t *testing.T) {
		against(t, gen.Count(200, 20), func(seed int64) *gen.Cluster { return withFewBudgets(v, gen.Of(seed, preemptible(seed))) }, (*compare.Side).Preemption)
	})
}

// withFewBudgets leaves one budget in each namespace: v1.37 charges the budgets of a victim in random order.
func withFewBudgets(v release.Version, c *gen.Cluster) *gen.Cluster {
	seen := map[string]bool{}
	c.PodDisruptionBudgets = slices.DeleteFunc(c.PodDisruptionBudgets, func(b *policyv1.PodDisruptionBudget) bool {
		was := seen[b.Namespace]
		seen[b.Namespace] = true
		return was && v.AtLeast(release.V1_37)
	})
	return c
}

// requestsOf compares what pods on nodes count with, in every state of a resize.
func requestsOf(t *testing.T, v release.Version) {
	judge, err := remote.Start(*judgePath)
	if err != nil {
		t.Fatal(err)
	}
	for k := range max(3000, *gen.Clusters) {
		seed := *gen.Seed + int64(k)
		pod := podMaker{rand.New(rand.NewSource(seed))}.pod()
		theirs, err := judge.Requests(pod)
		if err != nil {
			t.Fatal(err)
		}
		ours := overhead.Requests(pod, overhead.Options{UseStatus: true, Release: v})
		for name := range ours {
			if _, ok := theirs[name]; !ok {
				theirs[name] = resource.Quantity{}
			}
		}
		for name, q := range theirs {
			if q.Cmp(ours[name]) != 0 {
				mine := ours[name]
				t.Fatalf("seed %d: %s: kube-scheduler %s, podberth %s", seed, name, q.String(), mine.String())
			}
		}
	}
}

package devices

import (
	"flag"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/podberth/podberth/conformance/gen"
)

// The flags -clusters and -seed are those of the whole module: here the number of generated cases, and the seed of the generator.
var clusters, seed = gen.Clusters, gen.Seed

func TestMain(m *testing.M) {
	flag.Parse()
	if *clusters == 0 {
		*clusters = 1500
	}
	os.Exit(m.Run())
}

func newGenerator(k int) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(uint64(*seed), uint64(k)))}
}

// podberth and the real allocator give the same devices in the same order, the same results and the same errors.
func TestAllocator(t *testing.T) {
	fits, fatal, slow, unknown, count := 0, 0, 0, 0, 0
	census := newCensus()
	for k := range *clusters {
		w := newGenerator(k).world()
		ours := oursOf(w)
		if ours.slow() {
			slow++
			continue
		}
		theirs, err := theirsOf(newGenerator(k).world()) // a world of its own: neither side can disturb the other
		if err != nil {
			t.Fatalf("case %d: %v", k, err)
		}
		if theirs.slow() {
			unknown++
			continue
		}
		names := w.features()
		for n, a := range ours {
			b := theirs[n]
			count++
			if a.ok {
				fits++
			}
			if a.err != nil {
				fatal++
			}
			if x, y := a.String(), b.String(); !equalText(x, y) {
				t.Fatalf("seed %d case %d, node %s\nhere:\n%s\nthere:\n%s\n%s", *seed, k, w.nodes[n].Name, x, y, w.yaml(t))
			}
		}
		maps.Copy(names, theirs.outcomes())
		census.add(names)
	}
	census.report(t, slices.Concat(wantedFeatures, wantedOutcomes), *clusters)
	t.Logf("%d cases, %d answers: %d fits, %d errors; %d cases were left out because their search tries more than %d devices, %d because kube-scheduler needs %v", census.cases, count, fits, fatal, slow, steps, unknown, endless)
	if (slow+unknown)*50 > *clusters {
		t.Error("too many cases were left out")
	}
}

// tooMany is part of the text about too many devices. v1.37.0 adds the numbers of all requests first, and the sum may wrap around.
const tooMany = "exceeds the claim limit of"

// equalText compares answers. An error about a node selector that cannot be parsed has the dumps of a device and of the
// selector, with addresses. When several slices have such a selector, kube-scheduler names the first slice of an unsorted list. v1.37.0 has
// another text for too many devices.
func equalText(a, b string) bool {
	if first && strings.Contains(a, tooMany) && strings.Contains(b, tooMany) {
		return true
	}
	for _, dump := range []string{"failed to perform node selection for ", "failed to parse node selector "} {
		if i := strings.Index(a, dump); i >= 0 {
			return strings.HasPrefix(b, a[:i+len(dump)])
		}
	}
	return a == b
}

func (w *world) yaml(t *testing.T) string {
	out := ""
	add := func(x any) { out += yamlOf(t, x) }
	for _, x := range w.nodes {
		add(x)
	}
	for _, x := range w.classes {
		add(x)
	}
	for _, x := range w.slices {
		add(x)
	}
	for _, x := range w.running {
		add(x)
	}
	for _, x := range w.claims {
		add(x)
	}
	return out
}

func yamlOf(t *testing.T, x any) string {
	b, err := yaml.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	return "---\n" + string(b)
}

package devices

import (
	"errors"
	"flag"
	"math/rand/v2"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/podberth/podberth/devices"
)

var (
	clusters = flag.Int("clusters", 1500, "generated cases")
	seed     = flag.Uint64("seed", 1, "of the generator")
)

func newGenerator(k int) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(*seed, uint64(k)))}
}

// The same devices in the same order, the same results, the same errors as the real allocator.
func TestAllocator(t *testing.T) {
	fits, fatal, slow, count := 0, 0, 0, 0
	for k := range *clusters {
		w := newGenerator(k).world()
		theirs, err := theirsOf(newGenerator(k).world()) // a world of its own: neither side can disturb the other
		if err != nil {
			t.Fatalf("case %d: %v", k, err)
		}
		for n, a := range oursOf(w) {
			b := theirs[n]
			if b.slow || errors.Is(a.err, devices.ErrSteps) {
				slow++
				break
			}
			count++
			if a.ok {
				fits++
			}
			if a.err != nil {
				fatal++
			}
			if x, y := a.String(), b.String(); !equalText(x, y) {
				t.Fatalf("seed %d case %d, node %s\nhere:\n%s\nv1.36.3:\n%s\n%s", *seed, k, w.nodes[n].Name, x, y, w.yaml(t))
			}
		}
	}
	t.Logf("%d answers: %d fits, %d errors, %d cases whose search takes too long", count, fits, fatal, slow)
}

// equalText compares answers. The dump of a node selector in an error is left out.
func equalText(a, b string) bool {
	const dump = "failed to parse node selector "
	if i := strings.Index(a, dump); i >= 0 {
		return strings.HasPrefix(b, a[:i+len(dump)])
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

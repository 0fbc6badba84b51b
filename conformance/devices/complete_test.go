package devices

import (
	"errors"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/devices"
)

// quirks has each quirk of the search alone, removed.
var quirks = map[string]devices.Options{
	"U10.1 counters are paid again":                {CountersOnce: true},
	"U10.2 counters by the name of the pool":       {CountersByDriver: true},
	"U10.3 an admin choice blocks":                 {AdminApart: true},
	"U10.4 distinctAttribute after an undone step": {AllDistinct: true},
	"U10.5 All against a constraint":               {AllPerNode: true},
}

// The complete search never says that there is no allocation where kube-scheduler finds one. Where kube-scheduler finds none and the
// complete search does, the test counts the quirk whose removal is enough.
func TestComplete(t *testing.T) {
	found, more, slow, count := 0, map[string]int{}, 0, 0
	for k := range max(100, *clusters/10) { // a proof that there is no allocation takes many steps
		w := newGenerator(k).world()
		if ours := oursOf(w); ours.slow() {
			slow++
			continue
		}
		theirs, err := theirsOf(newGenerator(k).world())
		if err != nil {
			t.Fatalf("case %d: %v", k, err)
		}
		if theirs.slow() {
			slow++
			continue
		}
		ledger := devices.NewLedger(devices.NewInventory(w.slices), w.running...)
		ask := func(o devices.Options) *devices.Search {
			o.Steps, o.Release = steps, trial.Linked
			return devices.NewAllocator(ledger, classList(w.classes).find, compiler, o).Compile(w.claims...)
		}
		search := ask(devices.Options{})
		for n, node := range w.nodes {
			results, ok, err := search.Complete(node)
			count++
			switch {
			case errors.Is(err, devices.ErrSteps):
				slow++
			case theirs[n].ok:
				found++
				if !ok {
					t.Fatalf("seed %d case %d, node %s: kube-scheduler finds an allocation, the complete search does not\n%s\n%s", *seed, k, node.Name, theirs[n], w.yaml(t))
				}
			case ok:
				if len(results) != len(w.claims) {
					t.Fatalf("seed %d case %d: %d results for %d claims", *seed, k, len(results), len(w.claims))
				}
				more[kindOfMore(ask, node, theirs[n])]++
			}
		}
	}
	t.Logf("%d answers, %d nodes where kube-scheduler allocates, %d searches were left out", count, found, slow)
	for kind, n := range more {
		t.Logf("%6d kube-scheduler finds none: %s", n, kind)
	}
}

// kindOfMore names the quirk whose removal alone lets the search find an allocation.
func kindOfMore(ask func(devices.Options) *devices.Search, node *v1.Node, theirs answer) string {
	if _, ok, _ := ask(devices.Options{}).Allocate(node); ok {
		return "U10.2 counters by the name of the pool, from another node"
	}
	for _, name := range sortedNames(quirks) {
		if _, ok, _ := ask(quirks[name]).Allocate(node); ok {
			return name
		}
	}
	if theirs.err != nil {
		return "several quirks, kube-scheduler has an error"
	}
	return "several quirks"
}

func sortedNames(m map[string]devices.Options) []string {
	names := map[string]bool{}
	for name := range m {
		names[name] = true
	}
	return sorted(names)
}

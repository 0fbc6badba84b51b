package podgroup

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/internal/testkit/situation"
	own "github.com/podberth/podberth/podgroup"
)

var (
	situations = flag.Int("situations", 0, "situations to generate; 0 skips the comparison")
	seed       = flag.Uint64("seed", 1, "of the first situation")
	file       = flag.String("situation", "", "file with one situation to compare in place of generated ones")
)

// waits reports whether the queue would hold the group back, so that there is no cycle.
func waits(s *situation.Situation) bool {
	w, err := newWorld(s)
	if err != nil || len(s.Queued) == 0 {
		return true
	}
	group, ok := own.Of(s.Queued[0])
	if !ok {
		return false
	}
	tree, err := own.TreeOf(w.snapshot, situation.Namespace, group, s.Gates)
	if err != nil {
		return true
	}
	known := func(g *own.Group) (n int) {
		for _, p := range slices.Concat(s.Running, s.Queued) {
			if name, ok := own.Of(p); ok && name == g.Name {
				n++
			}
		}
		return n
	}
	return tree.GateText(known, s.Gates) != ""
}

// One cycle of kube-scheduler ends in one of the ways that podberth knows.
func TestCycles(t *testing.T) {
	if *file != "" {
		text, err := os.ReadFile(*file)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, string(text))
		return
	}
	if *situations == 0 {
		t.Skip("-situations N compares N situations, -situation FILE one")
	}
	tally, ran, undecided, failed := map[string]int{}, 0, 0, 0
	for n := *seed; ran < *situations; n++ {
		text, features := situation.Generate(testkit.RandomBytes(n, 400))
		s, err := situation.Parse(text)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", n, err, text)
		}
		if waits(s) {
			continue
		}
		ran++
		switch result := compareParsed(s); {
		case result == undecidedText:
			undecided++
		case result != "":
			failed++
			if failed <= 8 {
				t.Errorf("seed %d:\n%s\n%s", n, text, result)
			}
		}
		for f := range features {
			tally[f]++
		}
	}
	t.Logf("%d situations, %d with too many random choices, %d disagree", ran, undecided, failed)
	for _, f := range slices.Sorted(maps.Keys(tally)) {
		t.Logf("%7d %s", tally[f], f)
	}
	if failed > 0 {
		t.Fail()
	}
}

// anyOrder hides what is random in an outcome: which member a text about domains names, and which of the members that share a claim is bound.
// The others are bound in a later cycle.
func anyOrder(outcome string) string {
	return domains.ReplaceAllString(races.ReplaceAllString(outcome, "$1 -> a node"), "$1 a random text")
}

var races = regexp.MustCompile(`(?m)^(\w+)(?: ERR running PreBind plugin "DynamicResources": claim \S+ got allocated elsewhere in the meantime.*| -> \w+ shared)$`)

var domains = regexp.MustCompile(`(cannot determine domain for already scheduled pods:) (no topology domain found for pod \S+|more than 1 domain found for pod group: \S*, \w*)`)

const undecidedText = "too many random choices"

func compare(t *testing.T, text string) {
	s, err := situation.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if result := compareParsed(s); result != "" {
		t.Error(result)
	}
}

// compareParsed returns "" if podberth knows what kube-scheduler does.
func compareParsed(s *situation.Situation) string {
	slices.SortStableFunc(s.Queued, func(a, b *v1.Pod) int { return int(podinfo.Priority(b)) - int(podinfo.Priority(a)) }) // as the queue does
	want, err := theirs(s)
	if err != nil {
		return "kube-scheduler: " + err.Error()
	}
	found, whole, all, err := among(s, want)
	switch {
	case err != nil:
		return err.Error()
	case found:
		return ""
	case !whole:
		return undecidedText
	}
	return fmt.Sprintf("kube-scheduler:\n%s\npodberth, %d ways:\n%s", want, len(all), strings.Join(all[:min(3, len(all))], "\n--\n"))
}

package compare

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
)

// Tally counts what was compared and what kube-scheduler produced. A nil Tally counts nothing. It may be used by several
// goroutines.
type Tally struct {
	mu       sync.Mutex
	compared map[string]int64
	produced map[string]map[string]int64
	scores   map[string]*[101]int64
	diffs    map[string][]int64 // seeds by area
	cases    map[string]int64
}

// NewTally returns an empty one.
func NewTally() *Tally {
	return &Tally{compared: map[string]int64{}, produced: map[string]map[string]int64{}, scores: map[string]*[101]int64{},
		diffs: map[string][]int64{}, cases: map[string]int64{}}
}

// Compared counts one comparison of two answers.
func (t *Tally) Compared(area string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.compared[area]++
}

// Produced counts one answer of kube-scheduler.
func (t *Tally) Produced(area, value string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.produced[area]
	if m == nil {
		m = map[string]int64{}
		t.produced[area] = m
	}
	m[value]++
}

// Score counts one normalized score.
func (t *Tally) Score(plugin string, n int64) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.scores[plugin]
	if c == nil {
		c = new([101]int64)
		t.scores[plugin] = c
	}
	if n >= 0 && n <= 100 {
		c[n]++
	}
}

// Case counts one generated cluster of a test, and its differences.
func (t *Tally) Case(test string, seed int64, differences []Difference) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cases[test]++
	for _, d := range differences {
		if l := t.diffs[d.Area]; len(l) == 0 || l[len(l)-1] != seed {
			t.diffs[d.Area] = append(l, seed)
		}
	}
}

// Holes returns what was produced fewer than least times, and what was never produced of expected ("area: value").
func (t *Tally) Holes(least int64, expected []string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []string
	for area, values := range t.produced {
		for value, n := range values {
			if n < least {
				out = append(out, fmt.Sprintf("%s: %s: %d", area, value, n))
			}
		}
	}
	for _, e := range expected {
		found := false
		for area, values := range t.produced {
			for value := range values {
				found = found || area+": "+value == e
			}
		}
		if !found {
			out = append(out, e+": 0")
		}
	}
	for _, v := range t.holesInScores(least) {
		out = append(out, v)
	}
	slices.Sort(out)
	return out
}

func (t *Tally) holesInScores(least int64) (out []string) {
	for value := range 101 {
		var n int64
		for _, c := range t.scores {
			n += c[value]
		}
		if n < least {
			out = append(out, fmt.Sprintf("score value %d: %d", value, n))
		}
	}
	return out
}

// Write prints the report.
func (t *Tally) Write(w io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintln(w, "generated clusters by test:")
	for _, k := range slices.Sorted(maps.Keys(t.cases)) {
		fmt.Fprintf(w, "  %-40s %d\n", k, t.cases[k])
	}
	fmt.Fprintln(w, "comparisons by area:")
	for _, k := range slices.Sorted(maps.Keys(t.compared)) {
		fmt.Fprintf(w, "  %-40s %d\n", k, t.compared[k])
	}
	fmt.Fprintln(w, "produced by kube-scheduler:")
	for _, area := range slices.Sorted(maps.Keys(t.produced)) {
		for _, v := range slices.Sorted(maps.Keys(t.produced[area])) {
			fmt.Fprintf(w, "  %-40s %10d  %s\n", area, t.produced[area][v], v)
		}
	}
	fmt.Fprintln(w, "normalized scores: how many of the values 0 to 100 were produced, and how often 0, others, 100:")
	for _, plugin := range slices.Sorted(maps.Keys(t.scores)) {
		c := t.scores[plugin]
		distinct, between := 0, int64(0)
		for v, n := range c {
			if n > 0 {
				distinct++
			}
			if v > 0 && v < 100 {
				between += n
			}
		}
		fmt.Fprintf(w, "  %-40s %3d values  %d / %d / %d\n", plugin, distinct, c[0], between, c[100])
	}
	fmt.Fprintln(w, "disagreements by area (seeds):")
	if len(t.diffs) == 0 {
		fmt.Fprintln(w, "  none")
	}
	for _, k := range slices.Sorted(maps.Keys(t.diffs)) {
		seeds := t.diffs[k]
		fmt.Fprintf(w, "  %-40s %d, such as %v\n", k, len(seeds), seeds[:min(5, len(seeds))])
	}
}

// Expected are values that the long mode must have produced.
var Expected []string

package compare

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
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
		if strings.HasPrefix(area, "hint/") { // some changes come about only when several fields change at once
			continue
		}
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

// Expected are values that the long mode must have produced, as "area: value".
var Expected = []string{
	"filter/NodeName: UnschedulableAndUnresolvable", "filter/NodeUnschedulable: UnschedulableAndUnresolvable",
	"filter/TaintToleration: UnschedulableAndUnresolvable", "filter/NodeAffinity: UnschedulableAndUnresolvable",
	"filter/NodeAffinity: PreFilter UnschedulableAndUnresolvable", "filter/NodePorts: Unschedulable",
	"filter/NodeResourcesFit: Unschedulable", "filter/NodeResourcesFit: UnschedulableAndUnresolvable",
	"filter/VolumeRestrictions: Unschedulable", "filter/VolumeRestrictions: PreFilter UnschedulableAndUnresolvable",
	"filter/NodeVolumeLimits: Unschedulable", "filter/NodeVolumeLimits: UnschedulableAndUnresolvable",
	"filter/VolumeBinding: UnschedulableAndUnresolvable", "filter/VolumeBinding: PreFilter UnschedulableAndUnresolvable",
	"filter/VolumeZone: UnschedulableAndUnresolvable", "filter/VolumeZone: PreFilter UnschedulableAndUnresolvable",
	"filter/PodTopologySpread: Unschedulable", "filter/PodTopologySpread: UnschedulableAndUnresolvable",
	"filter/InterPodAffinity: Unschedulable", "filter/InterPodAffinity: UnschedulableAndUnresolvable",
	"filter/NodeDeclaredFeatures: UnschedulableAndUnresolvable",
	"outcome: Scheduled", "outcome: Unschedulable", "outcome: Error", "outcome: no nodes",
	"reason: Too many pods", "reason: Insufficient cpu", "reason: Insufficient memory", "reason: Insufficient ephemeral-storage",
	"reason: Insufficient example.com/gpu", "reason: Insufficient hugepages-2Mi",
	"reason: node(s) didn't match the requested node name", "reason: node(s) were unschedulable",
	"reason: node(s) had untolerated taint(s)", "reason: node(s) didn't match Pod's node affinity/selector",
	"reason: node(s) didn't match scheduler-enforced node affinity", "reason: pod affinity terms conflict",
	"reason: node(s) didn't have free ports for the requested pod ports", "reason: node(s) didn't match Pod's required features",
	"reason: node(s) didn't match pod affinity rules", "reason: node(s) didn't match pod anti-affinity rules",
	"reason: node(s) didn't satisfy existing pods anti-affinity rules",
	"reason: node(s) didn't match pod topology spread constraints",
	"reason: node(s) didn't match pod topology spread constraints (missing required label)",
	"reason: node(s) had no available disk", "reason: node(s) exceed max volume count", "reason: node(s) had no available volume zone",
	"reason: node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
	"reason: node(s) did not have enough free storage", "reason: node(s) didn't find available persistent volumes to bind",
	"reason: node(s) didn't match PersistentVolume's node affinity",
	"reason: node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
	"reason: pod has unbound immediate PersistentVolumeClaims",
	"preemption: not eligible due to preemptionPolicy=Never.",
	"preemption: not eligible due to a terminating pod on the nominated node.",
}

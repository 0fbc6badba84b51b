package compare

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// Write prints the report, in Markdown.
func (t *Tally) Write(w io.Writer, took time.Duration) {
	clusters := t.Clusters()
	comparisons, bad := t.Sums()
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(w, "## Report\n\n%s generated clusters, %s comparisons, disagreements in %s, %v.\n\n",
		thousands(clusters), thousands(comparisons), thousands(bad), took.Round(time.Second))
	t.writeCases(w)
	t.writeAreas(w)
	t.writeSmallest(w)
	t.writeProduced(w)
}

// Sums returns the number of comparisons, and of clusters and traces with differences.
func (t *Tally) Sums() (comparisons, bad int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	bad = int64(t.broken)
	for _, n := range t.compared {
		comparisons += n
	}
	for _, c := range t.cases {
		bad += c.bad
	}
	return comparisons, bad
}

func (t *Tally) writeCases(w io.Writer) {
	fmt.Fprintln(w, "| test | generated | seeds | with disagreements |\n| --- | --- | --- | --- |")
	for _, k := range slices.Sorted(maps.Keys(t.cases)) {
		c, what := t.cases[k], "clusters"
		if podTests[k] {
			what = "pods"
		}
		fmt.Fprintf(w, "| %s | %s %s | %d to %d | %s |\n", k, thousands(c.n), what, c.first, c.last, thousands(c.bad))
	}
	if len(t.traces) > 0 {
		fmt.Fprintln(w, "\nTraces of real clusters:")
		for _, line := range slices.Sorted(slices.Values(t.traces)) {
			fmt.Fprintf(w, "- %s\n", line)
		}
	}
	fmt.Fprintln(w)
}

func (t *Tally) writeAreas(w io.Writer) {
	fmt.Fprintln(w, "| area | comparisons | clusters that disagree | seeds |\n| --- | --- | --- | --- |")
	for _, k := range slices.Sorted(maps.Keys(t.compared)) {
		fmt.Fprintf(w, "| %s | %s |%s |\n", k, thousands(t.compared[k]), t.seeds(k))
	}
	for _, k := range slices.Sorted(maps.Keys(t.diffs)) {
		if t.compared[k] == 0 {
			fmt.Fprintf(w, "| %s | |%s |\n", k, t.seeds(k))
		}
	}
	fmt.Fprintln(w)
}

func (t *Tally) seeds(area string) string {
	list := t.diffs[area]
	if len(list) == 0 {
		return " 0 |"
	}
	return fmt.Sprintf(" %d | %s", len(list), strings.Trim(fmt.Sprint(list[:min(5, len(list))]), "[]"))
}

// writeSmallest prints the rarest results of kube-scheduler, kind by kind.
func (t *Tally) writeSmallest(w io.Writer) {
	fmt.Fprintln(w, "| produced by kube-scheduler | different values | the rarest | times |\n| --- | --- | --- | --- |")
	for _, area := range slices.Sorted(maps.Keys(t.produced)) {
		rarest := slices.MinFunc(slices.Sorted(maps.Keys(t.produced[area])), func(a, b string) int {
			return cmp.Compare(t.produced[area][a], t.produced[area][b])
		})
		fmt.Fprintf(w, "| %s | %d | %s | %s |\n", area, len(t.produced[area]), rarest, thousands(t.produced[area][rarest]))
	}
	for _, plugin := range slices.Sorted(maps.Keys(t.scores)) {
		low, distinct, rarest := lowest(plugin), 0, 0
		for v, n := range t.scores[plugin] {
			if n > 0 {
				distinct++
			}
			if rarest < low || v >= low && n < t.scores[plugin][rarest] {
				rarest = v
			}
		}
		fmt.Fprintf(w, "| score value of %s | %d of %d | %d | %s |\n", plugin, distinct, 101-low, rarest, thousands(t.scores[plugin][rarest]))
	}
	fmt.Fprintln(w)
}

func (t *Tally) writeProduced(w io.Writer) {
	fmt.Fprintln(w, "```\nproduced by kube-scheduler:")
	for _, area := range slices.Sorted(maps.Keys(t.produced)) {
		for _, v := range slices.Sorted(maps.Keys(t.produced[area])) {
			fmt.Fprintf(w, "  %-40s %10d  %s\n", area, t.produced[area][v], v)
		}
	}
	fmt.Fprintln(w, "score values 0 to 100:")
	for _, plugin := range slices.Sorted(maps.Keys(t.scores)) {
		fmt.Fprintf(w, "  %-40s %s\n", plugin, strings.Trim(fmt.Sprint(*t.scores[plugin]), "[]"))
	}
	fmt.Fprintln(w, "```")
}

// thousands prints a number with commas.
func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

package compare

import (
	"regexp"
	"strings"
	"sync"
)

// Tally counts what was compared and what kube-scheduler produced. A nil Tally counts nothing. It may be used by several
// goroutines.
type Tally struct {
	mu       sync.Mutex
	compared map[string]int64
	produced map[string]map[string]int64
	found    map[string]bool // areas of produced that count answers of podberth
	scores   map[string]*[101]int64
	diffs    map[string][]int64 // seeds by area
	cases    map[string]*cases  // by test
	traces   []string
	broken   int // traces with differences
}

// cases are the generated clusters of one test.
type cases struct {
	n, bad      int64
	first, last int64 // seeds
}

// NewTally returns an empty one.
func NewTally() *Tally {
	return &Tally{compared: map[string]int64{}, produced: map[string]map[string]int64{}, found: map[string]bool{}, scores: map[string]*[101]int64{},
		diffs: map[string][]int64{}, cases: map[string]*cases{}}
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

// Found counts one answer of podberth, which kube-scheduler does not give. Some sizes of such answers are rare.
func (t *Tally) Found(area, value string) {
	if t == nil {
		return
	}
	t.Produced(area, value)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.found[area] = true
}

// Count returns how often kube-scheduler answered so.
func (t *Tally) Count(area, value string) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.produced[area][value]
}

// message is the text between the number of nodes and the reasons, at both places of a whole message.
var (
	messageHead = regexp.MustCompile(`0/\d+ nodes are available: ?`)
	messagePart = regexp.MustCompile(`^\d+ `)
	variable    = regexp.MustCompile(`"[^"]*"|\[[^\]]*\]`)
)

// Message counts the parts of a whole failure message.
func (t *Tally) Message(text string) {
	if t == nil {
		return
	}
	own, preemption, _ := strings.Cut(text, "preemption: ")
	for area, half := range map[string]string{"message": own, "message of preemption": preemption} {
		half = messageHead.ReplaceAllString(half, "")
		for part := range strings.SplitSeq(strings.ReplaceAll(half, ". ", ", "), ", ") {
			part = messagePart.ReplaceAllString(strings.TrimSuffix(part, "."), "")
			if part = normalText(part); part != "" {
				t.Produced(area, part)
			}
		}
	}
}

// normalText removes the parts of a reason that depend on the cluster.
func normalText(reason string) string {
	for _, begins := range []string{"looking up PVC ", "could not translate pv: ", "converting volume("} {
		if strings.HasPrefix(reason, begins) {
			return begins + "…"
		}
	}
	const narrowed = "node(s) didn't satisfy plugin(s) ["
	if names, ok := strings.CutPrefix(reason, narrowed); ok && strings.Contains(names, " ") {
		return narrowed + "NodeAffinity …]" // and the one that rejected the nominated node
	}
	return variable.ReplaceAllStringFunc(anyClaim(reason), func(s string) string {
		if s == "[NodeAffinity]" {
			return s
		}
		return s[:1] + "…" + s[len(s)-1:]
	})
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
	c := t.cases[test]
	if c == nil {
		c = &cases{first: seed, last: seed}
		t.cases[test] = c
	}
	c.n++
	c.first, c.last = min(c.first, seed), max(c.last, seed)
	if len(differences) > 0 {
		c.bad++
	}
	t.differ(seed, differences)
}

// Trace counts a trace of a real cluster, described in one line, and its differences.
func (t *Tally) Trace(line string, differences []Difference) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.traces = append(t.traces, line)
	if len(differences) > 0 {
		t.broken++
	}
	t.differ(0, differences)
}

func (t *Tally) differ(seed int64, differences []Difference) {
	for _, d := range differences {
		if l := t.diffs[d.Area]; len(l) == 0 || l[len(l)-1] != seed {
			t.diffs[d.Area] = append(l, seed)
		}
	}
}

// podTests compare pods alone: they generate no clusters.
var podTests = map[string]bool{"TestRequests": true, "TestAdmission": true}

// Clusters returns how many clusters were generated. Pods of tests without clusters do not count, nor do traces.
func (t *Tally) Clusters() (n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for test, c := range t.cases {
		if !podTests[test] {
			n += c.n
		}
	}
	return n
}

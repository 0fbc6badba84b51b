package live

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/utils/ptr"
)

// scenario is something that happens to pods. Only podberth may leave the lines of ours, and only kube-scheduler the lines of theirs; why is
// the reason of the difference. In a scenario that podberth runs alone, why is the reason of that, and ours are all lines. Where the difference
// is what a scenario is about, always is true: each pattern has a line.
type scenario struct {
	name         string
	run          func(w *world, x *wire)
	ours, theirs []string
	why          string
	alone        bool
	always       bool
}

// stale is a write that podberth makes again, and that any scenario may have: a patch names the version of the pod that the informer has,
// and after a conflict it is made from the pod as the API server has it.
const stale = "write PATCH pods/*/status 409"

// settled is how long nothing may be written before a scenario is over.
const settled = 400 * time.Millisecond

// settle waits until every write has its answer and no other was begun for a while. Looks are counted, not time: the schedulers are part of
// this process, and where it stands still no time of theirs has passed.
func (w *world) settle() {
	w.t.Helper()
	const looks = 10
	last, _ := w.wire.count()
	for quiet := 0; quiet < looks; quiet++ {
		<-time.After(settled / looks)
		if n, open := w.wire.count(); n != last || open > 0 {
			last, quiet = n, -1
		}
	}
}

// count returns how many writes were begun, and how many of them have no answer yet.
func (x *wire) count() (begun, open int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.begun, x.open
}

// like reports whether a line is what a pattern says; * is any text.
func like(pattern, line string) bool {
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$").MatchString(line)
}

// side is what a scheduler has left, and the patterns of lines that the other need not have.
type side struct{ lines, allowed []string }

func (s side) allows(line string) bool {
	return slices.ContainsFunc(s.allowed, func(p string) bool { return like(p, line) })
}

// unmet returns the patterns that no line has.
func (s side) unmet() (out []string) {
	for _, p := range s.allowed {
		if !slices.ContainsFunc(s.lines, func(line string) bool { return like(p, line) }) {
			out = append(out, p)
		}
	}
	return out
}

// only returns the lines of a that b lacks. It leaves out the lines that a allows, and the events that b has without their text: they
// joined the series of an earlier event that b allows, whose text stays.
func only(a, b side) (out []string) {
	for _, line := range a.lines {
		series, _, event := strings.Cut(line, ": ")
		joined := event && strings.HasPrefix(line, "event ") && slices.ContainsFunc(b.lines, func(x string) bool { return strings.HasPrefix(x, series+": ") && b.allows(x) })
		if !slices.Contains(b.lines, line) && !a.allows(line) && !joined {
			out = append(out, line)
		}
	}
	return out
}

// compare runs scenarios with both schedulers. Each has the configuration that document returns for its world.
func compare(t *testing.T, scenarios []scenario, document func(*world, *testing.T) string, flags ...string) {
	worlds := [2]*world{newWorld(t, flags...), newWorld(t, flags...)}
	for side, w := range worlds {
		w.document = document(w, t)
		defer w.begin(t, side == 1)()
	}
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			var got [2][]string
			t.Run("both", func(t *testing.T) { // at the same time: most of the time each waits
				for side, w := range worlds {
					if side == 1 && s.alone {
						continue
					}
					t.Run([]string{"podberth", "kube"}[side], func(t *testing.T) {
						t.Parallel()
						got[side] = w.play(t, s)
					})
				}
			})
			ours, theirs := side{got[0], s.ours}, side{got[1], s.theirs}
			if a := only(side{ours.lines, append(slices.Clone(s.ours), stale)}, theirs); len(a) > 0 {
				t.Errorf("only podberth:\n%s", strings.Join(a, "\n"))
			}
			if b := only(theirs, ours); len(b) > 0 {
				t.Errorf("only kube-scheduler:\n%s", strings.Join(b, "\n"))
			}
			if s.always {
				require.Empty(t, ours.unmet(), "podberth leaves no such line")
				require.Empty(t, theirs.unmet(), "kube-scheduler leaves no such line")
			}
		})
	}
}

// begin starts a scheduler for scenarios, and returns what stops it.
func (w *world) begin(t *testing.T, kube bool) func() {
	w.t = t
	w.priorityClass("high", 1000)
	w.priorityClass("middle", 500)
	w.priorityClass("patient", 700, func(c *schedulingv1.PriorityClass) { c.PreemptionPolicy = ptr.To(v1.PreemptNever) })
	var stop func()
	start := func() {
		if kube {
			stop = w.kube()
			return
		}
		_, end := w.podberth()
		stop = func() { require.NoError(w.t, end()) }
	}
	w.halt = func() { stop() }
	w.again = func() {
		stop()
		scenario := w.t
		w.t = t // the new scheduler outlives the scenario
		start()
		w.t = scenario
	}
	start()
	return func() { stop() }
}

// relink gives the schedulers that start from now on a new link, and leaves the old one as it is.
func (w *world) relink() {
	w.t.Helper()
	w.link = newLink()
	require.NoError(w.t, w.link.connect(w.server.Config, ""))
	w.link.faults(w.wire.trip)
}

// play runs a scenario, and returns what it has left.
func (w *world) play(t *testing.T, s scenario) (got []string) {
	before := w.t
	defer func() { w.t = before }()
	w.t = t
	w.wire = &wire{writes: map[string]bool{}}
	w.made.Clear()
	w.link.late.deal()
	w.link.faults(w.wire.trip)
	defer w.wipe()
	s.run(w, w.wire)
	w.settle()
	return w.outcome(w.wire)
}

package diagnose

import (
	"slices"
	"strings"
)

// mostAdvice is the number of remedies that Advice returns.
const mostAdvice = 3

// Advice returns at most three remedies in words, the best for the cause first: what to do, and where the pod then goes. Remedies that differ in
// the added node are one, and a remedy of two changes more than the smallest one has is none. nil: no relaxation is known.
func (d *Diagnosis) Advice() (out []string) {
	added, least := false, 0
	for i, r := range d.Relaxations {
		if i == 0 || len(r.Changes) < least {
			least = len(r.Changes)
		}
	}
	ranked := d.ranked()
	for _, r := range ranked {
		if len(r.Changes) > least+1 {
			continue
		}
		if len(out) == mostAdvice {
			break
		}
		if !adds(r) {
			out = append(out, r.Text()+": then it goes to "+r.Node)
			continue
		}
		models := []string{r.Changes[0].From}
		for _, x := range ranked {
			if adds(x) && !slices.Contains(models, x.Changes[0].From) {
				models = append(models, x.Changes[0].From)
			}
		}
		if !added {
			out, added = append(out, "add a node like "+strings.Join(models, " or ")+": then it runs there"), true
		}
	}
	return out
}

// adds reports whether a relaxation adds a node and does nothing else.
func adds(r Relaxation) bool { return len(r.Changes) == 1 && r.Changes[0].Kind == AddNode }

// Tried returns the kinds of the changes of which the sets were made, sorted: what was tried when no relaxation is known.
func (d *Diagnosis) Tried() (kinds []string) {
	for _, c := range d.Changes {
		kinds = append(kinds, string(c.Kind))
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

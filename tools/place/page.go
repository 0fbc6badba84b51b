package place

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/diagnose"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/explain"
	"github.com/podberth/podberth/tools/internal/must"
	"github.com/podberth/podberth/tools/page"
)

// The verdicts in a page: about every pod until they are about half of so many nodes in all, then about the first pods of each
// controller. A page of 5,000 nodes has 50 verdicts.
const (
	mostAlike    = 2
	mostVerdicts = 250_000
)

// verdicts are what a page says about pods.
type verdicts struct {
	of    map[string]*page.Verdict
	alike map[string]int // by controller
	nodes int            // of all verdicts
}

// room reports whether a page has room for the verdict about a pod, and books it. A pod that is tried again replaces its verdict.
func (s *verdicts) room(pod *v1.Pod, nodes int) bool {
	if s.of[key(pod)] != nil {
		return true
	}
	owner := key(pod)
	if c := metav1.GetControllerOf(pod); c != nil {
		owner = string(c.UID) + c.Kind + "/" + pod.Namespace + "/" + c.Name
	}
	if s.nodes > mostVerdicts/2 && s.alike[owner] >= mostAlike || s.nodes+nodes > mostVerdicts {
		return false
	}
	s.alike[owner]++
	s.nodes += nodes
	return true
}

// keep keeps the verdict of a table.
func (s *verdicts) keep(pod *v1.Pod, c *cluster.Snapshot, table []placement.NodeReport) error {
	skews, err := page.Skews(pod, c)
	if err != nil {
		return err
	}
	shortage := explain.Shortage(pod, c)
	s.of[key(pod)] = page.VerdictOf(explain.Order(table, shortage), explain.Of(table, shortage), skews)
	return nil
}

// page returns the page about the cluster as it is now.
func (x *simulation) page(title string) *page.Page {
	w := x.w
	var nodes []*v1.Node
	for _, name := range sortedKeys(w.nodes) {
		nodes = append(nodes, w.nodes[name])
	}
	var pods []*v1.Pod
	for _, name := range sortedKeys(w.pods) {
		pods = append(pods, w.pods[name])
	}
	p := page.New(title, nodes, pods)
	p.Shows = x.o.Tables.Shows
	for name, v := range x.verdicts.of {
		p.Explain(name, v)
	}
	return p
}

// advise adds to the verdicts why the pods wait that the cluster as it is now has no node for, and what would help, in the words of the command
// why. Equal pods share the words.
func (x *simulation) advise(stop func() bool) (err error) {
	defer must.Catch(&err)
	x.w.s.View(func(c *cluster.Snapshot) {
		asked := map[string]bool{}
		for _, p := range x.w.pending {
			name := dump.SchedulerName(p)
			if asked[name] || x.w.s.Profile(name) == nil {
				continue
			}
			asked[name] = true
			in := x.diagnosed(c, x.profile(p))
			in.Stop = stop
			now := func() bool { return true } // the groups alone, with their causes
			for _, g := range must.Get(diagnose.All(in, diagnose.Options{Size: 3, Stop: now})) {
				var d *diagnose.Diagnosis
				for _, name := range g.Pods {
					v := x.verdicts.of[name]
					if v == nil || g.Cause == nil {
						continue
					}
					if d == nil {
						d = must.Get(diagnose.Relax(in, x.w.find(g.Pods[0]), diagnose.Options{Size: 3, Steps: x.o.Steps, Stop: stop}))
					}
					v.Say(g.Cause.Text, d.Advice())
				}
			}
		}
	})
	return nil
}

// writePage writes the answer of a run as a page: the pods without a node first.
func (x *simulation) writePage(ctx context.Context, out *bytes.Buffer, a answer) {
	if err := x.advise(x.o.Stop(ctx)); err != nil {
		x.warn("the page does not say why pods wait: %v", err)
	}
	p := x.page("Where the waiting pods go")
	p.Summary = a.Summary.String()
	header, rows := finals(a.Pods)
	text, _ := page.Layout().Columns(header, rows)
	if len(a.Groups) > 0 {
		groups, _ := groupText(a.Groups, a.Composites, page.Layout())
		text += groups
	}
	p.Text = text + "\n" + a.Summary.String() + "\n"
	for _, scheduled := range []bool{false, true} {
		for _, s := range a.Pods {
			if (s.Outcome == outcomeScheduled) != scheduled {
				continue
			}
			message := s.Message
			switch {
			case s.PreemptedBy != "":
				message = "preempted by " + s.PreemptedBy
			case len(s.Victims) > 0:
				message = strings.TrimSpace(fmt.Sprintf("%s Gave way: %s", message, strings.Join(s.Victims, ", ")))
			}
			p.Tell(page.Pod{Name: s.Pod, State: s.Outcome, Message: message})
		}
	}
	must.Do(p.Write(out))
}

// writePage writes the explanation as a page.
func (e *explanation) writePage(out *bytes.Buffer, x *simulation) {
	p := x.page("Why " + e.Pod)
	p.Summary, p.Text, p.Select = strings.Join(slices.Concat(e.waits, []string{e.said}), " "), e.text(false), e.Pod
	state := e.State
	if e.Outcome != "" && e.State != "Running" {
		state = e.Outcome
	}
	p.Tell(page.Pod{Name: e.Pod, State: state, Message: e.Message})
	if e.pod != nil {
		v := page.VerdictOf(e.table, e.Answer, e.skews)
		if e.Cause != nil {
			v.Say(e.Cause.Text, e.Help)
		}
		p.Explain(e.Pod, v)
	}
	must.Do(p.Write(out))
}

package diagnose

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/diagnose"
	"github.com/podberth/podberth/tools/dump"
)

// The corpus of advice: each remedy of each case is made on the owner, and kube-scheduler decides all pods that wait, as in TestRemedies.
func TestRemediesOfCorpus(t *testing.T) {
	files, err := filepath.Glob("../../diagnose/testdata/advice/*.yaml")
	must(t, err)
	k := kube(t)
	played, asked := 0, 0
	kinds := map[diagnose.Kind]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		_, rest, _ := strings.Cut(string(text), "# ask: ")
		name, _, _ := strings.Cut(rest, "\n")
		o, err := dump.Read([]string{file}, nil, dump.Options{})
		must(t, err)
		for _, p := range o.Pods {
			identify(p)
		}
		planned, err := o.Snapshot(dump.Planning{})
		must(t, err)
		s := planned.Snapshot
		c := &gen.Cluster{Objects: o.Cluster()}
		at := -1
		for _, p := range o.Pods {
			if p.Spec.NodeName != "" || p.DeletionTimestamp != nil {
				continue
			}
			if p.Namespace+"/"+p.Name == name {
				at = len(c.Pending)
			} else if p.Spec.SchedulerName != v1.DefaultSchedulerName {
				continue
			}
			c.Pending = append(c.Pending, p)
		}
		if at < 0 {
			continue // it is made from a template, or does not wait
		}
		asked++
		d, err := diagnose.Relax(diagnose.Input{Snapshot: s, Pending: c.Pending, Autoscalers: o.Autoscalers}, c.Pending[at], diagnose.Options{})
		must(t, err)
		for _, r := range d.Remedies {
			p := player{t: t, k: k, c: c, s: s, pod: c.Pending[at], r: r}
			p.had = p.before()
			node, run := p.play()
			played++
			for _, x := range r.Changes {
				kinds[x.Kind]++
			}
			if node != r.Node || run != r.Run {
				t.Errorf("%s: %s: kube-scheduler: node %q, %d run", filepath.Base(file), r.Text, node, run)
			}
		}
	}
	t.Logf("%d cases, %d pods that wait, %d remedies; %v", len(files), asked, played, kinds)
	for _, kind := range []diagnose.Kind{diagnose.Scale, diagnose.Strategy, diagnose.LeaveOut, diagnose.SetClass, diagnose.Prefer} {
		if kinds[kind] == 0 {
			t.Errorf("no remedy %s", kind)
		}
	}
	if asked < 190 || played < 300 {
		t.Error("few cases")
	}
}

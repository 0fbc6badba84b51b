package upgrade

import (
	"io"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/examples/dump"
	"github.com/podberth/podberth/examples/report"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/release"
)

// part is a part of a decision that can follow another release than the rest, with the differences that it has.
type part struct {
	set   func(x *mix, v release.Version)
	rules []string
}

// parts are tried one by one: a part that alone turns the answer of the version before into another answer is a reason.
var parts = []part{
	{func(x *mix, v release.Version) { x.profile = v }, []string{"L2.1", "L2.2", "L3.5", "L5.2"}},
	{func(x *mix, v release.Version) { x.fit = v }, []string{"L3.3"}},
	{func(x *mix, v release.Version) { x.balance = v }, []string{"L5.1"}},
	{func(x *mix, v release.Version) { x.affinity = v }, []string{"L3.4"}},
	{func(x *mix, v release.Version) { x.volumes = v }, []string{"L2.4", "L3.1"}},
	{func(x *mix, v release.Version) { x.rows = v }, []string{"L4.1", "L4.2", "L4.3"}},
	{func(x *mix, v release.Version) { x.message = v }, []string{"L6.1", "L6.2"}},
}

// possible says for which pods a difference can matter; a difference that is missing here can matter for all.
var possible = map[string]func(pod *v1.Pod, was, is verdict) bool{
	"L2.1": func(pod *v1.Pod, _, _ verdict) bool { return pod.Spec.NodeName != "" },
	"L3.5": func(pod *v1.Pod, _, _ verdict) bool { return pod.Spec.NodeName != "" },
	"L2.2": func(pod *v1.Pod, _, _ verdict) bool { return len(filter.RequiredFeatures(pod)) > 0 },
	"L5.2": func(pod *v1.Pod, _, _ verdict) bool { return hasImageVolume(pod) },
	"L2.4": func(_ *v1.Pod, was, is verdict) bool { return was.Node != "" && is.Node != "" },
	"L3.1": func(_ *v1.Pod, was, is verdict) bool { return was.Node == "" || is.Node == "" },
	"L6.1": func(_ *v1.Pod, was, is verdict) bool {
		return was.Message != "" && is.Message != "" && (was.NominatedNode == "" || is.NominatedNode == "")
	},
	"L6.2": func(_ *v1.Pod, was, is verdict) bool { return was.NominatedNode != "" || is.NominatedNode != "" },
}

func hasImageVolume(pod *v1.Pod) bool {
	for i := range pod.Spec.Volumes {
		if pod.Spec.Volumes[i].Image != nil {
			return true
		}
	}
	return false
}

// decisions fills in the pending pods that change and the running pods that would not be admitted.
func (a *upgradeReport) decisions(m *dump.Objects, o options, stderr io.Writer) error {
	a.Pods, a.Running = []podChange{}, []readmission{}
	before, err := newScheduler(m, all(o.from.Version))
	if err != nil {
		return err
	}
	after, err := newScheduler(m, all(o.to.Version))
	if err != nil {
		return err
	}
	mixed := make([]*scheduler, len(parts)) // made when they are needed
	progress := report.NewProgress(stderr, "upgrade", "pods", nil)
	defer progress.End()
	for k, p := range m.Pods {
		progress.Step(k, len(m.Pods))
		if !o.tables.Shows(p.Namespace) || p.Spec.SchedulerName != "" && p.Spec.SchedulerName != v1.DefaultSchedulerName || cluster.Finished(p) {
			continue
		}
		switch {
		case dump.Pending(p):
			a.Summary.Pending++
			was, is := before.ask(p), after.ask(p)
			if was == is {
				continue
			}
			rules, err := reasons(m, o, mixed, p, was, is)
			if err != nil {
				return err
			}
			a.Pods = append(a.Pods, podChange{p.Namespace + "/" + p.Name, was, is, changes(was, is), rules})
		case p.Spec.NodeName != "" && p.DeletionTimestamp == nil:
			a.Summary.Running++
			if err := a.running(before, after, p, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// reasons returns the rules behind a change.
func reasons(m *dump.Objects, o options, mixed []*scheduler, p *v1.Pod, was, is verdict) ([]rule, error) {
	out := []rule{}
	for k, part := range parts {
		if !differ(part.rules, o) {
			continue
		}
		if mixed[k] == nil {
			x := all(o.from.Version)
			part.set(&x, o.to.Version)
			s, err := newScheduler(m, x)
			if err != nil {
				return nil, err
			}
			mixed[k] = s
		}
		if mixed[k].ask(p) == was {
			continue
		}
		for _, id := range part.rules {
			if f := possible[id]; differ([]string{id}, o) && (f == nil || f(p, was, is)) {
				out = append(out, ruleOf(id))
			}
		}
	}
	return out, nil
}

// differ reports whether one of the rules differs between the versions.
func differ(ids []string, o options) bool {
	for _, d := range release.Between(o.from.Version, o.to.Version) {
		for _, id := range ids {
			if d.ID == id {
				return true
			}
		}
	}
	return false
}

// changes names the fields that differ between two verdicts.
func changes(was, is verdict) (out []string) {
	if was.Outcome != is.Outcome {
		out = append(out, "verdict")
	}
	if was.Node != is.Node || was.NominatedNode != is.NominatedNode {
		out = append(out, "node")
	}
	if was.Message != is.Message {
		out = append(out, "message")
	}
	return out
}

// running adds a running pod that its node would take before and not after. Only rules of filters can say so: features, drivers
// of volumes, and namespaceSelectors.
func (a *upgradeReport) running(before, after *scheduler, p *v1.Pod, o options) error {
	if !touched(p) {
		return nil
	}
	was, err := before.readmit(p)
	if err != nil || len(was) > 0 {
		return err
	}
	is, err := after.readmit(p)
	if err != nil || len(is) == 0 {
		return err
	}
	r := readmission{Pod: p.Namespace + "/" + p.Name, Node: p.Spec.NodeName, Reasons: is, Rules: []rule{}}
	for _, id := range slices.Sorted(maps.Keys(filtering)) {
		if filtering[id](p) && differ([]string{id}, o) {
			r.Rules = append(r.Rules, ruleOf(id))
		}
	}
	a.Running = append(a.Running, r)
	return nil
}

// filtering has the differences by which a node may refuse a running pod, and the pods that they can concern.
var filtering = map[string]func(p *v1.Pod) bool{
	"L2.2": func(p *v1.Pod) bool { return len(filter.RequiredFeatures(p)) > 0 },
	"L3.1": func(p *v1.Pod) bool { return len(p.Spec.Volumes) > 0 && claims(p) },
	"L3.4": selectsNamespaces,
}

func touched(p *v1.Pod) bool {
	for _, f := range filtering {
		if f(p) {
			return true
		}
	}
	return false
}

func claims(p *v1.Pod) bool {
	for i := range p.Spec.Volumes {
		if v := &p.Spec.Volumes[i]; v.PersistentVolumeClaim != nil || v.Ephemeral != nil {
			return true
		}
	}
	return false
}

func selectsNamespaces(p *v1.Pod) bool {
	if p.Spec.Affinity == nil {
		return false
	}
	var terms []v1.PodAffinityTerm
	if a := p.Spec.Affinity.PodAffinity; a != nil {
		terms = append(terms, a.RequiredDuringSchedulingIgnoredDuringExecution...)
	}
	if a := p.Spec.Affinity.PodAntiAffinity; a != nil {
		terms = append(terms, a.RequiredDuringSchedulingIgnoredDuringExecution...)
	}
	for i := range terms {
		if terms[i].NamespaceSelector != nil {
			return true
		}
	}
	return false
}

package upgrade

import (
	"context"
	"io"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/internal/must"
	"github.com/podberth/podberth/tools/report"
)

// part is a part of a decision that can follow another release than the rest, with the differences that it has.
type part struct {
	set   func(x *mix, v release.Version)
	rules []string
}

// parts are tried one by one: a part that alone turns the answer of the version before into another answer is a reason.
var parts = []part{
	{func(x *mix, v release.Version) { x.profile = v }, []string{"L2.1", "L2.2", "L2.3", "L3.5", "L5.2"}},
	{func(x *mix, v release.Version) { x.fit = v }, []string{"L3.3"}},
	{func(x *mix, v release.Version) { x.balance = v }, []string{"L5.1"}},
	{func(x *mix, v release.Version) { x.affinity = v }, []string{"L3.4"}},
	{func(x *mix, v release.Version) { x.volumes = v }, []string{"L2.4", "L3.1", "L3.2"}},
	{func(x *mix, v release.Version) { x.rows = v }, []string{"L4.1", "L4.2", "L4.3"}},
	{func(x *mix, v release.Version) { x.victims = v }, []string{"L8.11"}},
	{func(x *mix, v release.Version) { x.message = v }, []string{"L6.1", "L6.2"}},
}

// possible says for which pods a difference can matter; a difference that is missing here can matter for all.
var possible = map[string]func(pod *v1.Pod, was, is verdict) bool{
	"L2.1": func(pod *v1.Pod, _, _ verdict) bool { return pod.Spec.NodeName != "" },
	"L3.5": func(pod *v1.Pod, _, _ verdict) bool { return pod.Spec.NodeName != "" },
	"L2.2": func(pod *v1.Pod, _, _ verdict) bool { return len(filter.RequiredFeatures(pod)) > 0 },
	"L2.3": func(pod *v1.Pod, was, is verdict) bool {
		return len(pod.Spec.ResourceClaims) > 0 && was.Node != "" && is.Node != ""
	},
	"L3.2": func(pod *v1.Pod, _, _ verdict) bool { return mountsStorage(pod) },
	"L3.3": func(pod *v1.Pod, _, _ verdict) bool { return asksExtended(pod) },
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

// decisions fills in the pending pods that change and the running pods that would not be admitted. Pending pods of groups are compared where
// podberth follows the groups of both versions, or where groups do not count. A node takes a running pod back whatever its group is.
func (a *upgradeReport) decisions(ctx context.Context, m *dump.Objects, o options, stderr io.Writer) {
	a.Pods, a.Running, a.Grouped = []podChange{}, []readmission{}, []string{}
	gates := must.Get(m.Groups(o.gates))
	before, after := newScheduler(m, m.PluginArgs(o.gates), all(o.from.Version)), newScheduler(m, m.PluginArgs(o.gates), all(o.to.Version))
	mixed, resized := mixes{}, resizedNodes(m, o)
	stop := o.Stop(ctx)
	progress := report.NewProgress(stderr, "upgrade", "pods", nil)
	defer progress.End()
	for k, p := range m.Pods {
		progress.Step(k, len(m.Pods))
		if !o.Tables.Shows(p.Namespace) || p.Spec.SchedulerName != "" && p.Spec.SchedulerName != v1.DefaultSchedulerName || cluster.Finished(p) {
			continue
		}
		if !dump.Pending(p) && p.DeletionTimestamp != nil {
			continue
		}
		if a.Summary.Pending+a.Summary.Running == o.Steps || a.Summary.Untried > 0 || stop() {
			a.Summary.Untried++
			continue
		}
		_, member := podgroup.Of(p)
		switch {
		case dump.Pending(p) && member && gates != nil && !o.followsGroups():
			a.Grouped = append(a.Grouped, dump.Name(p))
		case dump.Pending(p):
			a.Summary.Pending++
			was, is := before.ask(p), after.ask(p)
			if was == is {
				continue
			}
			a.Pods = append(a.Pods, podChange{p.Namespace + "/" + p.Name, was, is, was.changes(is), mixed.reasons(m, o, p, was, is)})
		default:
			a.Summary.Running++
			a.running(before, after, mixed, m, p, o, resized)
		}
	}
}

// followsGroups reports whether podberth decides about groups of pods as both versions do.
func (o *options) followsGroups() bool {
	return o.from.AtLeast(release.V1_37) && o.to.AtLeast(release.V1_37)
}

// mixes has a scheduler for each version and part: all follows the version, and the part follows the other version.
type mixes map[release.Version][]*scheduler

// reasons returns the rules behind a change of a pending pod. Each part follows the version after, all else the version before: a part
// that changes the answer is a reason. If no part does, each part follows the version before, and all else the version after.
func (x mixes) reasons(m *dump.Objects, o options, p *v1.Pod, was, is verdict) []rule {
	can := func(id string) bool { f := possible[id]; return f == nil || f(p, was, is) }
	other := func(answer verdict) func(s *scheduler) bool {
		return func(s *scheduler) bool { return s.ask(p) != answer }
	}
	if out := x.alone(m, o, o.from.Version, o.to.Version, other(was), can); len(out) > 0 {
		return out
	}
	return x.alone(m, o, o.to.Version, o.from.Version, other(is), can)
}

// alone returns the rules of the parts that alone change the answer of a version when they follow the next version.
func (x mixes) alone(m *dump.Objects, o options, v, next release.Version, changes func(s *scheduler) bool, can func(id string) bool) []rule {
	out := []rule{}
	if x[v] == nil {
		x[v] = make([]*scheduler, len(parts)) // made when they are needed
	}
	for k, part := range parts {
		if !differ(part.rules, o) {
			continue
		}
		if x[v][k] == nil {
			follows := all(v)
			part.set(&follows, next)
			x[v][k] = newScheduler(m, m.PluginArgs(o.gates), follows)
		}
		changed := changes(x[v][k])
		for _, id := range part.rules {
			if changed && differ([]string{id}, o) && can(id) {
				out = append(out, ruleOf(id))
			}
		}
	}
	return out
}

// differ reports whether one of the rules differs between the versions.
func differ(ids []string, o options) bool {
	for _, d := range o.between() {
		for _, id := range ids {
			if d.ID == id {
				return true
			}
		}
	}
	return false
}

// changes names the fields in which another verdict differs.
func (v verdict) changes(to verdict) (out []string) {
	if v.Outcome != to.Outcome {
		out = append(out, "verdict")
	}
	if v.Node != to.Node || v.NominatedNode != to.NominatedNode {
		out = append(out, "node")
	}
	if v.Message != to.Message {
		out = append(out, "message")
	}
	return out
}

// running adds a running pod that its node would take before and not after. Only the rules of refusing and resized can say so.
func (a *upgradeReport) running(before, after *scheduler, mixed mixes, m *dump.Objects, p *v1.Pod, o options, resized map[string]map[string]bool) {
	can := func(id string) bool {
		f := refusing[id]
		return resized[p.Spec.NodeName][id] || f != nil && f(p) && differ([]string{id}, o)
	}
	if len(resized[p.Spec.NodeName]) == 0 && !slices.ContainsFunc(slices.Collect(maps.Keys(refusing)), can) {
		return
	}
	is := after.readmit(p)
	if len(is) == 0 || len(before.readmit(p)) > 0 {
		return
	}
	refuses := func(s *scheduler) bool { return len(s.readmit(p)) > 0 }
	rules := mixed.alone(m, o, o.from.Version, o.to.Version, refuses, can)
	a.Running = append(a.Running, readmission{Pod: p.Namespace + "/" + p.Name, Node: p.Spec.NodeName, Reasons: is, Rules: rules})
}

// refusing has the differences by which a node may refuse a running pod for what the pod asks for, and the pods that they can concern.
var refusing = map[string]func(p *v1.Pod) bool{
	"L2.2": func(p *v1.Pod) bool { return len(filter.RequiredFeatures(p)) > 0 },
	"L3.1": mountsStorage,
	"L3.2": mountsStorage,
	"L3.3": asksExtended,
	"L3.4": selectsNamespaces,
}

// resizedNodes returns the nodes with pods that count with other amounts in the version after, and the differences behind it.
func resizedNodes(m *dump.Objects, o options) map[string]map[string]bool {
	held := func(p *v1.Pod, v release.Version) v1.ResourceList {
		return overhead.Requests(p, overhead.Options{UseStatus: true, Release: v})
	}
	resized := func(s v1.ContainerStatus) bool { return s.Resources != nil || s.AllocatedResources != nil }
	out := map[string]map[string]bool{}
	for _, p := range m.Pods {
		if p.Spec.NodeName == "" || equality.Semantic.DeepEqual(held(p, o.from.Version), held(p, o.to.Version)) {
			continue
		}
		ids := out[p.Spec.NodeName]
		if ids == nil {
			ids = map[string]bool{}
			out[p.Spec.NodeName] = ids
		}
		for id, can := range map[string]bool{
			"L4.1": slices.ContainsFunc(p.Status.ContainerStatuses, resized),
			"L4.2": p.Status.Resources != nil || p.Status.AllocatedResources != nil,
			"L4.3": slices.ContainsFunc(p.Status.InitContainerStatuses, resized),
		} {
			if can && differ([]string{id}, o) {
				ids[id] = true
			}
		}
	}
	return out
}

func asksExtended(p *v1.Pod) (asks bool) {
	overhead.Each(p, overhead.Options{}, func(name v1.ResourceName, _ int64) { asks = asks || resources.IsExtended(name) })
	return asks
}

// mountsStorage reports whether a pod has a volume that a driver attaches.
func mountsStorage(p *v1.Pod) bool {
	return slices.ContainsFunc(p.Spec.Volumes, func(v v1.Volume) bool {
		return v.PersistentVolumeClaim != nil || v.Ephemeral != nil || v.PortworxVolume != nil
	})
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

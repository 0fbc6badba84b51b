package failures

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/diagnose"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/resources"
)

// groups collects pods that stay pending.
type groups struct {
	player *player
	list   []Group
	at     map[groupKey]int
}

type groupKey struct {
	unit *unit
	text string
}

func newGroups(x *player) *groups { return &groups{player: x, at: map[groupKey]int{}} }

// add puts a pod into its group and returns the number of the group before sorting.
func (g *groups) add(it *item) int {
	key := groupKey{it.unit, ""}
	switch {
	case it.refusal != nil:
		key.text = it.refusal.Error()
	case it.gate != "":
		key.text = it.gate
	case it.failure != nil:
		key.text = it.failure.Text()
	} // otherwise the workload makes the pod later, for one reason
	k, ok := g.at[key]
	if !ok {
		k = len(g.list)
		g.at[key] = k
		g.list = append(g.list, g.player.groupOf(it))
	}
	g.list[k].Pods = append(g.list[k].Pods, nameOf(it))
	if it.by != "" {
		g.list[k].Displaced++
	}
	return k
}

// sorted returns the groups, largest first, and gives the outcomes their places.
func (g *groups) sorted(pods []Outcome) []Group {
	order := make([]int, len(g.list))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(len(g.list[b].Pods), len(g.list[a].Pods)), strings.Compare(g.list[a].Workload, g.list[b].Workload))
	})
	place := make([]int, len(order))
	out := make([]Group, len(order))
	for to, from := range order {
		place[from], out[to] = to, g.list[from]
	}
	for k := range pods {
		if pods[k].Group >= 0 {
			pods[k].Group = place[pods[k].Group]
		}
	}
	return out
}

// stays returns the pods that have no node at the end of the scenario.
func (x *player) stays() []*v1.Pod {
	if x.still == nil {
		x.still = []*v1.Pod{}
		for _, list := range [][]*item{x.items, x.before} {
			for _, it := range list {
				if it.pod != nil && it.node == "" {
					x.still = append(x.still, it.pod)
				}
			}
		}
	}
	return x.still
}

// groupOf says why a pod stays pending. The cluster is as it is at the end of the scenario.
func (x *player) groupOf(it *item) Group {
	g := Group{Workload: it.unit.String()}
	switch {
	case it.refusal != nil:
		g.Cause, g.Reason = Refused, it.refusal.Error()
		return g
	case it.gate != "":
		g.Cause, g.Plugin, g.Reason = Gates, "SchedulingGates", it.gate
		g.Why = diagnose.CauseOf(x.placer.Plan, x.snapshot, it.pod, x.stays()...)
		return g
	case it.failure == nil:
		g.Cause, g.Reason = Order, x.waits[it.unit]
		return g
	}
	g.Message = it.failure.Text()
	g.Why = diagnose.CauseOf(x.placer.Plan, x.snapshot, it.pod, x.stays()...)
	a := x.placer.Prepare(it.pod)
	if it.failure.Err != nil {
		g.Cause, g.Reason = Other, g.Message
		return g
	}
	if a.Rejected() {
		by := a.Pre.Rejecters()
		if len(by) == 0 { // without nodes no plugin was asked, and now a plugin fails
			g.Cause, g.Reason = Other, g.Message
			return g
		}
		g.Plugin = by[0]
		g.Cause, g.Reason = causeOf(g.Plugin, a.Pre.Message), a.Pre.Message
		return g
	}
	x.blame(&g, a.Predicates, a.Candidates())
	return g
}

// blame finds the plugin that keeps a pod off most nodes.
func (x *player) blame(g *Group, predicates filter.Predicates, slots []int) {
	alone, all := make([]int, len(predicates)), make([]int, len(predicates))
	verdicts := make([]map[resources.Verdict]int, len(predicates))
	for _, i := range slots {
		var rejecters, last int
		for k, p := range predicates {
			v := p.Check(i)
			if v == 0 {
				continue
			}
			if verdicts[k] == nil {
				verdicts[k] = map[resources.Verdict]int{}
			}
			verdicts[k][v]++
			all[k]++
			rejecters, last = rejecters+1, k
		}
		if rejecters == 1 {
			alone[last]++
		}
	}
	best := slices.IndexFunc(all, func(n int) bool { return n > 0 })
	if best < 0 {
		g.Cause, g.Reason = Other, g.Message
		return
	}
	for k := range all {
		if cmp.Or(cmp.Compare(alone[k], alone[best]), cmp.Compare(all[k], all[best])) > 0 {
			best = k
		}
	}
	var most resources.Verdict
	for _, v := range slices.Sorted(maps.Keys(verdicts[best])) {
		if verdicts[best][v] > verdicts[best][most] {
			most = v
		}
	}
	g.Plugin, g.Alone, g.Nodes = predicates[best].Name(), alone[best], all[best]
	g.Reason = strings.Join(predicates[best].Reasons(most), ", ")
	g.Cause = causeOf(g.Plugin, g.Reason)
}

// causes are the kinds of v1.37's plugins.
var causes = map[string]Cause{
	"NodeResourcesFit": Resources, "VolumeBinding": Volumes, "VolumeZone": Volumes, "VolumeRestrictions": Volumes, "NodeVolumeLimits": Volumes,
	"DynamicResources": Devices, "PodTopologySpread": Spread, "NodeAffinity": NodeAffinity, "NodeName": NodeAffinity,
	"TaintToleration": Taints, "NodeUnschedulable": Taints, "NodePorts": Ports,
}

// causeOf returns the cause for a plugin's reason. InterPodAffinity has two.
func causeOf(plugin, reason string) Cause {
	if plugin == "InterPodAffinity" {
		if strings.Contains(reason, "anti-affinity") {
			return AntiAffinity
		}
		return Affinity
	}
	if c, ok := causes[plugin]; ok {
		return c
	}
	return Other
}

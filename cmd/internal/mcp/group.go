package mcp

import (
	"fmt"

	"github.com/podberth/podberth/diagnose"
	"github.com/podberth/podberth/planning/gang"
	"github.com/podberth/podberth/tools/report"
)

// podGroup is the group of a pod, with which it is decided.
type podGroup struct {
	Group   string   `json:"group"`
	Needs   int      `json:"needs"`
	Pods    int      `json:"pods"`
	Placed  int      `json:"placed"`
	Message string   `json:"message"`
	Why     []string `json:"why,omitempty"` // why it waits, and whether a placement exists
	// States has the members that wait.
	States []gang.Member `json:"states,omitempty"`
}

// groupRisks are the risks of what helps a group.
var groupRisks = map[gang.HelpKind]string{gang.Order: riskRestart, gang.Pin: riskNone, gang.Move: riskOthers, gang.Evict: riskOthers, gang.AddNode: riskCost, gang.Lower: riskFewer}

// decided makes the answer about a pod one about the pod in its group.
func (a *whyAnswer) decided(g *podGroup, d *gang.Difference) {
	if a.Group = g; g == nil || d == nil {
		return
	}
	g.States = d.States
	a.Fixes = []fix{}
	for _, h := range d.Help {
		a.Fixes = append(a.Fixes, fix{Text: h.Text, Changes: []diagnose.Change{}, Consequences: []string{}, Risk: groupRisks[h.Kind]})
	}
	byRisk(a.Fixes)
	a.NoSafeFix = len(a.Fixes) == 0
}

// waits are the first lines about a pod that waits with its group.
func (g *podGroup) waits(pod string) []string {
	out := []string{fmt.Sprintf("Pod %s waits with its group %s: %s needed, %d exist, %d have nodes.", pod, g.Group, report.Count(g.Needs, "pod"), g.Pods, g.Placed)}
	if len(g.Why) == 0 && g.Message != "" { // nothing was searched: members disagree, an object above is missing, a gate holds a member
		return append(out, g.Message)
	}
	return append(out, g.Why...)
}

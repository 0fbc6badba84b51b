package upgrade

import (
	"fmt"
	"strings"

	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/scheduler/groups"
	"github.com/podberth/podberth/tools/report"
)

// upgradeReport is the answer.
type upgradeReport struct {
	report.Head
	From    string  `json:"from"`    // the version before, such as 1.36
	To      string  `json:"to"`      // the version after
	Summary summary `json:"summary"` // numbers; with -n of the pods of one namespace
	// The pending pods that change, in input order; each is decided alone, on the cluster as the dump has it.
	Pods []podChange `json:"pods"`
	// Running pods that their nodes would take in the version before and not in the version after.
	Running []readmission `json:"running"`
	// Pending pods of groups, where groups count and one of the versions is not 1.37: they are not compared.
	Grouped     []string       `json:"grouped"`
	Fields      []fieldChange  `json:"fields"`      // fields of --config that the version before takes and the version after refuses
	Plugins     []pluginChange `json:"plugins"`     // plugins of the default profile that are not the same
	Differences []difference   `json:"differences"` // all differences between the versions, whether or not they concern the cluster
}

type summary struct {
	Pending int `json:"pending"`           // pods without a node that are compared
	Changed int `json:"changed"`           // pending pods whose verdict, message or node changes
	Running int `json:"running"`           // pods on nodes that are not terminating
	Refused int `json:"refused"`           // running pods that their nodes would not take in the version after
	Fields  int `json:"fields"`            // fields of the configuration that the version after refuses
	Untried int `json:"untried,omitempty"` // pods that --steps or --time left out; absent for 0
}

// podChange is a pending pod whose verdict, message or node changes.
type podChange struct {
	Pod     string   `json:"pod"`
	From    verdict  `json:"from"`    // the answer of the version before
	To      verdict  `json:"to"`      // the answer of the version after
	Changes []string `json:"changes"` // the fields that differ between "from" and "to": "verdict", "node", "message"
	Rules   []rule   `json:"rules"`   // the differences behind the change
}

type verdict struct {
	Outcome       string `json:"outcome"`       // Scheduled, Unschedulable, Gated or Error
	Node          string `json:"node"`          // the node of a scheduled pod
	NominatedNode string `json:"nominatedNode"` // the node on which other pods would give way
	Message       string `json:"message"`       // why the pod has no node
}

// rule is a difference that makes a change.
type rule struct {
	ID       string `json:"id"`       // identifier of the rule, as in docs/fidelity/versions/README.md
	Sentence string `json:"sentence"` // what changed between the releases
}

// readmission is a running pod that its node would take in the version before and would not take in the version after.
type readmission struct {
	Pod     string   `json:"pod"`
	Node    string   `json:"node"`    // the node
	Reasons []string `json:"reasons"` // kube-scheduler's texts
	Rules   []rule   `json:"rules"`   // the differences behind the change
}

type difference struct {
	ID       string `json:"id"`       // identifier of the rule
	Area     string `json:"area"`     // part of Kubernetes
	Name     string `json:"name"`     // what differs
	Sentence string `json:"sentence"` // what changed
	From     string `json:"from"`     // what the version before does
	To       string `json:"to"`       // what the version after does
	Modelled bool   `json:"modelled"` // whether podberth follows the versions in this
}

// between returns what differs between the versions.
func (o *options) between() []release.Difference {
	return release.Between(o.from.Version, o.to.Version)
}

// differences returns what differs between the versions, whether or not it concerns this cluster.
func differences(o options) []difference {
	out := []difference{}
	for _, d := range o.between() {
		out = append(out, difference{d.ID, d.Area, d.Name, d.Sentence, d.In(o.from.Version), d.In(o.to.Version), d.Option != ""})
	}
	return out
}

func (a *upgradeReport) sum() {
	a.Summary.Changed, a.Summary.Refused, a.Summary.Fields = len(a.Pods), len(a.Running), len(a.Fields)
}

// changed reports whether something of the cluster changes.
func (a *upgradeReport) changed() bool { return len(a.Pods)+len(a.Running)+len(a.Fields) > 0 }

// table writes the report for people.
func (a *upgradeReport) table(b *strings.Builder, o options) {
	report.Textf(b, "%s -> %s: %d of %s change, %d of %s would not be admitted, %s refused\n", a.From, a.To,
		a.Summary.Changed, report.Count(a.Summary.Pending, "pending pod"), a.Summary.Refused, report.Count(a.Summary.Running, "running pod"), report.Count(a.Summary.Fields, "field"))
	if len(a.Pods) > 0 {
		b.WriteString("\n")
		var rows [][]string
		for _, p := range a.Pods {
			rows = append(rows, []string{p.Pod, p.From.short(), p.To.short(), strings.Join(ids(p.Rules), ",")})
		}
		text, _ := o.Tables.Layout.Columns([]string{"PENDING POD", a.From, a.To, "RULES"}, rows)
		b.WriteString(text)
	}
	if len(a.Running) > 0 {
		b.WriteString("\n")
		var rows [][]string
		for _, p := range a.Running {
			rows = append(rows, []string{p.Pod, p.Node, strings.Join(p.Reasons, ", "), strings.Join(ids(p.Rules), ",")})
		}
		text, _ := o.Tables.Layout.Columns([]string{"RUNNING POD", "NODE", "REASON IN " + a.To, "RULES"}, rows)
		b.WriteString(text)
	}
	if len(a.Fields) > 0 {
		b.WriteString("\n")
		var rows [][]string
		for _, f := range a.Fields {
			rows = append(rows, []string{f.Field, f.Why, f.Rule.ID})
		}
		text, _ := o.Tables.Layout.Columns([]string{"FIELD", "REFUSED BY " + a.To, "RULE"}, rows)
		b.WriteString(text)
	}
	if len(a.Plugins) > 0 {
		b.WriteString("\n")
		var rows [][]string
		for _, p := range a.Plugins {
			rows = append(rows, []string{p.Plugin, p.Change, p.From, p.To, p.Rule.ID})
		}
		text, _ := o.Tables.Layout.Columns([]string{"PLUGIN", "CHANGE", a.From, a.To, "RULE"}, rows)
		b.WriteString(text)
	}
	if used := a.used(); len(used) > 0 {
		b.WriteString("\n")
		for _, r := range used {
			report.Textf(b, "%s: %s\n", r.ID, r.Sentence)
		}
	}
}

// end says which pods nobody asked about.
func (a *upgradeReport) end(o options) string {
	text := report.NotTried(a.Summary.Untried, "pod")
	if n := len(a.Grouped); n > 0 {
		text = "\n" + o.Tables.Layout.Text("", fmt.Sprintf("Not compared: %s of groups (%s). podberth follows the rules of v1.37 for groups of pods, and no other release has them; "+
			"--feature-gates=%s=false compares them as if they had no group", report.Count(n, "pending pod"), report.Few(a.Grouped), groups.GenericWorkload)) + text
	}
	return text
}

// short returns the verdict in a line: the node of a placed pod, else the message.
func (v verdict) short() string {
	if v.Message == "" {
		return v.Node
	}
	return v.Message
}

// used returns the rules that the report names, in their order.
func (a *upgradeReport) used() (out []rule) {
	named := map[string]bool{}
	note := func(list []rule) {
		for _, r := range list {
			named[r.ID] = true
		}
	}
	for _, p := range a.Pods {
		note(p.Rules)
	}
	for _, p := range a.Running {
		note(p.Rules)
	}
	for _, f := range a.Fields {
		note([]rule{f.Rule})
	}
	for _, p := range a.Plugins {
		note([]rule{p.Rule})
	}
	for _, d := range a.Differences {
		if named[d.ID] {
			out = append(out, rule{d.ID, d.Sentence})
		}
	}
	return out
}

func ids(list []rule) (out []string) {
	for _, r := range list {
		out = append(out, r.ID)
	}
	return out
}

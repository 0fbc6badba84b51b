package preflight

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	planner "github.com/podberth/podberth/planning/rollout"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/report"
	"github.com/podberth/podberth/tools/rollout"
	"github.com/podberth/podberth/tools/upgrade"
)

// preflight is the answer, in the form in which it is printed.
type preflight struct {
	report.Head
	From string `json:"from"` // the version before
	To   string `json:"to"`   // the version after
	// Whether every node can be drained, and the new version changes nothing for this cluster.
	OK       bool      `json:"ok"`
	Summary  summary   `json:"summary"`  // the answer in numbers
	Blocked  []blocked `json:"blocked"`  // pods that hang for one reason
	Waiting  []string  `json:"waiting"`  // pods without a node at the end
	Budgets  []string  `json:"budgets"`  // budgets of the pods that hang, as NAMESPACE/NAME
	Pods     []changed `json:"pods"`     // pods for which the new version decides otherwise
	Fields   []changed `json:"fields"`   // fields of the configuration that the new version refuses
	Kubelets []string  `json:"kubelets"` // nodes whose kubelet is more than three minor versions older than "to"
	Untried  int       `json:"untried"`  // changes that --time or --steps left out
	// Pods about which --time left out whether the new version decides otherwise; absent for 0.
	Unasked int `json:"unasked,omitempty"`
	// Pending pods of groups, which are not compared; absent for none.
	Grouped []string `json:"grouped,omitempty"`
}

type summary struct {
	Nodes    int `json:"nodes"`    // nodes of the cluster
	Blocked  int `json:"blocked"`  // nodes that cannot be drained
	Pods     int `json:"pods"`     // pods that are to leave
	Hanging  int `json:"hanging"`  // of these, the pods that hang for ever
	Homeless int `json:"homeless"` // of these, the pods that would leave and get no new node
	// When the last node is new; pods and nodes take no time beside the grace periods.
	Total string `json:"total"`
}

// blocked is pods that hang for one reason, with the first change that helps.
type blocked struct {
	Kind  string   `json:"kind"`  // the kind of the deadlock, as of RolloutPlan
	Nodes []string `json:"nodes"` // their nodes
	Pods  []string `json:"pods"`  // the pods, as NAMESPACE/NAME
	Why   string   `json:"why"`   // the proof
	// The first change with which the pods leave; empty when none that was tried does.
	Helps string `json:"helps"`
}

type changed struct {
	Name string `json:"name"` // NAMESPACE/NAME of the pod, or the field
	Was  string `json:"was"`  // the node or the message of the version before; "accepted" for a field
	Is   string `json:"is"`   // the same of the version after; for a field why it is refused
}

// from returns the release before: that of -from, or of the oldest kubelet.
func from(o options, nodes []*v1.Node) (string, error) {
	if len(nodes) == 0 {
		return "", errors.New("nodes: Required value: the input has no node to upgrade")
	}
	if o.from != "" {
		if number(o.from) > number(o.to) {
			return "", fmt.Errorf("-from: Invalid value: %q: must not be after --to", o.from)
		}
		return o.from, nil
	}
	oldest := ""
	for _, n := range nodes {
		if v := minor(n); v != "" && (oldest == "" || number(v) < number(oldest)) {
			oldest = v
		}
	}
	if oldest == "" {
		return "", errors.New("-from: Required value: no node of the input says the version of its kubelet")
	}
	if _, err := release.Parse(oldest); err != nil {
		return "", fmt.Errorf("-from: Required value: the oldest kubelet of the input is %s: %w", oldest, err)
	}
	return oldest, nil
}

// minor returns "1.36" of a node's kubelet, "" when the node does not say.
func minor(n *v1.Node) string {
	parts := strings.SplitN(strings.TrimPrefix(n.Status.NodeInfo.KubeletVersion, "v"), ".", 3)
	if len(parts) < 2 || number(parts[0]+"."+parts[1]) == 0 {
		return ""
	}
	return parts[0] + "." + parts[1]
}

// number returns 36 of "1.36", 0 for what is no such release.
func number(version string) (n int) {
	if _, err := fmt.Sscanf(version, "1.%d", &n); err != nil {
		return 0
	}
	return n
}

// oldestKubelet is how many minor releases a kubelet may be older than the API server.
const oldestKubelet = 3

// kubelets finds the nodes that must be upgraded before the API server.
func (a *preflight) kubelets(nodes []*v1.Node) {
	a.Summary.Nodes = len(nodes)
	for _, n := range nodes {
		if v := minor(n); v != "" && number(a.To)-number(v) > oldestKubelet {
			a.Kubelets = append(a.Kubelets, n.Name)
		}
	}
	slices.Sort(a.Kubelets)
}

// over is how a program is asked about a cluster that was read.
type over func(ctx context.Context, objects *dump.Objects, args []string, stderr io.Writer) ([]byte, error)

// ask asks a program and reads its answer.
func (answer over) ask(ctx context.Context, objects *dump.Objects, args []string, o options, stderr io.Writer, into any) error {
	if o.config != "" {
		args = append(args, "-config", o.config)
	}
	if o.gates != nil {
		args = append(args, "-feature-gates", o.gates.String())
	}
	out, err := answer(ctx, objects, append(args, "-f", o.Files[0], "-time", o.Time.String()), stderr)
	if err != nil {
		return err
	}
	return json.Unmarshal(out, into)
}

// rollout asks which nodes cannot be drained one after the other. A configuration that the new version refuses decides nothing: the default profile does.
func (a *preflight) rollout(ctx context.Context, o options, objects *dump.Objects, stderr io.Writer) error {
	var plan struct {
		Summary struct {
			Pods, Hanging, Homeless, Blocked int
			Total                            string
		}
		Blocked []planner.Deadlock
		Waiting []string
		Untried int
	}
	if len(a.Fields) > 0 {
		objects.Warnings.Add("-config: " + a.To + " refuses it; where drained pods go is decided by the default profile")
		o.config = ""
	}
	args := []string{fmt.Sprintf("-force=%v", o.force), fmt.Sprintf("-delete-emptydir-data=%v", o.emptyDirs), fmt.Sprintf("-surge=%d", o.surge), fmt.Sprintf("-steps=%d", o.Steps)}
	if err := over(rollout.Over).ask(ctx, objects, args, o, stderr, &plan); err != nil {
		return err
	}
	a.Summary.Pods, a.Summary.Hanging, a.Summary.Blocked, a.Summary.Total = plan.Summary.Pods, plan.Summary.Hanging, plan.Summary.Blocked, plan.Summary.Total
	a.Summary.Homeless, a.Untried = plan.Summary.Homeless, plan.Untried
	for _, d := range plan.Blocked {
		b := blocked{Kind: string(d.Kind), Nodes: d.Nodes, Pods: d.Pods, Why: d.Proof}
		for _, r := range d.Remedies {
			if r.Holds {
				b.Helps = r.Text
				break
			}
		}
		for _, name := range d.Budgets {
			if !slices.Contains(a.Budgets, name) {
				a.Budgets = append(a.Budgets, name)
			}
		}
		a.Blocked = append(a.Blocked, b)
	}
	slices.Sort(a.Budgets)
	a.Waiting = append(a.Waiting, plan.Waiting...)
	return nil
}

// upgrade asks what the new version changes.
func (a *preflight) upgrade(ctx context.Context, o options, objects *dump.Objects, stderr io.Writer) error {
	if a.From == a.To {
		return nil
	}
	type verdict struct{ Outcome, Node, Message string }
	var r struct {
		Pods []struct {
			Pod      string
			From, To verdict
		}
		Running []struct {
			Pod, Node string
			Reasons   []string
		}
		Grouped []string
		Fields  []struct{ Field, Why string }
		Summary struct{ Untried int }
	}
	if err := over(upgrade.Over).ask(ctx, objects, []string{"-from", a.From, "-to", a.To}, o, stderr, &r); err != nil {
		return err
	}
	a.Unasked, a.Grouped = r.Summary.Untried, r.Grouped
	short := func(v verdict) string {
		if v.Message == "" {
			return v.Node
		}
		return v.Message
	}
	for _, p := range r.Pods {
		a.Pods = append(a.Pods, changed{p.Pod, short(p.From), short(p.To)})
	}
	for _, p := range r.Running {
		a.Pods = append(a.Pods, changed{p.Pod, "runs on " + p.Node, "would not be admitted there: " + strings.Join(p.Reasons, ", ")})
	}
	for _, f := range r.Fields {
		a.Fields = append(a.Fields, changed{f.Field, "accepted", f.Why})
	}
	return nil
}

func (a *preflight) sum() {
	a.OK = len(a.Blocked)+len(a.Pods)+len(a.Fields)+len(a.Kubelets)+a.Unasked == 0
}

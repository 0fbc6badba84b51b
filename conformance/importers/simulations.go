package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/conformance/real"
)

// simulation is one call of Karpenter's SimulateScheduling, as testdata/karpenter/simulations.go writes it: where the pods of candidates go when the
// candidates have left.
type simulation struct {
	Spec  string
	Nodes []struct {
		Name                  string
		Deleting, Initialized bool
	}
	Candidates []string
	Placed     []struct {
		Node string
		Pod  *v1.Pod
	}
	Others  []*v1.Pod // get a new node, or none
	Objects cluster.Objects
}

// karpenterSimulations records what the specs of Karpenter's consolidation ask of its scheduling, and asks podberth and kube-scheduler the same.
func karpenterSimulations(string) error {
	var list []simulation
	err := karpenter.copied(func(dir string) error {
		const disruption, test = "pkg/controllers/disruption/", "pkg/test/"
		if err := rename(dir, disruption+"helpers.go", []string{"SimulateScheduling"}); err != nil {
			return err
		}
		if err := serveInMemory(dir, map[string]string{"simulations.go": disruption + "podberth.go"}); err != nil {
			return err
		}
		record, report := filepath.Join(dir, "record.jsonl"), filepath.Join(dir, "report.json")
		cmd := exec.Command("go", "test", "-vet=off", "-count=1", "./"+disruption, "-ginkgo.focus=Consolidation", "-ginkgo.json-report="+report)
		cmd.Dir, cmd.Env = dir, append(environment(), "PODBERTH_RECORD="+record)
		out, err := cmd.CombinedOutput()
		passed, failed, unread := specs(report)
		if unread != nil {
			return fmt.Errorf("the specs: %w, %w\n%s", err, unread, out[max(0, len(out)-4000):])
		}
		fmt.Printf("%d specs pass over the API server in memory, %d fail: %s\n", len(passed), len(failed), strings.Join(failed, "; "))
		file, err := os.Open(record)
		if err != nil {
			return err
		}
		defer file.Close()
		for dec := json.NewDecoder(file); ; {
			var s simulation
			if err := dec.Decode(&s); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			if passed[s.Spec] {
				list = append(list, s)
			}
		}
	})
	if err != nil {
		return err
	}
	return judgeSimulations(list)
}

// specs reads a report of ginkgo.
func specs(report string) (passed map[string]bool, failed []string, err error) {
	text, err := os.ReadFile(report)
	if err != nil {
		return nil, nil, err
	}
	var suites []struct {
		SpecReports []struct {
			ContainerHierarchyTexts           []string
			LeafNodeType, LeafNodeText, State string
		}
	}
	if err := json.Unmarshal(text, &suites); err != nil {
		return nil, nil, err
	}
	passed = map[string]bool{}
	for _, suite := range suites {
		for _, s := range suite.SpecReports {
			if s.LeafNodeType != "It" {
				continue
			}
			name := strings.Join(append(slices.Clone(s.ContainerHierarchyTexts), s.LeafNodeText), " ")
			switch s.State {
			case "passed":
				passed[name] = true
			case "skipped", "pending":
			default:
				failed = append(failed, name)
			}
		}
	}
	return passed, failed, nil
}

// agreement counts how the answers about simulations agree.
type agreement struct {
	scheduler                     *real.Scheduler
	all, allEqual                 int // simulations: whether all pods go to nodes that exist
	placed, accepted, others, not int // pods with and without an existing node, and those of which the filters say the same
	differ                        map[string][]string
}

func judgeSimulations(list []simulation) error {
	s, err := real.Default(context.Background())
	if err != nil {
		return err
	}
	a := agreement{scheduler: s, differ: map[string][]string{}}
	skipped, asked := map[string]int{}, map[string]bool{}
	for _, one := range list {
		if why := one.unasked(); why != "" {
			skipped[why]++
			continue
		}
		asked[one.Spec] = true
		if err := a.simulation(one); err != nil {
			return fmt.Errorf("%s: %w", one.Spec, err)
		}
	}
	fmt.Println("kube-scheduler and podberth are equal in every question")
	fmt.Printf("%d simulations recorded, %d of %d specs asked again; not asked: %s\n", len(list), a.all, len(asked), counts(skipped))
	fmt.Printf("all pods go to nodes that exist, or not: equal in %d\n", a.allEqual)
	fmt.Printf("%d pods on nodes that exist, the filters accept %d; %d pods elsewhere, the filters refuse all nodes for %d\n", a.placed, a.accepted, a.others, a.not)
	return explained(a.differ, simulationsDiffer)
}

// unasked returns why podberth has no such question.
func (s simulation) unasked() string {
	if len(s.Placed)+len(s.Others) == 0 {
		return "no pod"
	}
	for _, n := range s.Nodes {
		if !n.Initialized && !n.Deleting && !slices.Contains(s.Candidates, n.Name) {
			return "a node that has not come yet, and that Karpenter knows all the same"
		}
	}
	return ""
}

// world returns the cluster without the candidates, nodes that are deleted, and the pods that are asked about.
func (s simulation) world() cluster.Objects {
	o := s.Objects
	gone := map[string]bool{}
	for _, name := range s.Candidates {
		gone[name] = true
	}
	for _, n := range s.Nodes {
		gone[n.Name] = gone[n.Name] || n.Deleting
	}
	asked := map[string]bool{}
	for _, p := range s.pods() {
		asked[p.Namespace+"/"+p.Name] = true
	}
	o.ResourceClaims = slices.Clone(o.ResourceClaims)
	for i, c := range o.ResourceClaims {
		c = admitted(c, i)
		o.ResourceClaims[i] = c
		if c.Status.Allocation != nil {
			for k, r := range c.Status.Allocation.Devices.Results {
				if r.ConsumedCapacity != nil && r.ShareID == nil { // kube-scheduler gives each share an id
					c.Status.Allocation.Devices.Results[k].ShareID = &c.UID
				}
			}
		}
		if !slices.ContainsFunc(c.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return !asked[c.Namespace+"/"+r.Name] }) {
			c.Status.Allocation, c.Status.ReservedFor = nil, nil // free when its pods have left
		}
	}
	o.Nodes = slices.DeleteFunc(slices.Clone(o.Nodes), func(n *v1.Node) bool { return gone[n.Name] })
	o.Pods = slices.DeleteFunc(slices.Clone(o.Pods), func(p *v1.Pod) bool {
		return asked[p.Namespace+"/"+p.Name] || p.Spec.NodeName == "" || gone[p.Spec.NodeName]
	})
	return o
}

func (s simulation) pods() (out []*v1.Pod) {
	for _, p := range s.Placed {
		out = append(out, p.Pod)
	}
	return append(out, s.Others...)
}

// simulation asks about each pod which nodes it may go to while the pods that Karpenter placed are there. Then it places the pods one after
// the other and asks where each goes.
func (a *agreement) simulation(s simulation) error {
	a.all++
	o := s.world()
	rest := slices.Clone(s.Placed)
	for len(rest) > 0 {
		next, accepted := 0, false
		var why string
		for k, p := range rest { // Karpenter has placed them in an order of its own
			feasible, err := a.ask(o, p.Pod)
			if err != nil {
				return err
			}
			if slices.Contains(feasible, p.Node) {
				next, accepted = k, true
				break
			}
			why = fmt.Sprintf("%s on %s, the filters accept %v", p.Pod.Name, p.Node, feasible)
		}
		a.placed++
		if accepted {
			a.accepted++
		} else {
			a.differ[s.Spec] = append(a.differ[s.Spec], why)
		}
		o.Pods = append(slices.Clip(o.Pods), on(rest[next].Pod, rest[next].Node))
		rest = slices.Delete(rest, next, next+1)
	}
	for _, p := range s.Others {
		feasible, err := a.ask(o, p)
		if err != nil {
			return err
		}
		a.others++
		if len(feasible) == 0 {
			a.not++
		} else {
			a.differ[s.Spec] = append(a.differ[s.Spec], fmt.Sprintf("%s on no node, the filters accept %v", p.Name, feasible))
		}
	}
	return a.together(s)
}

// together compares whether all pods go to nodes that exist, when each gets the best node in turn.
func (a *agreement) together(s simulation) error {
	o, all := s.world(), true
	for _, p := range s.pods() {
		ours, err := a.sides(o, p)
		if err != nil {
			return err
		}
		if len(ours.best) == 0 {
			all = false
			continue
		}
		o.Pods = append(slices.Clip(o.Pods), on(p, ours.best[0]))
	}
	if all == (len(s.Others) == 0) {
		a.allEqual++
	} else {
		a.differ[s.Spec] = append(a.differ[s.Spec], fmt.Sprintf("all pods on nodes that exist: Karpenter %v, podberth %v", len(s.Others) == 0, all))
	}
	return nil
}

func (a *agreement) ask(o cluster.Objects, p *v1.Pod) ([]string, error) {
	one, err := a.sides(o, p)
	return one.feasible, err
}

// sides returns the answer of podberth about a pod. The error says that kube-scheduler's is another.
func (a *agreement) sides(o cluster.Objects, p *v1.Pod) (side, error) {
	next := p.DeepCopy()
	next.Spec.NodeName, next.DeletionTimestamp, next.Status = "", nil, v1.PodStatus{Phase: v1.PodPending, ResourceClaimStatuses: p.Status.ResourceClaimStatuses}
	return bothSides(a.scheduler, o, next)
}

// on returns a pod that runs on a node.
func on(p *v1.Pod, node string) *v1.Pod {
	out := p.DeepCopy()
	out.Spec.NodeName, out.DeletionTimestamp, out.Status.Phase = node, nil, v1.PodRunning
	return out
}

// explained prints the differences that have a reason, and returns an error for a difference without a reason and for a reason without a difference.
func explained(differ map[string][]string, reasons map[string]string) error {
	var wrong []string
	for _, spec := range slices.Sorted(maps.Keys(differ)) {
		if reason := reasons[spec]; reason != "" {
			fmt.Printf("differs: %s: %s\n", spec, reason)
			continue
		}
		wrong = append(wrong, spec+": "+strings.Join(differ[spec], "; "))
	}
	for spec := range reasons {
		if differ[spec] == nil {
			wrong = append(wrong, spec+" no longer differs")
		}
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "\n"))
	}
	return nil
}

// simulationsDiffer has the specs whose answers differ, with the reason.
var simulationsDiffer = map[string]string{
	"Consolidation Delete should not consolidate pods onto a destination node that is under its consolidateAfter window": "consolidateAfter keeps pods off a node for some time: " +
		"a rule of Karpenter's, no rule of scheduling",
}

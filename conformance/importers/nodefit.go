package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/conformance/real"
	"github.com/podberth/podberth/devices/cel"
	"github.com/podberth/podberth/placement"
)

//go:embed testdata/nodefit.go
var nodeFitSource string

// tally counts what NodeFit says beside the rules, about pods and about pairs of a pod and a node other than its own.
type tally struct {
	pods, failed, both, neither, returns, mayReturn int
	answers, equal                                  int
	// wrong has the number of answers that differ, by what refuses the pod: a filter of kube-scheduler where NodeFit says yes, a text of NodeFit where
	// the rules say yes.
	tooYes, tooNo map[string]int
	podsYes       int // NodeFit alone finds another node
	podsNo        int // the rules alone do
}

// nodeFit asks NodeFit, kube-scheduler and podberth about each pod of generated clusters: which other nodes take it once it has left, and which would
// the scheduler choose. podberth and kube-scheduler must be equal for every pod.
func nodeFit(string) error {
	n := gen.Count(1000, 100)
	var list []*gen.Cluster
	for seed := *gen.Seed; seed < *gen.Seed+int64(n); seed++ {
		list = append(list, gen.Of(seed, gen.Shape{Nodes: 8, Running: 10, FewNames: true, Volumes: seed%2 == 0}))
	}
	answers, err := askNodeFit(list)
	if err != nil {
		return err
	}
	s, err := real.Default(context.Background())
	if err != nil {
		return err
	}
	t := tally{tooYes: map[string]int{}, tooNo: map[string]int{}}
	for k, c := range list {
		for i, p := range c.Pods {
			if err := t.pod(s, c.Objects, p, answers[k][i]); err != nil {
				return fmt.Errorf("seed %d, pod %s/%s: %w", c.Seed, p.Namespace, p.Name, err)
			}
		}
	}
	t.print(len(list))
	return nil
}

// askNodeFit returns for each cluster, pod and node the text of NodeFit, "" for yes.
func askNodeFit(list []*gen.Cluster) (answers [][][]string, err error) {
	var in, out, complaints bytes.Buffer
	enc := json.NewEncoder(&in)
	for _, c := range list {
		if err := enc.Encode(struct {
			Nodes []*v1.Node
			Pods  []*v1.Pod
		}{c.Nodes, c.Pods}); err != nil {
			return nil, err
		}
	}
	return answers, deschedulerModule.copied(func(dir string) error {
		if err := add(dir, map[string]string{"podberth/main.go": nodeFitSource}); err != nil {
			return err
		}
		cmd := exec.Command("go", "run", "./podberth")
		cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, environment(), &in, &out, &complaints
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%w\n%s", err, complaints.String())
		}
		for dec := json.NewDecoder(&out); len(answers) < len(list); {
			var of [][]string
			if err := dec.Decode(&of); err != nil {
				return err
			}
			answers = append(answers, of)
		}
		return nil
	})
}

// side is what one scheduler says of a pod: the nodes that take it and the best of them. refuses has the filter that refuses another. failed is the
// error of a filter, such as that of a class without a binding mode: no node takes the pod then.
type side struct {
	feasible, best []string
	refuses        map[string]string
	failed         string
}

// pod asks about one pod in a fresh cluster without it.
func (t *tally) pod(s *real.Scheduler, o cluster.Objects, p *v1.Pod, nodeFit []string) error {
	if cluster.Finished(p) || p.DeletionTimestamp != nil || p.Spec.NodeName == "" {
		return nil
	}
	o.Pods = slices.DeleteFunc(slices.Clone(o.Pods), func(other *v1.Pod) bool { return other == p })
	next := p.DeepCopy()
	next.Spec.NodeName, next.Status = "", v1.PodStatus{Phase: v1.PodPending}
	theirs, err := bothSides(s, o, next)
	if err != nil {
		return err
	}
	if theirs.failed != "" {
		t.failed++
		return nil
	}
	yes, allowed := false, false
	for i, n := range o.Nodes {
		if n.Name == p.Spec.NodeName {
			continue
		}
		fits := slices.Contains(theirs.feasible, n.Name)
		t.answers++
		switch {
		case fits == (nodeFit[i] == ""):
			t.equal++
		case fits:
			t.tooNo[nodeFit[i]]++
		default:
			t.tooYes[theirs.refuses[n.Name]]++
		}
		yes, allowed = yes || nodeFit[i] == "", allowed || fits
	}
	t.pods++
	switch {
	case yes && allowed:
		t.both++
		if slices.Contains(theirs.best, p.Spec.NodeName) {
			t.mayReturn++
			if len(theirs.best) == 1 {
				t.returns++
			}
		}
	case yes:
		t.podsYes++
	case allowed:
		t.podsNo++
	default:
		t.neither++
	}
	return nil
}

// bothSides returns the answer of kube-scheduler about a pod. The error says that podberth's is another.
func bothSides(s *real.Scheduler, o cluster.Objects, next *v1.Pod) (side, error) {
	ours, err := askPodberth(o, next)
	if err != nil {
		return side{}, err
	}
	o.Pods = slices.Clone(o.Pods)
	for i, p := range o.Pods {
		o.Pods[i] = p.DeepCopy() // kube-scheduler keeps them
	}
	theirs, err := askScheduler(s, o, next.DeepCopy())
	if err != nil {
		return side{}, err
	}
	if !slices.Equal(ours.feasible, theirs.feasible) || !slices.Equal(ours.best, theirs.best) || ours.failed != theirs.failed {
		return side{}, fmt.Errorf("kube-scheduler: %v of %v %s, podberth: %v of %v %s", theirs.best, theirs.feasible, theirs.failed, ours.best, ours.feasible, ours.failed)
	}
	return theirs, nil
}

func askPodberth(o cluster.Objects, next *v1.Pod) (a side, err error) {
	snapshot, err := cluster.New(o)
	if err != nil {
		return a, err
	}
	args := placement.PluginArgs{}
	args.Devices.Compiler = cel.NewCompiler()
	profile := args.Profile()
	profile.Sampling = placement.AllNodes()
	placer, err := placement.NewPlacer(snapshot, profile)
	if err != nil {
		return a, err
	}
	attempt := placer.Prepare(next)
	found := attempt.Search(placement.Options{})
	if found.Err != nil {
		return side{failed: found.Err.Error()}, nil
	}
	if len(found.Feasible) == 0 {
		return a, nil
	}
	_, totals, err := attempt.Scores(found.Feasible)
	if err != nil {
		return side{failed: err.Error()}, nil
	}
	for k, i := range found.Feasible {
		name := snapshot.Node(i).Name
		a.feasible = append(a.feasible, name)
		if totals[k] == slices.Max(totals) {
			a.best = append(a.best, name)
		}
	}
	slices.Sort(a.feasible)
	slices.Sort(a.best)
	return a, nil
}

func askScheduler(s *real.Scheduler, o cluster.Objects, next *v1.Pod) (a side, err error) {
	if err := errors.Join(s.Load(o), s.LoadDevices(o.ResourceSlices, o.DeviceClasses, o.ResourceClaims)); err != nil {
		return a, err
	}
	if err := s.Update(); err != nil {
		return a, err
	}
	all, err := s.NodeInfos()
	if err != nil {
		return a, err
	}
	a.refuses = map[string]string{}
	state := framework.NewCycleState()
	to, status, _ := s.Framework.RunPreFilterPlugins(s.Context(), state, next)
	if status.Code() == fwk.Error {
		return side{failed: status.AsError().Error()}, nil
	}
	var feasible []fwk.NodeInfo
	for _, n := range all {
		name := n.Node().Name
		if !status.IsSuccess() {
			a.refuses[name] = status.Plugin()
			continue
		}
		if !to.AllNodes() && !to.NodeNames.Has(name) {
			a.refuses[name] = "NodeAffinity"
			continue
		}
		switch one := s.Framework.RunFilterPlugins(s.Context(), state, next, n); {
		case one.IsSuccess():
			feasible = append(feasible, n)
			a.feasible = append(a.feasible, name)
		case one.Code() == fwk.Error:
			return side{failed: one.AsError().Error()}, nil
		default:
			a.refuses[name] = one.Plugin()
		}
	}
	if len(feasible) == 0 {
		return a, nil
	}
	totals, _, err := s.Totals(next, feasible)
	if err != nil {
		return side{failed: err.Error()}, nil
	}
	most := int64(-1)
	for _, n := range totals {
		most = max(most, n.TotalScore)
	}
	for _, n := range totals {
		if n.TotalScore == most {
			a.best = append(a.best, n.Name)
		}
	}
	slices.Sort(a.feasible)
	slices.Sort(a.best)
	return a, nil
}

func (t *tally) print(clusters int) {
	fmt.Printf("%d clusters, %d pods: podberth and kube-scheduler are equal in the nodes that take the pod, in the best of them, and in %d errors of filters\n", clusters, t.pods+t.failed, t.failed)
	fmt.Printf("another node takes the pod: both %d, neither %d, NodeFit alone %d, the rules alone %d\n", t.both, t.neither, t.podsYes, t.podsNo)
	fmt.Printf("both say yes, and the scheduler chooses the old node again: %d, or may: %d\n", t.returns, t.mayReturn)
	fmt.Printf("%d answers about a pod and another node, %d equal\n", t.answers, t.equal)
	fmt.Println("NodeFit says yes, refused by", counts(t.tooYes))
	fmt.Println("NodeFit says no, the rules say yes", counts(t.tooNo))
}

// counts prints the largest number first.
func counts(of map[string]int) string {
	names := slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		if of[a] != of[b] {
			return of[b] - of[a]
		}
		return strings.Compare(a, b)
	})
	var out []string
	for _, name := range names {
		out = append(out, fmt.Sprintf("%s %d", name, of[name]))
	}
	return strings.Join(out, ", ")
}

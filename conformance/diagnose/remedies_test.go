package diagnose

import (
	"errors"
	"flag"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/conformance/real"
	"github.com/podberth/podberth/diagnose"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
)

// remedyClusters is the number of clusters of TestRemedies.
var remedyClusters = flag.Int("remedies", 0, "clusters of TestRemedies; 0: 150, or -clusters")

// Generated clusters in which a pod of an owner waits beside its siblings and pods of others: each printed remedy is made on the owner, and
// kube-scheduler decides all pods that wait, in their order, and the running pods that an edit of the template makes again. The pod gets the
// node, and as many pods of the owner run as the remedy says.
func TestRemedies(t *testing.T) {
	k := kube(t)
	want := *remedyClusters
	if want == 0 {
		want = gen.Count(150, 100)
	}
	var pods, played, crowds, restarted, labelled int
	kinds := map[diagnose.Kind]int{}
	for seed := *gen.Seed; seed < *gen.Seed+int64(want); seed++ {
		alone := seed%5 > 2 // with devices or volumes: a bare pod, and no other that waits
		c := gen.Of(seed, gen.Shape{Nodes: 8, Running: 20, Pending: 4, Volumes: seed%5 == 4, Roomy: seed%3 == 2})
		c.Pending = slices.DeleteFunc(c.Pending, func(p *v1.Pod) bool { return twin(c, p) })
		if seed%2 == 1 {
			alike(c, seed/2, true)
			closed(c)
		}
		at := 0
		if seed%5 == 3 {
			gpus(c)
		}
		if alone {
			c.Pending = c.Pending[:min(1, len(c.Pending))]
			for _, p := range c.Pending {
				p.OwnerReferences = nil
			}
		} else {
			gen.Team(c, seed)
			at = max(0, slices.IndexFunc(c.Pending, func(p *v1.Pod) bool { return p.Name == "own-7" }))
		}
		if len(c.Pending) == 0 {
			continue
		}
		switch seed % 10 { // a resize that waits has the room, or the pods want nodes that no pool has
		case 0, 1, 2:
			gen.Hold(c, preemption.Priority(c.Pending[at]))
		case 5:
			for _, p := range append(slices.Clone(c.Pods), c.Pending...) {
				if p == c.Pending[at] || mine(p) {
					p.Spec.NodeSelector = map[string]string{pool: "large"}
				}
			}
		}
		for _, p := range c.Pending {
			p.Status.NominatedNodeName = ""
			identify(p)
		}
		s, err := cluster.New(c.Objects)
		must(t, err)
		d, err := diagnose.Relax(diagnose.Input{Snapshot: s, Pending: c.Pending}, c.Pending[at], diagnose.Options{Size: 2})
		must(t, err)
		if d.Node != "" {
			continue
		}
		pods++
		for _, r := range d.Remedies {
			p := player{t: t, k: k, c: c, s: s, pod: c.Pending[at], r: r, seed: seed}
			p.had = p.before()
			node, run := p.play()
			played++
			if r.Of > 1 {
				crowds++
			}
			if p.restarts > 0 {
				restarted++
			}
			for _, x := range r.Changes {
				kinds[x.Kind]++
				if len(x.Labels) > 0 {
					labelled++
				}
			}
			if node != r.Node || run != r.Run {
				t.Errorf("seed %d: %s: kube-scheduler: node %q, %d run", seed, r.Text, node, run)
			}
			for _, name := range p.late {
				if !strings.Contains(r.Text, name) {
					t.Errorf("seed %d: %s: %s has lost its node, and the remedy does not say so", seed, r.Text, name)
				}
			}
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Logf("%d clusters, %d pods that wait, %d remedies made, %d of them for several pods, %d with restarts, %d with labels of added nodes; %v", want, pods, played, crowds, restarted, labelled, kinds)
	if played < pods/2 || crowds == 0 || restarted == 0 || want >= 100 && (labelled == 0 || kinds[diagnose.Resize] == 0) {
		t.Error("few remedies: the generator makes other clusters than this test is for")
	}
}

// twin reports whether a running pod has the name of a pending one.
func twin(c *gen.Cluster, p *v1.Pod) bool {
	return slices.ContainsFunc(c.Pods, func(x *v1.Pod) bool { return x.Namespace == p.Namespace && x.Name == p.Name })
}

// player makes a remedy and asks kube-scheduler and podberth about each pod in turn.
type player struct {
	t        *testing.T
	k        *real.Scheduler
	c        *gen.Cluster
	s        *cluster.Snapshot
	pod      *v1.Pod
	r        diagnose.Remedy
	seed     int64
	restarts int
	late     []string        // pods that were made again, or that have a node without the remedy, and have none
	had      map[string]bool // pods of others that get nodes without the remedy
	placer   *placement.Placer
	fork     *cluster.Snapshot
}

func mine(p *v1.Pod) bool {
	return metav1.GetControllerOf(p) != nil && strings.HasPrefix(p.Name, "own-")
}

// mine reports whether a pod is of the owner of the pod that waits, or of another ReplicaSet of its Deployment.
func (p *player) mine(x *v1.Pod) bool {
	owner := func(x *v1.Pod) string {
		by := metav1.GetControllerOf(x)
		if by == nil {
			return ""
		}
		name := by.Name
		if by.Kind == "ReplicaSet" {
			name = name[:max(0, strings.LastIndex(name, "-"))]
		}
		return by.Kind + " " + x.Namespace + "/" + name
	}
	return owner(x) != "" && owner(x) == owner(p.pod)
}

// begins reports whether the first change of the remedy is of a kind.
func (p *player) begins(kind diagnose.Kind) bool {
	return len(p.r.Changes) > 0 && p.r.Changes[0].Kind == kind
}

// edited returns a pod with the edits of the remedy.
func (p *player) edited(pod *v1.Pod) *v1.Pod {
	out, err := diagnose.Apply(p.s.Fork(), pod, p.r.Changes...)
	if err != nil && pod != p.pod { // an older pod: the owner makes it from the template of today
		out, err = diagnose.Apply(p.s.Fork(), p.pod, p.r.Changes...)
		out = out.DeepCopy()
		out.Name, out.UID, out.Spec.Volumes = pod.Name, pod.UID, pod.Spec.Volumes
	}
	must(p.t, err)
	return out
}

// decide asks both about a pod, and assumes it where podberth puts it. It returns the node, "" for none.
func (p *player) decide(pod *v1.Pod) string {
	d := p.placer.Decide(pod, placement.Options{})
	know(p.t, p.k, pod)
	result, err := p.k.Schedule(pod)
	var fit *framework.FitError
	if err != nil && !errors.As(err, &fit) && d.Placed() || (err == nil) != d.Placed() || err == nil && result.FeasibleNodes != d.Feasible {
		p.t.Errorf("seed %d: %s: pod %s: podberth says %q (%d), kube-scheduler %q (%d, %v)", p.seed, p.r.Text, pod.Name, d.Node, d.Feasible, result.SuggestedHost, result.FeasibleNodes, err)
		return ""
	}
	if !d.Placed() {
		return ""
	}
	must(p.t, p.placer.Assume(pod, d))
	must(p.t, p.k.Assume(pod, d.Node))
	return d.Node
}

// before returns the pods of others that get nodes as things are.
func (p *player) before() map[string]bool {
	plain := *p
	plain.r.Changes, plain.had = nil, map[string]bool{}
	plain.play()
	out := map[string]bool{}
	for _, x := range p.c.Pending {
		if x != p.pod && !p.mine(x) && plain.fork.Pod(x.Namespace, x.Name) != nil {
			out[x.Name] = true
		}
	}
	return out
}

// play returns the node of the pod and how many pods of the owner run.
func (p *player) play() (node string, run int) {
	p.fork = p.s.Fork()
	var old []*v1.Pod
	for _, i := range p.s.Order() { // as the rollout of a remedy makes them again
		for x := range p.s.Pods(int(i)) {
			if p.mine(x) && x.DeletionTimestamp == nil {
				old = append(old, x)
			}
		}
	}
	if by := metav1.GetControllerOf(p.pod); by != nil && by.Kind == "StatefulSet" { // the last first
		slices.SortFunc(old, func(a, b *v1.Pod) int { return strings.Compare(b.Name, a.Name) })
	}
	_, err := diagnose.Apply(p.fork, p.pod, p.r.Changes...)
	must(p.t, err)
	load(p.t, p.k, p.c, p.fork)
	p.placer, err = placement.NewPlacer(p.fork, placement.DefaultProfile())
	must(p.t, err)
	for _, x := range p.c.Pending {
		if p.fork.Pod(x.Namespace, x.Name) != nil || p.begins(diagnose.Scale) && p.mine(x) {
			continue // the remedy has given it a node, or its controller takes it away
		}
		if x == p.pod || p.mine(x) {
			x = p.edited(x)
		}
		self := x.Name == p.pod.Name && x.Namespace == p.pod.Namespace
		if len(x.Spec.SchedulingGates) > 0 {
			if !self || !p.begins(diagnose.Recover) {
				continue
			}
			x = x.DeepCopy() // the agent that the remedy names lifts its gate
			x.Spec.SchedulingGates = nil
		}
		at := p.decide(x)
		if at == "" {
			if p.had[x.Name] {
				p.late = append(p.late, x.Name)
			}
			continue
		}
		if self {
			node = at
		}
		if self || p.mine(x) {
			run++
		}
	}
	switch {
	case p.begins(diagnose.Scale):
		return "", len(old)
	case p.begins(diagnose.Strategy):
		return node, p.r.Run // it says where this pod goes, and no more
	}
	return node, run + p.restart(old)
}

// restart makes the running pods of the owner again when the remedy edits its template. It returns how many run then.
func (p *player) restart(old []*v1.Pod) (run int) {
	template := slices.ContainsFunc(p.r.Changes, func(c diagnose.Change) bool {
		return !c.Again && (strings.HasPrefix(c.Object, "Deployment") || strings.HasPrefix(c.Object, "StatefulSet") || strings.HasPrefix(c.Object, "DaemonSet"))
	})
	for _, x := range old {
		now := p.fork.Pod(x.Namespace, x.Name)
		deleted := now == nil && template && p.r.Changes[0].Kind == diagnose.Prefer // once: its controller makes it again
		if now != x && !deleted {                                                   // it has moved
			if now != nil {
				run++
			}
			continue
		}
		run++
		if !template {
			continue
		}
		p.restarts++
		again := x.DeepCopy()
		again.Spec.NodeName = ""
		if !deleted {
			must(p.t, p.fork.Remove(x))
			must(p.t, p.k.Remove(x))
		}
		if p.decide(p.edited(again)) == "" {
			p.late = append(p.late, x.Name)
			run--
		}
	}
	return run
}

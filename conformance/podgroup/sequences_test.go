package podgroup

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/testkit/situation"
	own "github.com/podberth/podberth/podgroup"
)

var (
	sequences   = flag.Int("sequences", 1, "sequences of groups to play")
	perSequence = flag.Int("groups", 50, "groups of each sequence")
)

// settled is how long both schedulers have after a step: longer than the longest rest of a group.
const settled = 6500 * time.Millisecond

// step is one change of a sequence. Exactly one field is set.
type step struct {
	group     *own.Group     // comes, or has another minimum
	composite *own.Composite // comes
	pod       *v1.Pod        // comes
	budget    *policyv1.PodDisruptionBudget
	leaves    string // the name of a pod that goes
	removed   string // the name of a group that goes
}

func (s step) String() string {
	switch {
	case s.group != nil:
		return fmt.Sprintf("group %s, minimum %d, priority %d", s.group.Name, s.group.Needs(), s.group.EffectivePriority())
	case s.pod != nil:
		g, _ := own.Of(s.pod)
		return fmt.Sprintf("pod %s, cpu %s, group %q, priority %d, gates %d", s.pod.Name, s.pod.Spec.Containers[0].Resources.Requests.Cpu(), g, *s.pod.Spec.Priority, len(s.pod.Spec.SchedulingGates))
	case s.leaves != "":
		return "pod " + s.leaves + " leaves"
	}
	return "group " + s.removed + " goes"
}

// sequenceOf makes the steps of a sequence, in batches that come at the same time. The cluster is one node, so that no choice of a node is
// random.
func sequenceOf(seed uint64, groups int) (node *v1.Node, batches [][]step) {
	r := rand.New(rand.NewPCG(seed, 37))
	node = &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "n1"}}
	node.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("12"), v1.ResourceMemory: resource.MustParse("64Gi"), v1.ResourcePods: resource.MustParse("110")}
	node.Status.Capacity = node.Status.Allocatable
	pods := map[string][]string{}
	var living, names []string
	var made []*own.Group
	for n := range groups {
		name, priority := fmt.Sprintf("g%d", n), r.Int32N(3)*10
		size := 1 + r.IntN(4)
		g := &own.Group{ObjectMeta: metav1.ObjectMeta{Namespace: situation.Namespace, Name: name, UID: types.UID(name)}, Spec: own.Spec{Priority: &priority}}
		if r.IntN(4) > 0 {
			g.Minimum = new(1 + r.Int32N(int32(size)))
			if r.IntN(6) == 0 {
				*g.Minimum++
			}
		}
		made = append(made, g)
		var batch []step
		cpu := fmt.Sprint(1 + r.IntN(3))
		for k := range size {
			p := podOf(fmt.Sprintf("%s-%d", name, k), name, cpu, priority, len(names))
			if r.IntN(20) == 0 {
				p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "g"}}
			}
			if r.IntN(25) == 0 {
				p.Spec.Priority = new(priority + 1) // it disagrees
			}
			pods[name] = append(pods[name], p.Name)
			names = append(names, p.Name)
			batch = append(batch, step{pod: p})
		}
		if r.IntN(4) == 0 {
			batch = append(batch, step{group: g})
		} else {
			batch = slices.Insert(batch, 0, step{group: g})
		}
		if r.IntN(3) == 0 {
			p := podOf("alone-"+name, "", fmt.Sprint(1+r.IntN(3)), r.Int32N(3)*10, len(names))
			names = append(names, p.Name)
			batch = append(batch, step{pod: p})
		}
		batches, living = append(batches, batch), append(living, name)
		if len(living) > 3 || r.IntN(4) == 0 {
			k := r.IntN(len(living))
			gone := living[k]
			living = slices.Delete(living, k, k+1)
			batch = nil
			for _, p := range pods[gone] {
				batch = append(batch, step{leaves: p})
			}
			if r.IntN(2) == 0 {
				batch = append(batch, step{removed: gone})
			}
			batches = append(batches, batch)
		}
		if r.IntN(3) == 0 {
			batches = append(batches, []step{{leaves: names[r.IntN(len(names))]}})
		}
		old := made[r.IntN(len(made))]
		switch r.IntN(6) {
		case 0: // a late member
			p := podOf(fmt.Sprintf("%s-late%d", old.Name, n), old.Name, fmt.Sprint(1+r.IntN(3)), *old.Priority, len(names))
			pods[old.Name] = append(pods[old.Name], p.Name)
			names = append(names, p.Name)
			batches = append(batches, []step{{pod: p}})
		case 1: // the group comes again, or has another minimum
			g := *old
			if g.Minimum != nil {
				g.Minimum = new(1 + r.Int32N(4))
			}
			batches = append(batches, []step{{group: &g}})
		}
	}
	return node, batches
}

func podOf(name, group, cpu string, priority int32, started int) *v1.Pod {
	at := metav1.NewTime(situation.Noon.Add(time.Duration(started) * time.Second)) // which victim is younger is no chance
	p := &v1.Pod{Status: v1.PodStatus{StartTime: &at}, ObjectMeta: metav1.ObjectMeta{Namespace: situation.Namespace, Name: name, UID: types.UID(name)}}
	p.Spec.SchedulerName, p.Spec.Priority = v1.DefaultSchedulerName, &priority
	p.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}}}}
	if group != "" {
		p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group}
	}
	return p
}

// player is a scheduler with its API server.
type player interface {
	do(step) error
	// rest lets the scheduler work until nothing is left to do for a while.
	rest()
	// shown returns a line about each object.
	shown() []string
	// told returns the events since the last call.
	told() []string
	close()
}

// lineOf returns the line about a pod.
func lineOf(p *v1.Pod) string {
	if p.Spec.NodeName != "" {
		return p.Name + " is bound"
	}
	line := p.Name + " waits"
	if c := condition(p); c != nil {
		line = fmt.Sprintf("%s: %s %s", p.Name, c.Reason, c.Message)
	}
	if n := p.Status.NominatedNodeName; n != "" {
		line += " @" + n
	}
	return line
}

// Sequences of groups that come, wait, preempt and leave end every step with equal objects and have the same events, in virtual time for both.
func TestSequences(t *testing.T) {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGUSR2) // the first call starts what must be outside of a bubble
	steps, failed := 0, 0
	for n := range uint64(*sequences) {
		played, what := 0, ""
		synctest.Test(t, func(*testing.T) { played, what = playSequence(*seed+n, *perSequence) })
		steps += played
		if what != "" {
			if failed++; failed <= 8 {
				t.Errorf("seed %d: %s", *seed+n, what)
			}
		}
	}
	t.Logf("%d sequences of %d groups, %d steps, %d sequences disagree", *sequences, *perSequence, steps, failed)
}

// playSequence plays one sequence with both schedulers until their objects or their events differ.
func playSequence(seed uint64, groups int) (steps int, what string) {
	node, batches := sequenceOf(seed, groups)
	theirs, err := newTheirs(context.Background(), &own.Gates{}, false, node)
	if err != nil {
		return 0, "kube-scheduler: " + err.Error()
	}
	defer theirs.close()
	ours, err := newOurs(&own.Gates{}, node)
	if err != nil {
		return 0, "podberth: " + err.Error()
	}
	defer ours.close()
	for k, batch := range batches {
		for _, s := range batch {
			for _, p := range []player{theirs, ours} {
				if err := p.do(s); err != nil {
					return k, fmt.Sprintf("step %d, %v: %v", k, s, err)
				}
			}
		}
		theirs.rest()
		ours.rest()
		a := append(sorted(theirs.shown()), sorted(theirs.told())...)
		b := append(sorted(ours.shown()), sorted(ours.told())...)
		if slices.Equal(a, b) {
			continue
		}
		var past []string
		for i, earlier := range batches[:k+1] {
			past = append(past, fmt.Sprintf("%d: %v", i, earlier))
		}
		return k, fmt.Sprintf("step %d\n%s\nkube-scheduler:\n%s\npodberth:\n%s", k, strings.Join(past[max(0, len(past)-6):], "\n"), strings.Join(a, "\n"), strings.Join(b, "\n"))
	}
	return len(batches), ""
}

func sorted(lines []string) []string {
	slices.Sort(lines)
	return lines
}

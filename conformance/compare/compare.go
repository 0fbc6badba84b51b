// Package compare holds podberth against kube-scheduler on one cluster and says where they differ.
package compare

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/conformance/real"
	"github.com/podberth/podberth/conformance/remote"
	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/release"
)

// Difference is one disagreement.
type Difference struct {
	// Area names what is compared, such as "filter/NodePorts" or "message".
	Area string
	// Text says what both sides answer.
	Text string
}

func (d Difference) String() string { return d.Area + ": " + d.Text }

// Kube is kube-scheduler: a real.Scheduler in this process, or a remote.Scheduler, which asks a judge of another version.
type Kube interface {
	Load(o cluster.Objects) error
	Know(pod *v1.Pod) error
	Update() error
	NodeInfos() ([]fwk.NodeInfo, error)
	Filter(plugin string, pod *v1.Pod) (real.Filtering, error)
	Score(plugin string, pod *v1.Pod, feasible []fwk.NodeInfo) (real.Scoring, error)
	Totals(pod *v1.Pod, feasible []fwk.NodeInfo) (scores []fwk.NodePluginScores, ok bool, err error)
	Schedule(pod *v1.Pod) (scheduler.ScheduleResult, error)
	Attempt(pod *v1.Pod) (*real.Attempt, error)
	Assume(pod *v1.Pod, node string) error
	Remove(pod *v1.Pod) error
	Nominate(pod *v1.Pod) error
	Unnominate(pod *v1.Pod)
	PreEnqueue(plugin string, pod *v1.Pod) (*fwk.Status, error)
}

// Side is kube-scheduler and podberth with the same profile.
type Side struct {
	Real    Kube
	Profile placement.Profile
	Name    string // of the profile, for messages
	// Release is what both sides follow.
	Release release.Version
	// Seen counts comparisons and results; nil counts nothing.
	Seen *Tally

	differences []Difference
}

// New starts both sides with one profile.
func New(ctx context.Context, p Profile, seen *Tally) (*Side, error) {
	r, err := real.New(ctx, p.Real)
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", p.Name, err)
	}
	return &Side{Real: r, Profile: p.Podberth, Name: p.Name, Release: trial.Linked, Seen: seen}, nil
}

// Remote starts podberth beside a judge of a release, both with the default profile.
func Remote(judge string, v release.Version, seen *Tally) (*Side, error) {
	r, err := remote.Start(judge)
	if err != nil {
		return nil, err
	}
	return &Side{Real: r, Profile: placement.PluginArgs{Release: v}.Profile(), Name: v.String(), Release: v, Seen: seen}, nil
}

func (s *Side) differ(area, format string, args ...any) {
	s.differences = append(s.differences, Difference{area, fmt.Sprintf(format, args...)})
}

// same counts a comparison and records a difference.
func same[T comparable](s *Side, area, what string, real, podberth T) bool {
	s.Seen.Compared(area)
	if real == podberth {
		return true
	}
	s.differ(area, "%s: kube-scheduler %v, podberth %v", what, real, podberth)
	return false
}

// World is a cluster in the form in which podberth reads it.
type World struct {
	Snapshot *cluster.Snapshot
	Plan     *placement.Placer
}

// Load gives a cluster to both sides. kube-scheduler gets copies.
func (s *Side) Load(c *gen.Cluster) (*World, error) {
	s.differences = nil
	if err := s.Real.Load(Copy(c)); err != nil {
		return nil, fmt.Errorf("kube-scheduler: %w", err)
	}
	for _, p := range slices.Concat(c.Pending, c.Gated) {
		if err := s.Real.Know(p.DeepCopy()); err != nil {
			return nil, err
		}
	}
	objects := c.Objects
	objects.Release = s.Release
	snapshot, err := cluster.New(objects)
	if err != nil {
		return nil, err
	}
	plan, err := placement.NewPlacer(snapshot, s.Profile)
	return &World{snapshot, plan}, err
}

// Copy returns deep copies of the objects.
func Copy(c *gen.Cluster) cluster.Objects {
	o := c.Objects
	o.Nodes, o.Pods, o.Namespaces, o.Services = deep(o.Nodes), deep(o.Pods), deep(o.Namespaces), deep(o.Services)
	o.ReplicationControllers, o.ReplicaSets, o.StatefulSets = deep(o.ReplicationControllers), deep(o.ReplicaSets), deep(o.StatefulSets)
	o.Claims, o.PersistentVolumes, o.StorageClasses = deep(o.Claims), deep(o.PersistentVolumes), deep(o.StorageClasses)
	o.PodDisruptionBudgets, o.CSINodes = deep(o.PodDisruptionBudgets), deep(o.CSINodes)
	return o
}

func deep[T interface{ DeepCopyObject() runtime.Object }](list []T) []T {
	out := make([]T, len(list))
	for i := range list {
		out[i] = list[i].DeepCopyObject().(T)
	}
	return out
}

// Cluster compares everything about the pending pods of a cluster, one after the other: each filter on each node, each
// score, the totals, the decision and the message. A pod that both place stays where kube-scheduler puts it.
func (s *Side) Cluster(c *gen.Cluster) ([]Difference, error) {
	w, err := s.Load(c)
	if err != nil {
		return nil, err
	}
	nominated, err := s.nominate(c)
	if err != nil {
		return nil, err
	}
	for _, pod := range slices.Concat(c.Gated, c.Pending) {
		if err := s.gates(pod); err != nil {
			return nil, err
		}
	}
	for _, pod := range c.Pending {
		if err := s.Real.Update(); err != nil {
			return nil, err
		}
		if err := s.filters(w, pod); err != nil {
			return nil, err
		}
		if err := s.scores(w, pod, c.Seed); err != nil {
			return nil, err
		}
		o := placement.Options{}
		if len(nominated) > 0 {
			o.Nominated = func(i int) []*v1.Pod { return nominated[w.Snapshot.Node(i).Name] }
			for node := range nominated {
				if i := w.Snapshot.Slot(node); i >= 0 {
					o.NominatedSlots = append(o.NominatedSlots, i)
				}
			}
		}
		node, err := s.decide(w, pod, o)
		if err != nil {
			return nil, err
		}
		if node == "" {
			continue
		}
		if err := s.assume(w, pod, node); err != nil {
			return nil, err
		}
		if name := pod.Status.NominatedNodeName; name != "" {
			s.Real.Unnominate(pod)
			nominated[name] = slices.DeleteFunc(slices.Clone(nominated[name]), func(p *v1.Pod) bool { return p.UID == pod.UID })
		}
	}
	return s.differences, nil
}

func (s *Side) assume(w *World, pod *v1.Pod, node string) error {
	if err := s.Real.Assume(pod, node); err != nil {
		return err
	}
	bound := pod.DeepCopy()
	bound.Spec.NodeName = node
	return w.Snapshot.Assume(bound, w.Snapshot.Slot(node))
}

// nominate gives kube-scheduler's nominator the nominated pods and returns the pods by node.
func (s *Side) nominate(c *gen.Cluster) (map[string][]*v1.Pod, error) {
	out := map[string][]*v1.Pod{}
	for _, p := range c.Pending {
		if name := p.Status.NominatedNodeName; name != "" {
			if err := s.Real.Nominate(p.DeepCopy()); err != nil {
				return nil, err
			}
			out[name] = append(out[name], p)
		}
	}
	return out, nil
}

// filters asks each filter of the profile about each node.
func (s *Side) filters(w *World, pod *v1.Pod) error {
	nodes, err := s.Real.NodeInfos()
	if err != nil {
		return err
	}
	s.order(w, nodes)
	for _, plugin := range s.Profile.Filters {
		if err := s.filter(w, pod, plugin, nodes); err != nil {
			return err
		}
	}
	// Only what-ifs ask about a pod with a node name. The test asks the plugin anyway.
	named := pod.DeepCopy()
	named.Spec.NodeName = "node1"
	if plugin := s.Profile.Filter("NodeName"); plugin != nil {
		return s.filter(w, named, plugin, nodes)
	}
	return nil
}

// filter asks one plugin about each node.
func (s *Side) filter(w *World, pod *v1.Pod, plugin *placement.Plugin, nodes []fwk.NodeInfo) error {
	name := plugin.Name
	area := "filter/" + name
	theirs, err := s.Real.Filter(name, pod)
	if err != nil {
		return err
	}
	ours := plugin.Filter(pod, w.Snapshot)
	s.Seen.Produced(area, "PreFilter "+theirs.Pre.Code().String())
	what := fmt.Sprintf("pod %s/%s", pod.Namespace, pod.Name)
	if !same(s, area, what+" PreFilter code", theirs.Pre.Code().String(), ours.Code.String()) {
		return nil
	}
	for _, r := range reasonsOf(theirs.Pre) {
		s.Seen.Produced("reason", normalText(r))
	}
	if !theirs.Pre.IsSuccess() {
		same(s, area, what+" PreFilter reasons", strings.Join(reasonsOf(theirs.Pre), "|"), strings.Join(ours.Reasons, "|"))
		return nil
	}
	same(s, area, what+" PreFilter nodes", setText(theirs.Nodes != nil, slices.Collect(maps.Keys(theirs.Nodes))), setText(ours.Nodes != nil, ours.Nodes))
	for k, n := range nodes {
		slot := w.Snapshot.Slot(n.Node().Name)
		var code filter.Code
		var reasons []string
		if ours.Predicate != nil {
			ps := filter.Predicates{ours.Predicate}
			if r := ps.First(slot); r.Verdict != 0 {
				code, reasons = ps.Code(r), ps.Reasons(r, slot)
			}
		}
		status := theirs.Status[k]
		s.Seen.Produced(area, status.Code().String())
		for _, r := range reasonsOf(status) {
			s.Seen.Produced("reason", normalText(r))
		}
		same(s, area, fmt.Sprintf("%s node %s code", what, n.Node().Name), status.Code().String(), code.String())
		same(s, area, fmt.Sprintf("%s node %s reasons", what, n.Node().Name), sorted(reasonsOf(status)), sorted(reasons))
	}
	return nil
}

// order compares the scan orders.
func (s *Side) order(w *World, nodes []fwk.NodeInfo) {
	var theirs, ours []string
	for _, n := range nodes {
		theirs = append(theirs, n.Node().Name)
	}
	for _, i := range w.Snapshot.Order() {
		ours = append(ours, w.Snapshot.Node(int(i)).Name)
	}
	same(s, "order", "nodes", strings.Join(theirs, " "), strings.Join(ours, " "))
}

func setText(there bool, names []string) string {
	if !there {
		return "all"
	}
	return sorted(names)
}

// sorted joins a list whose order may be random on one side (reasons of several scalar resources).
func sorted(list []string) string {
	list = slices.Clone(list)
	slices.Sort(list)
	return strings.Join(list, "|")
}

// reasonsOf are the reasons of a status; nil is a success.
func reasonsOf(status *fwk.Status) []string {
	if status == nil {
		return nil
	}
	return status.Reasons()
}

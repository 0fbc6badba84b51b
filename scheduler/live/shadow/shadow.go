// Package shadow (experimental) decides every pod that another scheduler places, binds nothing, and reports each pod for which it would have decided
// otherwise, and why.
//
//	s, err := shadow.New(configuration, compiler, nil, func(r shadow.Report) { fmt.Println(r.Pending) }, failed)
//	f, err := feed.New(client, feed.Options{})
//	err = f.Connect(s)             // a Shadow is a feed.Sink
//
// A pod is judged when the feed reports its binding, in the cluster as the feed knew it just before. Another scheduler decides
// on the cluster as it was a moment earlier, with pods that it had assumed and not yet bound. Therefore some differences of a busy
// cluster are differences of what was known; [Report.Pending] counts the pods that could have been assumed then.
//
// A pod is judged by the profile of its schedulerName, and by the first profile if no profile has that name. The report of a
// difference asks every plugin about every node: O(nodes x plugins).
package shadow

import (
	"fmt"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/scheduler/config"
)

// Verdict says how two decisions about a pod compare.
type Verdict string

// The verdicts.
const (
	Same          Verdict = "same"          // the same node
	Tie           Verdict = "tie"           // another node with the same total
	Score         Verdict = "score"         // the other scheduler's node can take the pod, and has a lower total
	Sampled       Verdict = "sampled"       // as Score, and v1.37 does not look at all nodes of a cluster of this size
	Rejected      Verdict = "rejected"      // a filter rejects the other scheduler's node
	Unschedulable Verdict = "unschedulable" // filters reject all nodes
	Unknown       Verdict = "unknown"       // the other scheduler's node is not known
	Failed        Verdict = "error"         // there is no decision
)

// Report is the verdict about one pod.
type Report struct {
	Pod       string  `json:"pod"`
	UID       string  `json:"uid"`
	Scheduler string  `json:"scheduler"`
	Verdict   Verdict `json:"verdict"`
	// Node is the node to which the other scheduler has bound the pod. Would is the node that podberth chooses.
	Node  string `json:"node"`
	Would string `json:"would,omitempty"`
	// Message is kube-scheduler's text, when no node can take the pod.
	Message string `json:"message,omitempty"`
	// Rejections are the filters that reject Node.
	Rejections []placement.Rejection `json:"rejections,omitempty"`
	// Scores are the plugins that score both nodes differently.
	Scores []ScoreDifference `json:"scores,omitempty"`
	// Pending is the number of pods that were waiting for a node when the pod was judged.
	Pending int `json:"pending"`
}

// ScoreDifference is the weighted score of one plugin on both nodes.
type ScoreDifference struct {
	Plugin string `json:"plugin"`
	Node   int64  `json:"node"`
	Would  int64  `json:"would"`
}

// Shadow judges pods. It is a feed.Sink.
type Shadow struct {
	report func(Report)

	mu       sync.Mutex
	snapshot *cluster.Snapshot
	placers  map[string]*placement.Placer
	first    string
	pending  map[types.UID]*v1.Pod
	groups   *podgroup.Gates // nil: pods of groups are pods like others
	failed   func(error)
}

// New returns a shadow of an empty cluster. selectors compiles the selectors of devices; nil fails pods whose claims have any.
// With groups, the gates of the other scheduler, a pod of a group is judged as one of the members that its group has waiting; nil judges it
// alone. report is called for each judged pod, one after the other; failed for objects that the snapshot refuses.
func New(c *config.Configuration, selectors devices.SelectorCompiler, groups *podgroup.Gates, report func(Report), failed func(error)) (*Shadow, error) {
	snapshot, err := cluster.New(cluster.Objects{})
	if err != nil {
		return nil, err
	}
	s := &Shadow{groups: groups, report: report, failed: failed, snapshot: snapshot, placers: map[string]*placement.Placer{}, first: c.Profiles[0].SchedulerName, pending: map[types.UID]*v1.Pod{}}
	for _, p := range c.Profiles {
		profile, err := config.WithSelectors(p.Placement, selectors)
		if err != nil {
			return nil, err
		}
		if s.placers[p.SchedulerName], err = placement.NewPlacer(snapshot, profile); err != nil {
			return nil, fmt.Errorf("profile %s: %w", p.SchedulerName, err)
		}
	}
	return s, nil
}

// change runs a change of the snapshot.
func (s *Shadow) change(do func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := do(); err != nil {
		s.failed(err)
	}
}

// Set takes a new or changed object.
func (s *Shadow) Set(_, obj metav1.Object) { s.change(func() error { return s.snapshot.Set(obj) }) }

// Remove takes a deleted object.
func (s *Shadow) Remove(obj metav1.Object) { s.change(func() error { return s.snapshot.Remove(obj) }) }

// View calls a function between two changes of the cluster. The function must not keep or change the cluster; it may keep a fork.
func (s *Shadow) View(look func(c *cluster.Snapshot)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	look(s.snapshot)
}

// AddNode takes a new node.
func (s *Shadow) AddNode(node *v1.Node) { s.Set(nil, node) }

// UpdateNode takes a changed node.
func (s *Shadow) UpdateNode(_, node *v1.Node) { s.Set(nil, node) }

// DeleteNode takes a deleted node.
func (s *Shadow) DeleteNode(node *v1.Node) { s.Remove(node) }

// AddPod takes a new pod. A pod that has a node already is not judged.
func (s *Shadow) AddPod(pod *v1.Pod) {
	s.change(func() error {
		if pod.Spec.NodeName == "" {
			s.pending[pod.UID] = pod
			return nil
		}
		return s.snapshot.Set(pod)
	})
}

// UpdatePod takes a changed pod, and judges it if it got its node.
func (s *Shadow) UpdatePod(old, pod *v1.Pod) {
	s.change(func() error {
		if pod.Spec.NodeName == "" {
			s.pending[pod.UID] = pod
			return nil
		}
		delete(s.pending, pod.UID)
		if old.Spec.NodeName == "" {
			s.report(s.judge(old, pod.Spec.NodeName))
		}
		return s.snapshot.Set(pod)
	})
}

// DeletePod takes a deleted pod.
func (s *Shadow) DeletePod(pod *v1.Pod) {
	s.change(func() error {
		delete(s.pending, pod.UID)
		if pod.Spec.NodeName == "" {
			return nil
		}
		return s.snapshot.Remove(pod)
	})
}

// nominated returns a function that returns the waiting pods that are nominated to the node of a slot; nil if there are none.
func (s *Shadow) nominated() func(i int) []*v1.Pod {
	pods := map[string][]*v1.Pod{} // by node
	for _, p := range s.pending {
		if node := p.Status.NominatedNodeName; node != "" {
			pods[node] = append(pods[node], p)
		}
	}
	if len(pods) == 0 {
		return nil
	}
	return func(i int) []*v1.Pod { return pods[s.snapshot.Node(i).Name] }
}

// judge decides a pod that another scheduler has bound to a node.
func (s *Shadow) judge(pod *v1.Pod, node string) Report {
	r := Report{Pod: pod.Namespace + "/" + pod.Name, UID: string(pod.UID), Scheduler: pod.Spec.SchedulerName, Node: node, Pending: len(s.pending)}
	placer := s.placers[pod.Spec.SchedulerName]
	if placer == nil {
		placer = s.placers[s.first]
	}
	if _, ok := podgroup.Of(pod); ok && s.groups != nil {
		s.judgeMember(placer, pod, &r)
		return r
	}
	d := placer.Decide(pod, placement.Options{Nominated: s.nominated()})
	if r.Would = d.Node; d.Node == node {
		r.Verdict = Same
	} else if d.Failure != nil && d.Failure.Err != nil {
		r.Verdict, r.Message = Failed, d.Failure.Err.Error()
	} else {
		s.differ(placer, pod, &r, d)
	}
	return r
}

// differ says how a decision differs from the other scheduler's.
func (s *Shadow) differ(placer *placement.Placer, pod *v1.Pod, r *Report, d placement.Decision) {
	if _, ok := placer.Slot(r.Node); !ok {
		r.Verdict = Unknown
		return
	}
	table, err := placer.Table(pod)
	if err != nil {
		r.Verdict, r.Message = Failed, err.Error()
		return
	}
	s.compare(r, d, table)
}

// compare fills in why the two decisions differ.
func (s *Shadow) compare(r *Report, d placement.Decision, table []placement.NodeReport) {
	of := func(name string) placement.NodeReport {
		return table[slices.IndexFunc(table, func(x placement.NodeReport) bool { return x.Node == name })]
	}
	theirs := of(r.Node)
	switch {
	case !d.Placed():
		r.Verdict, r.Rejections = Unschedulable, theirs.Rejections
		if d.Failure != nil { // a member may have none of its own
			r.Message = d.Failure.Text()
		}
		return
	case !theirs.Feasible():
		r.Verdict, r.Rejections = Rejected, theirs.Rejections
		return
	}
	ours := of(r.Would)
	switch {
	case theirs.Total == ours.Total:
		r.Verdict = Tie
		return
	case d.Evaluated < d.Nodes:
		r.Verdict = Sampled
	default:
		r.Verdict = Score
	}
	for k, a := range theirs.Scores {
		if b := ours.Scores[k]; a.Weighted != b.Weighted {
			r.Scores = append(r.Scores, ScoreDifference{a.Plugin, a.Weighted, b.Weighted})
		}
	}
}

package compare

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"

	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/conformance/real"
	"github.com/podberth/podberth/conformance/registration"
	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release"
)

// hint returns podberth's hint of a plugin, with the arguments of the side's profile.
type hint func(s *Side, w *World, pod *v1.Pod, old, new any) (bool, error)

func plain(f queue.Hint) hint {
	return func(_ *Side, _ *World, pod *v1.Pod, old, new any) (bool, error) { return f(pod, old, new) }
}

// queueHint returns the hint that package queue itself has for a plugin.
func queueHint(plugin string) queue.Hint {
	for _, r := range queue.DefaultEvents(nil, trial.Linked) {
		if r.Plugin == plugin && r.Hint != nil {
			return r.Hint
		}
	}
	panic("package queue has no hint of " + plugin)
}

// ofPlugin returns podberth's hint of a filter, with the arguments of the side's profile, or those of the default profile where the profile
// leaves the filter out.
func ofPlugin(name string) hint {
	return func(s *Side, w *World, pod *v1.Pod, old, new any) (bool, error) {
		p := s.Profile.Filter(name)
		if p == nil {
			p = linked.Filter(name)
		}
		return p.Hint(w.Snapshot)(pod, old, new)
	}
}

// hints are podberth's queueing hints by plugin.
var hints = map[string]hint{
	"DefaultPreemption":    plain(queueHint("DefaultPreemption")),
	"InterPodAffinity":     ofPlugin("InterPodAffinity"),
	"NodeAffinity":         ofPlugin("NodeAffinity"),
	"NodeDeclaredFeatures": ofPlugin("NodeDeclaredFeatures"),
	"NodeName":             ofPlugin("NodeName"),
	"NodePorts":            ofPlugin("NodePorts"),
	"NodeResourcesFit":     ofPlugin("NodeResourcesFit"),
	"NodeUnschedulable":    ofPlugin("NodeUnschedulable"),
	"NodeVolumeLimits":     ofPlugin("NodeVolumeLimits"),
	"PodTopologySpread":    ofPlugin("PodTopologySpread"),
	"SchedulingGates":      plain(queueHint("SchedulingGates")),
	"TaintToleration":      ofPlugin("TaintToleration"),
	"VolumeBinding":        ofPlugin("VolumeBinding"),
	"VolumeRestrictions":   ofPlugin("VolumeRestrictions"),
	"VolumeZone":           ofPlugin("VolumeZone"),
}

// notCompared are the plugins whose hints are not compared here, and why.
var notCompared = map[string]string{
	"DynamicResources": "the generated clusters have no resource claims; devices.TestClaimHint holds the rule",
	"GangScheduling":   "alpha, off in the default profile: podberth has its registrations without hints",
	// of v1.37
	"DeferredPodScheduling": "alpha, off in the default profile",
}

// oneAnswer returns the answer of a plugin whose hint has only one.
func oneAnswer(plugin string) (fwk.QueueingHint, bool) {
	switch {
	case plugin == "NodeName", plugin == "SchedulingGates" && trial.Linked.AtLeast(release.V1_37): // rule L7.17
		return fwk.Queue, true
	case plugin == "DefaultPreemption":
		return fwk.QueueSkip, true
	}
	return 0, false
}

var linked = placement.PluginArgs{Release: trial.Linked}.Profile()

// incoming returns what kube-scheduler calls a change.
func incoming(e gen.Event) []fwk.ClusterEvent {
	action := func(all fwk.ActionType) fwk.ActionType {
		switch {
		case e.Old == nil:
			return fwk.Add
		case e.New == nil:
			return fwk.Delete
		}
		return all
	}
	object := e.New
	if object == nil {
		object = e.Old
	}
	switch x := object.(type) {
	case *v1.Node:
		if e.Old != nil && e.New != nil {
			return framework.NodeSchedulingPropertiesChange(e.New.(*v1.Node), e.Old.(*v1.Node))
		}
		return []fwk.ClusterEvent{{Resource: fwk.Node, ActionType: action(fwk.Update)}}
	case *v1.Pod:
		switch {
		case e.Old != nil && e.New != nil:
			return real.PodChanges(e.Old.(*v1.Pod), e.New.(*v1.Pod))
		case e.Old == nil:
			return []fwk.ClusterEvent{framework.EventAssignedPodAdd}
		case x.Spec.NodeName == "":
			return []fwk.ClusterEvent{framework.EventUnscheduledPodDelete}
		}
		return []fwk.ClusterEvent{framework.EventAssignedPodDelete}
	case *v1.PersistentVolumeClaim:
		return []fwk.ClusterEvent{{Resource: fwk.PersistentVolumeClaim, ActionType: action(fwk.Update)}}
	case *v1.PersistentVolume:
		return []fwk.ClusterEvent{{Resource: fwk.PersistentVolume, ActionType: action(fwk.Update)}}
	case *storagev1.StorageClass:
		return []fwk.ClusterEvent{{Resource: fwk.StorageClass, ActionType: action(fwk.Update)}}
	case *storagev1.CSINode:
		return []fwk.ClusterEvent{{Resource: fwk.CSINode, ActionType: action(fwk.Update)}}
	case *storagev1.CSIDriver:
		return []fwk.ClusterEvent{{Resource: fwk.CSIDriver, ActionType: action(fwk.Update)}}
	case *storagev1.CSIStorageCapacity:
		return []fwk.ClusterEvent{{Resource: fwk.CSIStorageCapacity, ActionType: action(fwk.Update)}}
	case *resourcev1.DeviceClass:
		return []fwk.ClusterEvent{{Resource: fwk.DeviceClass, ActionType: action(fwk.Update)}}
	case *storagev1.VolumeAttachment:
		return []fwk.ClusterEvent{{Resource: fwk.VolumeAttachment, ActionType: action(fwk.Update)}}
	}
	return nil
}

// Hints compares every queueing hint of every plugin for each pending pod and each change of the cluster's objects. An
// event without a hint of the plugin counts as Queue.
func (s *Side) Hints(c *gen.Cluster) ([]Difference, error) {
	w, err := s.Load(c)
	if err != nil {
		return nil, err
	}
	for name, ours := range hints {
		registered, err := s.Real.(*real.Scheduler).Hints(name)
		if err != nil {
			return nil, err
		}
		for k, pod := range c.Pending {
			for _, e := range gen.Events(c, pod, c.Seed+int64(k)) {
				for _, r := range registered {
					in := incoming(e)
					i := slices.IndexFunc(in, func(in fwk.ClusterEvent) bool { return framework.MatchClusterEvents(r.Event, in) })
					if i >= 0 {
						s.hint(w, name, ours, r, in[i], pod, e)
					}
				}
			}
		}
	}
	return s.differences, nil
}

// hint compares the answer of the plugin's registration to one change.
func (s *Side) hint(w *World, name string, ours hint, r fwk.ClusterEventWithHint, in fwk.ClusterEvent, pod *v1.Pod, e gen.Event) {
	area := "hint/" + name
	theirs, theirErr := fwk.Queue, error(nil)
	if r.QueueingHintFn != nil {
		theirs, theirErr = r.QueueingHintFn(klog.Background(), pod, e.Old, e.New)
	}
	helps := registration.Hint(trial.Linked, name, string(r.Event.Resource), func(pod *v1.Pod, old, new any) (bool, error) { return ours(s, w, pod, old, new) })
	queues, err := helps(pod, e.Old, e.New)
	what := fmt.Sprintf("pod %s/%s, %s %s -> %s", pod.Namespace, pod.Name, in.Label(), describe(e.Old), describe(e.New))
	if !same(s, area, what+" error", errText(theirErr), errText(err)) {
		return
	}
	if theirErr == nil && !same(s, area, what, theirs == fwk.Queue, queues) {
		return
	}
	answer := theirs.String()
	if theirErr != nil {
		answer = "error"
	}
	s.Seen.Produced(area, in.Label()+" "+answer)
}

// FewHints names the plugins with queueing hints that t has not seen often enough: less than triples of pod, old and new
// object, or less than answers of Queue or of Skip; and the plugins that have hints in kube-scheduler and none here.
func (s *Side) FewHints(t *Tally, triples, answers int64) (out []string, err error) {
	for name := range plugins.NewInTreeRegistry() {
		registered, err := s.Real.(*real.Scheduler).Hints(name)
		if err != nil || notCompared[name] != "" {
			continue // TestRegistrations of conformance/queue knows which plugins register nothing
		}
		if _, ok := hints[name]; !ok && len(registered) > 0 {
			out = append(out, name+": podberth has no hint to compare")
			continue
		}
		all, queue, skip := t.hints(name)
		if all < triples {
			out = append(out, fmt.Sprintf("%s: compared %d times, want %d", name, all, triples))
		}
		if only, ok := oneAnswer(name); queue < answers && (!ok || only == fwk.Queue) {
			out = append(out, fmt.Sprintf("%s: %d times Queue, want %d", name, queue, answers))
		} else if skip < answers && (!ok || only == fwk.QueueSkip) {
			out = append(out, fmt.Sprintf("%s: %d times Skip, want %d", name, skip, answers))
		}
	}
	slices.Sort(out)
	return out, nil
}

// hints returns how often a plugin's hint was compared, and how often it said Queue and Skip.
func (t *Tally) hints(plugin string) (all, queue, skip int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for value, n := range t.produced["hint/"+plugin] {
		all += n
		switch {
		case strings.HasSuffix(value, " "+fwk.Queue.String()):
			queue += n
		case strings.HasSuffix(value, " "+fwk.QueueSkip.String()):
			skip += n
		}
	}
	return all, queue, skip
}

// HintErrors returns how often a plugin's hint failed.
func (t *Tally) HintErrors(plugin string) int64 {
	all, queue, skip := t.hints(plugin)
	return all - queue - skip
}

func describe(o any) string {
	if m, ok := o.(interface {
		GetNamespace() string
		GetName() string
	}); ok && o != nil {
		return m.GetNamespace() + "/" + m.GetName()
	}
	return "nothing"
}

package compare

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/filter/volume"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/spread"
	"github.com/podberth/podberth/taints"
)

type hint func(w *World, pod *v1.Pod, old, new any) (bool, error)

func plain(f func(pod *v1.Pod, old, new any) (bool, error)) hint {
	return func(_ *World, pod *v1.Pod, old, new any) (bool, error) { return f(pod, old, new) }
}

// hints are podberth's queueing hints by plugin.
var hints = map[string]hint{
	"NodeUnschedulable":  plain(taints.Options{}.CordonWouldHelp),
	"TaintToleration":    plain(taints.Options{}.WouldHelp),
	"NodeName":           plain(filter.NodeNameWouldHelp),
	"NodePorts":          plain(filter.PortsWouldHelp),
	"SchedulingGates":    plain(filter.GatesWouldHelp),
	"VolumeRestrictions": plain(volume.RestrictionsWouldHelp),
	"NodeVolumeLimits":   plain(volume.LimitsWouldHelp),
	"VolumeBinding":      plain(volume.BindingWouldHelp),
	"VolumeZone":         plain(volume.ZoneWouldHelp),
	"NodeResourcesFit": plain(func(p *v1.Pod, old, new any) (bool, error) {
		return filter.FitWouldHelp(p, old, new, filter.FitOptions{})
	}),
	"NodeDeclaredFeatures": plain(func(p *v1.Pod, old, new any) (bool, error) {
		return filter.FeaturesWouldHelp(p, old, new, filter.FeaturesOptions{})
	}),
	"PodTopologySpread": func(w *World, pod *v1.Pod, old, new any) (bool, error) {
		return spread.WouldHelp(pod, old, new, spread.Options{Owners: placement.OwnersOf(w.Snapshot)})
	},
	"NodeAffinity": func(_ *World, pod *v1.Pod, old, new any) (bool, error) {
		e, _ := affinity.CompileNode(pod, affinity.NodeOptions{})
		before, _ := old.(*v1.Node)
		after, _ := new.(*v1.Node)
		return e.WouldHelp(before, after)
	},
	"InterPodAffinity": func(w *World, pod *v1.Pod, old, new any) (bool, error) {
		e, err := affinity.CompilePods(pod, affinity.PodOptions{})
		if err != nil {
			return false, err
		}
		if isNode(old, new) {
			before, _ := old.(*v1.Node)
			after, _ := new.(*v1.Node)
			return e.WouldHelpNode(before, after)
		}
		before, _ := old.(*v1.Pod)
		after, _ := new.(*v1.Pod)
		return e.WouldHelpPod(w.Snapshot, before, after)
	},
}

func isNode(old, new any) bool {
	_, a := old.(*v1.Node)
	_, b := new.(*v1.Node)
	return a || b
}

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
			return framework.PodSchedulingPropertiesChange(e.New.(*v1.Pod), e.Old.(*v1.Pod))
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
	case *storagev1.VolumeAttachment:
		return []fwk.ClusterEvent{{Resource: fwk.VolumeAttachment, ActionType: action(fwk.Update)}}
	}
	return nil
}

// Hints compares every queueing hint of every plugin for each pending pod and each change of the cluster's objects.
func (s *Side) Hints(c *gen.Cluster) ([]Difference, error) {
	w, err := s.Load(c)
	if err != nil {
		return nil, err
	}
	for name, ours := range hints {
		registered, err := s.Real.Hints(name)
		if err != nil {
			return nil, err
		}
		area := "hint/" + name
		for k, pod := range c.Pending {
			for _, e := range gen.Events(c, pod, c.Seed+int64(k)) {
				for _, in := range incoming(e) {
					for _, r := range registered {
						if r.QueueingHintFn == nil || !framework.MatchClusterEvents(r.Event, in) {
							continue
						}
						theirs, theirErr := r.QueueingHintFn(klog.Background(), pod, e.Old, e.New)
						queue, err := ours(w, pod, e.Old, e.New)
						what := fmt.Sprintf("pod %s/%s, %s %s -> %s", pod.Namespace, pod.Name, in.Label(), describe(e.Old), describe(e.New))
						same(s, area, what+" error", theirErr != nil, err != nil)
						if theirErr == nil && err == nil {
							same(s, area, what, theirs == fwk.Queue, queue)
							s.Seen.Produced(area, in.Label()+" "+theirs.String())
						}
					}
				}
			}
		}
	}
	return s.differences, nil
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

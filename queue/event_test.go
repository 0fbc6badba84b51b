package queue

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

func TestActionBits(t *testing.T) {
	require.Equal(t, []Action{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8188, 8191}, []Action{Add, Delete, UpdateNodeAllocatable,
		UpdateNodeLabel, UpdateNodeTaint, UpdateNodeCondition, UpdateNodeAnnotation, UpdateNodeDeclaredFeature, UpdatePodLabel, UpdatePodScaleDown,
		UpdatePodToleration, UpdatePodSchedulingGatesEliminated, UpdatePodGeneratedResourceClaim, Update, All})
}

func TestEventString(t *testing.T) {
	for want, e := range map[string]Event{
		"NodeAdd": nodeAdd, "NodeUpdateNodeLabel": {"Node", UpdateNodeLabel, ""}, "AssignedPodDelete": assignedPodDelete,
		"storage.k8s.io/CSINodeUpdate": {"storage.k8s.io/CSINode", Update, ""}, "UnschedulableTimeout": unschedulableTimeout, "ForceActivate": forceActivate,
		"NodeAdd|UpdateNodeTaint": {"Node", Add | UpdateNodeTaint, ""}, "PodAll": {"Pod", All, ""}, "NodeNone": {"Node", 0, ""},
		"UnschedulablePodAdd": unschedulablePodAdd, "AssignedPodUpdate": assignedPodUpdate, "PersistentVolumeAdd": {"PersistentVolume", Add, ""},
	} {
		require.Equal(t, want, e.String())
	}
}

func TestMatches(t *testing.T) {
	wild := Event{"*", All, ""}
	type test struct {
		name                 string
		registered, arriving Event
		want                 bool
	}
	testkit.Run(t, []test{
		{"update hears of a label change", Event{"Node", Update, ""}, Event{"Node", UpdateNodeLabel, ""}, true},
		{"label does not hear of a general update", Event{"Node", UpdateNodeLabel, ""}, Event{"Node", Update, ""}, false},
		{"one of two", Event{"Node", Add | UpdateNodeLabel, ""}, Event{"Node", UpdateNodeLabel, ""}, true},
		{"one of two arriving", Event{"Node", UpdateNodeTaint, ""}, Event{"Node", UpdateNodeLabel | UpdateNodeTaint, ""}, false},
		{"numbers and not subsets", Event{"Node", Add | UpdateNodeTaint, ""}, Event{"Node", Add | UpdateNodeLabel, ""}, true},
		{"every resource", Event{"*", Add, ""}, nodeAdd, true},
		{"everything, and an event of no action", Event{"*", All, ""}, Event{Resource: "Node"}, true},
		{"all of nodes and a wildcard", Event{"Node", All, ""}, wild, false},
		{"wildcard and wildcard", wild, unschedulableTimeout, true},
		{"additions of everything and a wildcard", Event{"*", Add, ""}, wild, false},
		{"wildcard hears everything", wild, nodeAdd, true},
		{"empty mask registered", Event{"Node", 0, ""}, nodeAdd, false},
		{"empty mask arriving", Event{"Node", All, ""}, Event{"Node", 0, ""}, false},
		{"pod and assigned pod", Event{"Pod", Delete, ""}, assignedPodDelete, true},
		{"pod and unscheduled pod", Event{"Pod", Update, ""}, unschedulablePodUpdate, true},
		{"assigned pod is not unscheduled pod", Event{"AssignedPod", All, ""}, unschedulablePodUpdate, false},
		{"another resource", Event{"storage.k8s.io/CSINode", All, ""}, nodeAdd, false},
		{"labels play no part", Event{"Node", Add, "x"}, Event{"Node", Add, "y"}, true},
	}, func(t *testing.T, c test) { require.Equal(t, c.want, c.registered.matches(c.arriving)) })
	t.Run("numbers say the same as subsets for single bits and the full update", func(t *testing.T) {
		for _, r := range DefaultEvents(nil, release.Current) {
			for bit := Add; bit <= UpdatePodGeneratedResourceClaim; bit <<= 1 {
				for _, a := range []Action{bit, Update} {
					subset := a&^r.Event.Action == 0
					require.Equal(t, subset, r.Event.matches(Event{r.Event.Resource, a, ""}), "%v %v", r, a)
				}
			}
		}
	})
}

func TestPodUpdateEvents(t *testing.T) {
	base := testkit.Pod("a").Labels("a=b").Request("cpu=2,memory=2Gi").Obj()
	base.Spec.Tolerations = []v1.Toleration{{Key: "k", Operator: v1.TolerationOpExists}}
	gated := base.DeepCopy()
	gated.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "g"}, {Name: "h"}}
	request := func(list string) func(p *v1.Pod) {
		return func(p *v1.Pod) { p.Spec.Containers[0].Resources.Requests = testkit.Resources(list) }
	}
	type test struct {
		name   string
		old    *v1.Pod
		change func(p *v1.Pod)
		want   []Action
	}
	testkit.Run(t, []test{
		{"nothing", base, func(*v1.Pod) {}, []Action{Update}},
		{"annotation", base, func(p *v1.Pod) { p.Annotations = map[string]string{"a": "b"} }, []Action{Update}},
		{"status", base, func(p *v1.Pod) { p.Status.Phase = v1.PodRunning }, []Action{Update}},
		{"label", base, func(p *v1.Pod) { p.Labels = map[string]string{"a": "c"} }, []Action{UpdatePodLabel}},
		{"no labels twice", testkit.Pod("a").Obj(), func(p *v1.Pod) { p.Labels = nil }, []Action{Update}},
		{"less memory", base, request("cpu=2,memory=1Gi"), []Action{UpdatePodScaleDown}},
		{"more cpu and less memory", base, request("cpu=3,memory=1Gi"), []Action{UpdatePodScaleDown}},
		{"a resource gone", base, request("cpu=2"), []Action{UpdatePodScaleDown}},
		{"scaled up", base, request("cpu=3,memory=2Gi"), []Action{Update}},
		{"less by a milli", base, request("cpu=1999m,memory=2Gi"), []Action{UpdatePodScaleDown}},
		{"less by under a milli", base, request("cpu=1999999u,memory=2Gi"), []Action{Update}},
		{"last gate", gated, func(p *v1.Pod) { p.Spec.SchedulingGates = nil }, []Action{UpdatePodSchedulingGatesEliminated}},
		{"one gate of two", gated, func(p *v1.Pod) { p.Spec.SchedulingGates = p.Spec.SchedulingGates[1:] }, []Action{Update}},
		{"one more toleration", base, func(p *v1.Pod) { p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{}) }, []Action{UpdatePodToleration}},
		{"another toleration", base, func(p *v1.Pod) { p.Spec.Tolerations[0].Key = "other" }, []Action{Update}},
		{"claim for extended resources", base, func(p *v1.Pod) {
			p.Status.ExtendedResourceClaimStatus = &v1.PodExtendedResourceClaimStatus{ResourceClaimName: "x"}
		}, []Action{UpdatePodGeneratedResourceClaim}},
		{"claim generated", base, func(p *v1.Pod) {
			p.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "c", ResourceClaimName: ptr("x")}}
		}, []Action{UpdatePodGeneratedResourceClaim}},
		{"several in order", gated, func(p *v1.Pod) {
			p.Spec.SchedulingGates, p.Labels, p.Spec.Tolerations = nil, nil, nil
			request("cpu=1")(p)
		}, []Action{UpdatePodLabel, UpdatePodScaleDown, UpdatePodSchedulingGatesEliminated, UpdatePodToleration}},
	}, func(t *testing.T, c test) {
		newer := c.old.DeepCopy()
		c.change(newer)
		var got []Action
		for _, e := range PodUpdateEvents(c.old, newer, release.V1_36) {
			require.Equal(t, unschedulablePod, e.Resource)
			got = append(got, e.Action)
		}
		require.Equal(t, c.want, got)
	})
	assigned := base.DeepCopy()
	assigned.Spec.NodeName = "n"
	require.Equal(t, []Event{assignedPodUpdate}, PodUpdateEvents(base, assigned, release.Current))
	require.Empty(t, PodUpdateEvents(nil, base, release.Current))
}

func TestNodeUpdateEvents(t *testing.T) {
	base := testkit.Node("n").Label("a", "b").Taint("k=v:NoSchedule").Capacity("cpu=1").Obj()
	base.Status.Capacity = testkit.Resources("cpu=2") // the kubelet keeps one
	base.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
	cordoned := base.DeepCopy()
	cordoned.Spec.Unschedulable = true
	type test struct {
		name   string
		old    *v1.Node
		change func(n *v1.Node)
		want   []Action
	}
	testkit.Run(t, []test{
		{"nothing", base, func(*v1.Node) {}, nil},
		{"heartbeat", base, func(n *v1.Node) {
			n.Status.Conditions[0].LastHeartbeatTime, n.Status.Conditions[0].Reason = metav1.Now(), "other"
		}, nil},
		{"cordoned", base, func(n *v1.Node) { n.Spec.Unschedulable = true }, nil},
		{"uncordoned", cordoned, func(n *v1.Node) { n.Spec.Unschedulable = false }, []Action{UpdateNodeTaint}},
		{"uncordoned with a taint", cordoned, func(n *v1.Node) { n.Spec.Unschedulable, n.Spec.Taints = false, nil }, []Action{UpdateNodeTaint, UpdateNodeTaint}},
		{"same quantity", base, func(n *v1.Node) { n.Status.Allocatable["cpu"] = resource.MustParse("1000m") }, nil},
		{"smaller", base, func(n *v1.Node) { n.Status.Allocatable["cpu"] = resource.MustParse("1m") }, []Action{UpdateNodeAllocatable}},
		{"label", base, func(n *v1.Node) { n.Labels["a"] = "c" }, []Action{UpdateNodeLabel}},
		{"taint", base, func(n *v1.Node) { n.Spec.Taints[0].Value = "w" }, []Action{UpdateNodeTaint}},
		{"taint of another time", base, func(n *v1.Node) { n.Spec.Taints[0].TimeAdded = &metav1.Time{Time: time.Unix(1, 0)} }, []Action{UpdateNodeTaint}},
		{"condition", base, func(n *v1.Node) { n.Status.Conditions[0].Status = v1.ConditionFalse }, []Action{UpdateNodeCondition}},
		{"annotation", base, func(n *v1.Node) { n.Annotations = map[string]string{"a": "b"} }, []Action{UpdateNodeAnnotation}},
		{"features", base, func(n *v1.Node) { n.Status.DeclaredFeatures = []string{"F"} }, []Action{UpdateNodeDeclaredFeature}},
		{"several in order", base, func(n *v1.Node) {
			n.Labels, n.Spec.Taints, n.Status.Allocatable, n.Status.Conditions = nil, nil, nil, nil
		}, []Action{UpdateNodeAllocatable, UpdateNodeLabel, UpdateNodeTaint, UpdateNodeCondition}},
	}, func(t *testing.T, c test) {
		newer := c.old.DeepCopy()
		c.change(newer)
		var got []Action
		for _, e := range NodeUpdateEvents(c.old, newer) {
			require.Equal(t, nodeKind, e.Resource)
			got = append(got, e.Action)
		}
		require.Equal(t, c.want, got)
	})
	require.Empty(t, NodeUpdateEvents(nil, base))
}

// A caller's hint is taken for every plugin, also for those that have one of their own.
func TestDefaultEventsTakeHints(t *testing.T) {
	mine := func(*v1.Pod, any, any) (bool, error) { return false, errors.New("asked") }
	for _, plugin := range []string{pluginSchedulingGates, pluginDefaultPreemption, "NodeName"} {
		asked := 0
		for _, r := range DefaultEvents(map[string]Hint{plugin: mine}, release.Current) {
			if r.Plugin == plugin {
				_, err := r.Hint(&v1.Pod{}, nil, &v1.Pod{})
				require.ErrorContains(t, err, "asked", plugin)
				asked++
			}
		}
		require.Positive(t, asked, plugin)
	}
}

func TestDefaultEvents(t *testing.T) {
	masks := map[string]map[string]Action{}
	for _, r := range DefaultEvents(nil, release.Current) {
		if masks[r.Plugin] == nil {
			masks[r.Plugin] = map[string]Action{}
		}
		masks[r.Plugin][r.Event.Resource] |= r.Event.Action
	}
	require.Len(t, masks, 16)
	for plugin, want := range map[string]map[string]Action{
		"SchedulingGates":      {"TargetPod": 2048},
		"NodeUnschedulable":    {"Node": 17, "TargetPod": 1024},
		"NodeName":             {"Node": 1},
		"TaintToleration":      {"Node": 17, "TargetPod": 1024},
		"NodeAffinity":         {"Node": 9},
		"NodePorts":            {"AssignedPod": 2, "Node": 1},
		"NodeResourcesFit":     {"AssignedPod": 514, "TargetPod": 512, "Node": 5, "resource.k8s.io/DeviceClass": 8189},
		"VolumeRestrictions":   {"AssignedPod": 2, "PersistentVolumeClaim": 1, "Node": 1},
		"NodeVolumeLimits":     {"storage.k8s.io/CSINode": 8189, "AssignedPod": 2, "PersistentVolumeClaim": 1, "storage.k8s.io/VolumeAttachment": 2},
		"VolumeBinding":        {"Node": 9, "PersistentVolume": 8189, "PersistentVolumeClaim": 8189, "storage.k8s.io/StorageClass": 8189, "storage.k8s.io/CSINode": 8189, "storage.k8s.io/CSIDriver": 8188, "storage.k8s.io/CSIStorageCapacity": 8189},
		"VolumeZone":           {"Node": 9, "PersistentVolume": 8189, "PersistentVolumeClaim": 8189, "storage.k8s.io/StorageClass": 1},
		"PodTopologySpread":    {"AssignedPod": 259, "TargetPod": 1280, "Node": 27},
		"InterPodAffinity":     {"AssignedPod": 259, "TargetPod": 256, "Node": 9},
		"DynamicResources":     {"Node": 13, "resource.k8s.io/ResourceClaim": 8191, "TargetPod": 4096, "resource.k8s.io/DeviceClass": 8189, "resource.k8s.io/ResourceSlice": 8189},
		"NodeDeclaredFeatures": {"Node": 129, "TargetPod": 8188},
		"DefaultPreemption":    {"AssignedPod": 2},
	} {
		require.Equal(t, want, masks[plugin], plugin)
	}
	t.Run("taints are added to ten plugins up to v1.36", func(t *testing.T) {
		q, err := New(Options{Release: release.V1_36})
		require.NoError(t, err)
		var added []string
		for _, pl := range q.profiles[0].listed {
			if last := pl.rows[len(pl.rows)-1]; last.Event == (Event{"Node", UpdateNodeTaint, ""}) && last.Hint == nil {
				added = append(added, pl.name)
			}
		}
		require.Equal(t, []string{"NodeName", "NodeAffinity", "NodePorts", "NodeResourcesFit", "VolumeRestrictions", "VolumeBinding", "VolumeZone",
			"InterPodAffinity", "DynamicResources", "NodeDeclaredFeatures"}, added)
	})
	t.Run("nobody hears of conditions and annotations", func(t *testing.T) {
		q, err := New(Options{})
		require.NoError(t, err)
		require.False(t, q.interesting(Event{"Node", UpdateNodeCondition, ""}))
		require.False(t, q.interesting(Event{"Node", UpdateNodeAnnotation, ""}))
	})
	t.Run("without registration", func(t *testing.T) {
		list := UnregisteredEvents("Extender")
		require.Len(t, list, 10)
		for _, r := range list {
			require.Equal(t, All, r.Event.Action)
			require.NotContains(t, []string{"storage.k8s.io/VolumeAttachment", "resource.k8s.io/ResourceSlice"}, r.Event.Resource)
		}
	})
	t.Run("hints of this package", func(t *testing.T) {
		p := testkit.Pod("a").Obj()
		yes, err := sameUpdatedPod(p, nil, p.DeepCopy())
		require.True(t, yes)
		require.NoError(t, err)
		yes, _ = sameUpdatedPod(p, nil, testkit.Pod("b").Obj())
		require.False(t, yes)
		yes, _ = sameUpdatedPod(p, nil, testkit.Node("b").Obj())
		require.False(t, yes)
		yes, _ = neverHelps(p, nil, nil)
		require.False(t, yes)
	})
}

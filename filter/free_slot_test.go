package filter_test

import (
	"iter"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/filter/volume"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/spread"
	"github.com/podberth/podberth/taints"
)

// Every state of a filter is a Predicate. The states of filter/volume and the other states of this package have interface
// types that contain Predicate.
var (
	_ filter.Predicate = filter.FitState(nil)
	_ filter.Predicate = (*taints.State)(nil)
	_ filter.Predicate = (*affinity.NodeState)(nil)
	_ filter.Predicate = (*affinity.State)(nil)
	_ filter.Predicate = (*spread.HardState)(nil)
)

// gaps is a cluster whose slot 1 is free. The test fails when the pods of that slot are read.
type gaps struct {
	*snapshot
	t *testing.T
}

func (g gaps) Pods(i int) iter.Seq[*v1.Pod] {
	require.NotNil(g.t, g.nodes[i], "nobody asks for the pods of a free slot")
	return g.snapshot.Pods(i)
}

func (g gaps) Allocatable(i int) resources.Vector {
	if g.nodes[i] == nil {
		return nil
	}
	return g.snapshot.Allocatable(i)
}

func (g gaps) Namespaces() iter.Seq2[string, map[string]string] {
	return func(yield func(string, map[string]string) bool) { yield("default", nil) }
}

// Every state of a filter rejects a free slot, also in a trial, whether or not the pod makes use of the filter.
func TestFreeSlot(t *testing.T) {
	c := gaps{cluster(), t}
	c.nodes[1] = nil
	plain := examplePod("plain", "0", 0)
	busy := examplePod("busy", "1", 0)
	busy.Spec.Containers[0].Ports = []v1.ContainerPort{{HostPort: 80, ContainerPort: 80}}
	busy.Spec.NodeName = "n1"
	busy.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{},
	}}
	busy.Spec.NodeSelector = map[string]string{v1.LabelTopologyZone: "a"}
	busy.Labels = map[string]string{"app": "busy"}
	apart := v1.PodAffinityTerm{TopologyKey: v1.LabelTopologyZone, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "busy"}}}
	busy.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{apart}}}
	busy.Spec.Volumes = []v1.Volume{
		{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
		{Name: "disk", VolumeSource: v1.VolumeSource{GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{PDName: "disk"}}},
	}
	claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "data", Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"},
	}}
	claim.Spec.VolumeName = "disk-a"
	claim.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod}
	disk := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "disk-a", Labels: map[string]string{v1.LabelTopologyZone: "a"}}}
	objects := volume.Objects{Claims: volume.List(claim), PersistentVolumes: volume.List(disk)}
	usage := volume.NewUsage(c, objects)
	for _, p := range []*v1.Pod{plain, busy} {
		hard, err := spread.CompileHard(p, spread.Options{})
		require.NoError(t, err)
		nodes, err := affinity.CompileNode(p, affinity.NodeOptions{})
		require.NoError(t, err)
		pods, err := affinity.CompilePods(p, affinity.PodOptions{})
		require.NoError(t, err)
		volumes, tolerations := volume.Compile(p, objects, volume.Options{}), taints.Compile(p.Spec.Tolerations, taints.Options{})
		states := map[string]filter.Predicate{
			"fit":                 filter.CompileFit(p, filter.FitOptions{}).On(c),
			"ports":               filter.CompilePorts(p).On(c),
			"node name":           filter.CompileNodeName(p).On(c),
			"features":            filter.CompileFeatures(p).On(c),
			"claims":              filter.CompileClaims(p, filter.FitOptions{}).On(c),
			"volume restrictions": volumes.Restrictions().On(usage),
			"volume limits":       volumes.Limits().On(usage),
			"volume binding":      volumes.Binding().On(c),
			"volume zone":         volumes.Zone().On(c),
			"taints":              tolerations.On(c),
			"spread":              hard.Count(c),
			"cordon":              tolerations.OnCordon(c),
			"node affinity":       nodes.On(c),
			"inter-pod affinity":  pods.Count(c),
		}
		for name, s := range states {
			require.NotZero(t, s.Check(1), "%s of pod %s", name, p.Name)
			require.NotEmpty(t, s.Reasons(s.Check(1)), "%s of pod %s gives a reason", name, p.Name)
			if trial := trialOf(s); trial != nil {
				require.NotZero(t, trial.Check(1), "a trial of %s of pod %s", name, p.Name)
				trial.Add(busy, 1)
				trial.Remove(busy, 1)
				require.NotZero(t, trial.Check(1), "a trial of %s of pod %s that adds and removes a pod", name, p.Name)
			}
		}
	}
}

// trialOf returns a trial of a state, nil for a state that does not look at running pods.
func trialOf(s filter.Predicate) filter.Trial {
	switch s := s.(type) {
	case interface{ NewTrial() filter.Trial }:
		return s.NewTrial()
	case *affinity.State:
		return s.NewTrial()
	case *spread.HardState:
		return s.NewTrial()
	}
	return nil
}

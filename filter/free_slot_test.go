package filter_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/spread"
	"github.com/podberth/podberth/taints"
	"github.com/podberth/podberth/volumes"
)

// Every state of a filter is a Predicate. The states of package volumes and the other states of this package have
// interface types that contain Predicate.
var (
	_ filter.Predicate = filter.FitState(nil)
	_ filter.Predicate = taints.State(nil)
	_ filter.Predicate = affinity.NodeState(nil)
	_ filter.Predicate = affinity.State(nil)
	_ filter.Predicate = spread.HardState(nil)
	_ filter.Predicate = devices.State(nil)
	_ filter.Predicate = engine.Kept(nil)
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

// Every state of a filter rejects a free slot, also in a trial, whether or not the pod makes use of the filter. The table has
// every state of the library: the test fails when a type with the method Check is not in the table.
func TestFreeSlot(t *testing.T) {
	c := gaps{cluster(), t}
	c.nodes[1] = nil
	seen := map[string]bool{ // of other packages, which have a test
		"diagnose.elsewhere":   true, // TestElsewhere; not a filter of v1.36
		"placement.keptLimits": true, // TestKeptLimitsFreeSlot
	}
	for _, pod := range []*v1.Pod{examplePod("plain", "0", 0), busyPod()} {
		for name, s := range states(t, c, pod) {
			seen[typeName(s)] = true
			require.NotZero(t, s.Check(1), "%s of pod %s", name, pod.Name)
			require.NotEmpty(t, s.Reasons(s.Check(1)), "%s of pod %s gives a reason", name, pod.Name)
			if trial := trialOf(s); trial != nil {
				seen[typeName(trial)] = true
				require.NotZero(t, trial.Check(1), "a trial of %s of pod %s", name, pod.Name)
				trial.Add(busyPod(), 1)
				trial.Remove(busyPod(), 1)
				require.NotZero(t, trial.Check(1), "a trial of %s of pod %s that adds and removes a pod", name, pod.Name)
			}
		}
	}
	require.Equal(t, checkers(t), slices.Sorted(maps.Keys(seen)), "types with the method Check(int) resources.Verdict, and those of the table")
}

// states returns every state of a filter for one pod.
func states(t *testing.T, c gaps, pod *v1.Pod) map[string]filter.Predicate {
	hard, err := spread.CompileHard(pod, spread.Options{})
	require.NoError(t, err)
	nodes, err := affinity.CompileNode(pod, affinity.NodeOptions{})
	require.NoError(t, err)
	pods, err := affinity.CompilePods(pod, affinity.PodOptions{})
	require.NoError(t, err)
	claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "data", Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"},
	}}
	claim.Spec.VolumeName = "disk-a"
	claim.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod}
	disk := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "disk-a", Labels: map[string]string{v1.LabelTopologyZone: "a"}}}
	objects := volumes.Objects{Claims: volumes.List(claim), PersistentVolumes: volumes.List(disk)}
	usage := volumes.NewUsage(c, objects)
	volumes, tolerations := volumes.Compile(pod, objects, volumes.Options{}), taints.Compile(pod.Spec.Tolerations, taints.Options{})
	allocator := devices.NewAllocator(devices.NewLedger(devices.NewInventory(nil)), gpuClaim{}.DeviceClass, nil, devices.Options{})
	claims := devices.Compile(pod, gpuClaim{}, nil).On(c, allocator, devices.Clock{})
	list := map[string]filter.Predicate{
		"fit":                 filter.CompileFit(pod, filter.FitOptions{}).On(c),
		"ports":               filter.CompilePorts(pod).On(c),
		"node name":           filter.CompileNodeName(pod).On(c),
		"features":            filter.CompileFeatures(pod).On(c),
		"volume restrictions": volumes.Restrictions().On(usage),
		"volume limits":       volumes.Limits().On(usage),
		"volume binding":      volumes.Binding().On(c),
		"volume zone":         volumes.Zone().On(c),
		"taints":              tolerations.On(c),
		"cordon":              tolerations.OnCordon(c),
		"spread":              hard.Count(c),
		"node affinity":       nodes.On(c),
		"inter-pod affinity":  pods.Count(c),
		"devices":             claims,
		"devices of victims": claims.(interface {
			Freeing(objects devices.Objects) filter.Predicate
		}).Freeing(gpuClaim{}),
	}
	if kept := claims.(interface{ Kept() engine.Kept }).Kept(); kept != nil {
		list["kept devices"] = kept
	}
	return list
}

// busyPod returns a pod that makes use of every filter.
func busyPod() *v1.Pod {
	p := examplePod("busy", "1", 0)
	p.Labels = map[string]string{"app": "busy"}
	p.Spec.Containers[0].Ports = []v1.ContainerPort{{HostPort: 80, ContainerPort: 80}}
	p.Spec.NodeName = "n1"
	p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{},
	}}
	p.Spec.NodeSelector = map[string]string{v1.LabelTopologyZone: "a"}
	apart := v1.PodAffinityTerm{TopologyKey: v1.LabelTopologyZone, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels}}
	p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{apart}}}
	p.Spec.Volumes = []v1.Volume{
		{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
		{Name: "disk", VolumeSource: v1.VolumeSource{GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{PDName: "disk"}}},
	}
	name := "gpu"
	p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: name, ResourceClaimName: &name}}
	return p
}

// gpuClaim is a cluster with the claim default/gpu, which asks for one device of the class gpu.
type gpuClaim struct{}

func (gpuClaim) ResourceClaim(namespace, name string) *resourcev1.ResourceClaim {
	one := &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}
	return &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "gpu", Exactly: one}}}},
	}
}
func (gpuClaim) ResourceClaims(string) iter.Seq[*resourcev1.ResourceClaim] {
	return slices.Values([]*resourcev1.ResourceClaim(nil))
}
func (gpuClaim) InFlight(types.UID) bool { return false }
func (gpuClaim) DeviceClass(name string) *resourcev1.DeviceClass {
	return &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// trialOf returns a trial of a state, nil for a state that does not look at running pods.
func trialOf(s filter.Predicate) filter.Trial {
	switch s := s.(type) {
	case interface{ NewTrial() filter.Trial }:
		return s.NewTrial()
	case affinity.State:
		return s.NewTrial()
	case spread.HardState:
		return s.NewTrial()
	}
	return nil
}

func typeName(s any) string {
	x := reflect.TypeOf(s)
	if x.Kind() == reflect.Pointer {
		x = x.Elem()
	}
	return strings.TrimPrefix(x.PkgPath(), "github.com/podberth/podberth/") + "." + x.Name()
}

// checkers returns the types of the library that have the method Check(int) resources.Verdict, as FOLDER.TYPE, without those of
// plugins that planners add to a profile: a planner tests its own plugin.
func checkers(t *testing.T) (names []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && path != ".." || path == filepath.Join("..", "planning") || path == filepath.Join("..", "examples") {
				return fs.SkipDir // another module, the planners, or the demos
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel("..", filepath.Dir(path))
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == "Check" && f.Type.Results != nil {
				result, verdict := f.Type.Results.List[0].Type.(*ast.SelectorExpr)
				if verdict && result.Sel.Name == "Verdict" {
					receiver := f.Recv.List[0].Type
					if p, ok := receiver.(*ast.StarExpr); ok {
						receiver = p.X
					}
					names = append(names, filepath.ToSlash(folder)+"."+receiver.(*ast.Ident).Name)
				}
			}
		}
		return err
	}))
	slices.Sort(names)
	return names
}

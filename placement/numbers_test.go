package placement

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/spread"
)

// Numbers are in the words of people: quantities with units, "none" for a resource that the node lacks, skew in words, and
// the names of the pods in the way.
func TestNumbersInWords(t *testing.T) {
	web := func(name string) testkit.PodBuilder { return testkit.Pod(name).Labels("app=web") }
	incoming := func() testkit.PodBuilder { return testkit.Pod("new").Labels("app=new") }
	type test struct {
		name, why string
		running   []*v1.Pod
		pod       *v1.Pod
		want      []string
	}
	testkit.Run(t, []test{
		{"memory", "Gi, not bytes", nil, incoming().Request("memory=48Gi").Obj(), []string{"memory: asks for 48Gi, 30.5Gi of 30.5Gi are free"}},
		{"a little too much", "rounding never makes the two amounts equal", nil, incoming().Request("memory=32749125633").Obj(),
			[]string{"memory: asks for 32749125633, 31232Mi of 31232Mi are free"}},
		{"a resource that is not there", "no amount of freeing helps", nil, incoming().Request("example.com/gpu=1").Obj(), []string{"example.com/gpu: asks for 1, the node offers none"}},
		{"too many pods", "how many there are and may be", []*v1.Pod{web("a").On("n1").Obj(), web("b").On("n1").Obj(), web("c").On("n1").Obj(), web("d").On("n1").Obj(), web("e").On("n1").Obj()},
			incoming().Obj(), []string{"pods: 5 are there, 5 may be"}},
		{"skew", "pods there, this pod, minimum and maxSkew", []*v1.Pod{web("a").On("n1").Obj(), web("b").On("n1").Obj()},
			web("new").Spread(1, v1.LabelTopologyZone, v1.DoNotSchedule, "app=web").Obj(), []string{"topology.kubernetes.io/zone=a: 2 pods there and this pod, minimum 0: skew 3, maxSkew 1"}},
		{"skew of one of two constraints", "only the constraint that rejects", []*v1.Pod{web("a").On("n1").Obj(), web("b").On("n1").Obj()},
			web("new").Spread(5, v1.LabelHostname, v1.DoNotSchedule, "app=web").Spread(1, v1.LabelTopologyZone, v1.DoNotSchedule, "app=web").Obj(),
			[]string{"topology.kubernetes.io/zone=a: 2 pods there and this pod, minimum 0: skew 3, maxSkew 1"}},
		{"anti-affinity of the pod", "three names are enough", []*v1.Pod{web("a").On("n1").Obj(), web("b").On("n1").Obj(), web("c").On("n1").Obj(), web("d").On("n1").Obj()},
			incoming().RequireApart(v1.LabelTopologyZone, "app=web").Obj(), []string{"topology.kubernetes.io/zone=a: the pod's anti-affinity rejects default/a, default/b, default/c and others"}},
		{"anti-affinity of running pods", "only of those that do not bear the pod", []*v1.Pod{web("a").On("n1").Obj(), web("b").RequireApart(v1.LabelTopologyZone, "app=new").On("n1").Obj()},
			incoming().Obj(), []string{"topology.kubernetes.io/zone=a: the anti-affinity of default/b rejects the pod"}},
		{"affinity", "nobody to go with", nil, incoming().RequireWith(v1.LabelTopologyZone, "app=web").Obj(), []string{"topology.kubernetes.io/zone=a: no pod there matches the pod's affinity"}},
		{"affinity and anti-affinity by one key", "each term has its own pods", []*v1.Pod{web("a").On("n1").Obj(), testkit.Pod("b").Labels("app=db").On("n1").Obj()},
			incoming().RequireWith(v1.LabelTopologyZone, "app=db").RequireApart(v1.LabelTopologyZone, "app=web").Obj(), []string{"topology.kubernetes.io/zone=a: the pod's anti-affinity rejects default/a"}},
		{"no such domain", "the node lacks the key", nil, incoming().RequireWith("rack", "app=web").Obj(), []string{"the node has no label rack, which the pod's affinity needs"}},
		{"host port", "the pod that holds the port", []*v1.Pod{web("a").HostPort("", v1.ProtocolTCP, 80).On("n1").Obj()}, incoming().HostPort("", v1.ProtocolTCP, 80).Obj(), []string{"port 80: held by default/a"}},
	}, func(t *testing.T, c test) {
		nodes := []*v1.Node{testkit.Node("n1").Zone("a").Capacity("cpu=4,memory=32749125632,pods=5").Obj(), testkit.Node("n2").Zone("b").Capacity("cpu=4,memory=8Gi,pods=5").Obj()}
		s, err := cluster.New(cluster.Objects{Nodes: nodes, Pods: c.running})
		require.NoError(t, err)
		p, err := New(s, DefaultProfile())
		require.NoError(t, err)
		slot, _ := p.Slot("n1")
		r := p.Rejections(c.pod, slot)
		require.Len(t, r, 1)
		require.Equal(t, c.want, r[0].Numbers)
	})
}

// The arithmetic of a constraint in words.
func TestSkewInWords(t *testing.T) {
	for want, x := range map[string]spread.Skew{
		"the node has no label rack":                                      {Key: "rack", Missing: true, Pods: 3},
		"rack=r: 0 pods there and this pod, minimum 0: skew 1, maxSkew 1": {Key: "rack", Value: "r", Self: 1, MaxSkew: 1},
		"rack=r: 1 pod there and this pod, minimum 2: skew 0, maxSkew 3":  {Key: "rack", Value: "r", Pods: 1, Self: 1, Minimum: 2, MaxSkew: 3},
		"rack=r: 1 pod there, minimum 0: skew 1, maxSkew 2":               {Key: "rack", Value: "r", Pods: 1, MaxSkew: 2},
		"rack=r: 5 pods there, minimum 1: skew 4, maxSkew 2":              {Key: "rack", Value: "r", Pods: 5, Minimum: 1, MaxSkew: 2},
		"rack=r: 2 pods there and this pod, minimum 1: skew 2, maxSkew 1": {Key: "rack", Value: "r", Pods: 2, Self: 1, Minimum: 1, MaxSkew: 1},
	} {
		require.Equal(t, want, skewInWords(x))
	}
}

// A pod does not count against itself. A pod that one question leaves out counts in the next question.
func TestViolationsNameOthers(t *testing.T) {
	apart := func(name string) *v1.Pod {
		return testkit.Pod(name).Labels("app=x").RequireApart(v1.LabelHostname, "app=x").On("n1").Obj()
	}
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n1").Obj()}, Pods: []*v1.Pod{apart("p"), apart("q")}})
	require.NoError(t, err)
	p, err := New(s, DefaultProfile())
	require.NoError(t, err)
	for range 2 {
		list := p.Violations()
		require.Len(t, list, 2)
		for k, other := range []string{"default/q", "default/p"} {
			require.Equal(t, []string{"kubernetes.io/hostname=n1: the pod's anti-affinity rejects " + other, "kubernetes.io/hostname=n1: the anti-affinity of " + other + " rejects the pod"},
				list[k].Rejections[0].Numbers)
		}
	}
}

// A rejection names the taints that no toleration of the pod tolerates, and no others.
func TestTaintsInWords(t *testing.T) {
	p, s := planOf(t, cluster.Objects{Nodes: []*v1.Node{testkit.Node("n").Taint("a:NoSchedule").Taint("b:NoExecute").Taint("c:PreferNoSchedule").Taint("d:NoSchedule").Obj()}})
	pod := testkit.Pod("p").Tolerate("a", v1.TolerationOpExists, "", "").Tolerate("d", v1.TolerationOpExists, "", "").Obj()
	r := p.Rejections(pod, s.Slot("n"))
	require.Len(t, r, 1)
	require.Len(t, r[0].Numbers, 1)
	require.Contains(t, r[0].Numbers[0], "b:NoExecute")
	require.Len(t, p.Rejections(testkit.Pod("p").Obj(), s.Slot("n"))[0].Numbers, 3)
}

// The text about a limit of volumes says how many volumes are attached, and how many the pod brings.
func TestVolumeLimitsInWords(t *testing.T) {
	const driver = "csi.example.com"
	o := cluster.Objects{Nodes: []*v1.Node{testkit.Node("n1").Obj()}, StorageClasses: []*storagev1.StorageClass{storageClass("fast", driver)}}
	for k := range 8 {
		c := waiting(fmt.Sprint("c", k), "fast", "1Gi")
		pv := disk(fmt.Sprint("v", k), "fast", "a", "1Gi")
		pv.Spec.NodeAffinity = nil
		bind(c, pv, driver)
		o.Claims, o.PersistentVolumes = append(o.Claims, c), append(o.PersistentVolumes, pv)
	}
	o.CSINodes = []*storagev1.CSINode{{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: storagev1.CSINodeSpec{
		Drivers: []storagev1.CSINodeDriver{{Name: driver, Allocatable: &storagev1.VolumeNodeResources{Count: new(int32(7))}}}}}}
	o.Pods = []*v1.Pod{mounting(testkit.Pod("there").On("n1").Obj(), "c0", "c1", "c2", "c3", "c4")}
	p, _ := planOf(t, o)
	r := p.Rejections(mounting(testkit.Pod("p").Obj(), "c5", "c6", "c7"), 0)
	require.Len(t, r, 1)
	require.Equal(t, []string{driver + ": 5 attached and 3 more, 7 allowed"}, r[0].Numbers)
	require.Nil(t, p.Rejections(mounting(testkit.Pod("p").Obj(), "c5", "c6"), 0))
}

// The words about volumes name the claim or the disk, and the pod that uses it. A pod that only the ledger knows has no name there.
func TestVolumesInUseInWords(t *testing.T) {
	onDisk := func(name string) *v1.Pod {
		p := testkit.Pod(name).Obj()
		p.Spec.Volumes = []v1.Volume{{Name: "d", VolumeSource: v1.VolumeSource{GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{PDName: "d"}}}}
		return p
	}
	there := onDisk("there")
	there.Spec.NodeName = "n1"
	p, _ := planOf(t, cluster.Objects{Nodes: []*v1.Node{testkit.Node("n1").Obj()}, Pods: []*v1.Pod{there}})
	r := p.Rejections(onDisk("p"), 0)
	require.Len(t, r, 1)
	require.Equal(t, []string{"a disk is used by default/there"}, r[0].Numbers)

	p, s := planOf(t, cluster.Objects{
		Nodes: threeZones(), StorageClasses: []*storagev1.StorageClass{storageClass("fast", "csi.example.com")},
		Claims: []*v1.PersistentVolumeClaim{waiting("one", "fast", "1Gi", v1.ReadWriteOncePod)},
	})
	first := mounting(testkit.Pod("first").Obj(), "one")
	d := p.Decide(first, Options{})
	require.NoError(t, p.Volumes().Reserve(first, d.Slot, d.Volumes))
	r = p.Rejections(mounting(testkit.Pod("second").Obj(), "one"), s.Slot(d.Node))
	require.NotEmpty(t, r)
	require.Equal(t, []string{"claim one is used by a pod that is not bound yet"}, r[0].Numbers)
}

// Table returns the error of a score plugin.
func TestTableHasTheErrorOfAScore(t *testing.T) {
	profile := DefaultProfile()
	profile.Scores = append(profile.Scores, Weighted{&Plugin{Name: "Broken", Score: func(*v1.Pod, Cluster) (Scorer, error) { return nil, errors.New("no speed known") }}, 1})
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n1").Obj(), testkit.Node("n2").Obj()}})
	require.NoError(t, err)
	p, err := New(s, profile)
	require.NoError(t, err)
	_, err = p.Table(testkit.Pod("p").Obj())
	require.EqualError(t, err, `running PreScore plugin "Broken": no speed known`)
	table, err := p.Table(testkit.Pod("p").Request("cpu=1k").Obj())
	require.NoError(t, err, "no node is feasible, so no score is asked")
	require.Len(t, table, 2)
}

package estimate

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// large is an estimator over 5,000 nodes in three zones with 100,000 pods.
func large(b *testing.B) *Estimator {
	const nodes, pods = 5000, 100000
	var o cluster.Objects
	for k := range nodes {
		o.Nodes = append(o.Nodes, testkit.Node(fmt.Sprint("n", k)).Zone(fmt.Sprint("z", k%3)).Capacity("cpu=32,memory=128Gi,pods=110").Obj())
	}
	for k := range pods {
		o.Pods = append(o.Pods, testkit.Pod(fmt.Sprint("p", k)).Labels(fmt.Sprint("app=a", k%50)).Request(fmt.Sprintf("cpu=%dm,memory=%dMi", 250*(1+k%4), 512*(1+k%6))).On(fmt.Sprint("n", k%nodes)).Obj())
	}
	o.StorageClasses = disks()
	return newEstimator(b, o)
}

// withDisk returns the pod with a volume that is made for it.
func withDisk(pod *v1.Pod) *v1.Pod {
	class := "disks"
	pod.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{VolumeClaimTemplate: &v1.PersistentVolumeClaimTemplate{
		Spec: v1.PersistentVolumeClaimSpec{StorageClassName: &class, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}}}}}}}
	return pod
}

// repeat asks a question b.N times. The processor time means something on a busy machine, too.
func repeat(b *testing.B, ask func() error) {
	b.ReportAllocs()
	before := testkit.ProcessorTime(b)
	for range b.N {
		require.NoError(b, ask())
	}
	b.ReportMetric(float64(testkit.ProcessorTime(b)-before)/float64(b.N), "cpu-ns/op")
}

// Nothing changes between the questions but the pod that an estimator would follow: every question is prepared anew.
func BenchmarkFeasible(b *testing.B) {
	e := large(b)
	pod := func() testkit.PodBuilder { return testkit.Pod("w").Labels("app=a1").Request("cpu=1,memory=4Gi") }
	for name, p := range map[string]*v1.Pod{
		"plain": pod().Obj(), "zone spread": pod().Spread(5, zone, v1.DoNotSchedule, "app=a1").Obj(), "anti-affinity": pod().RequireApart(host, "app=a1").Obj(),
	} {
		b.Run(name, func(b *testing.B) {
			repeat(b, func() error { _, err := e.Feasible(p, nil); return err })
		})
	}
}

func BenchmarkPerNode(b *testing.B) {
	e := large(b)
	worker := func() testkit.PodBuilder { return testkit.Pod("w").Labels("app=w").Request("cpu=1,memory=4Gi") }
	leader := testkit.Pod("l").Labels("app=l").Request("cpu=4,memory=8Gi").Obj()
	for name, q := range map[string]Question{
		"workers":               {Worker: worker().Obj()},
		"beside a leader":       {Worker: worker().Obj(), Leader: leader},
		"apart, by trial":       {Worker: worker().RequireApart(host, "app=w").Obj()},
		"host port, by trial":   {Worker: worker().HostPort("", v1.ProtocolTCP, 80).Obj()},
		"zone spread, by trial": {Worker: worker().Spread(5, zone, v1.DoNotSchedule, "app=w").Obj(), Domains: Every},
		"22 by trial":           {Worker: worker().Spread(50, zone, v1.DoNotSchedule, "app=w").Obj(), Domains: Every},
		"trial beside a leader": {Worker: worker().Spread(50, zone, v1.DoNotSchedule, "app=w").Obj(), Leader: leader, Domains: Every},
		"disks, by placing":     {Worker: withDisk(worker().Obj())},
		"leader apart":          {Worker: worker().Obj(), Leader: testkit.Pod("l").Labels("app=l").Request("cpu=4,memory=8Gi").RequireApart(host, "app=l").Obj()},
	} {
		b.Run(name, func(b *testing.B) {
			repeat(b, func() error { _, err := e.PerNode(q); return err })
		})
	}
}

package placement

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// Many copies at once count as one after the other, also for a pod that has come elsewhere before.
func TestAddTimes(t *testing.T) {
	var o cluster.Objects
	for k := range 4 {
		o.Nodes = append(o.Nodes, testkit.Node(fmt.Sprint("n", k)).Zone(fmt.Sprint("z", k%2)).Capacity("cpu=4,memory=8Gi,pods=5").Obj())
	}
	o.Pods = append(o.Pods, testkit.Pod("old").Labels("app=w").Request("cpu=1").On("n1").Obj())
	s, err := cluster.New(o)
	require.NoError(t, err)
	plan, err := New(s, DefaultProfile())
	require.NoError(t, err)
	pod := func() testkit.PodBuilder { return testkit.Pod("w").Labels("app=w").Request("cpu=1,memory=1Gi") }
	allowed := 0
	for name, asked := range map[string]*v1.Pod{
		"requests": pod().Obj(), "apart": pod().RequireApart(v1.LabelHostname, "app=w").Obj(), "port": pod().HostPort("", v1.ProtocolTCP, 80).Obj(),
		"hosts": pod().Spread(2, v1.LabelHostname, v1.DoNotSchedule, "app=w").Obj(), "zones": pod().Spread(3, v1.LabelTopologyZone, v1.DoNotSchedule, "app=w").Obj(),
	} {
		guest := *asked
		guest.Name, guest.UID = "guest", "guest"
		a := plan.Prepare(asked)
		once, times := a.WhatIf(Options{}), a.whatIf(Options{})
		for slot := range s.Len() {
			for n := range 7 {
				once.Reset()
				times.Reset()
				for range n {
					once.Add(&guest, slot)
				}
				times.AddTimes(&guest, slot, n)
				for i := range s.Len() {
					require.Equal(t, once.Check(i), times.Check(i), "%s: %d on slot %d, seen from %d", name, n, slot, i)
					if once.Check(i).Verdict == 0 {
						allowed++
					}
				}
			}
		}
	}
	require.Greater(t, allowed, 100)
}

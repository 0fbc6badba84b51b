package command

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// The profiles of the configuration follow the feature gates.
func TestFeatureGates(t *testing.T) {
	n := testkit.Node("n1").Capacity("cpu=4").Obj()
	n.Spec.Taints = []v1.Taint{{Key: "sla", Value: "95", Effect: v1.TaintEffectNoSchedule}}
	p := testkit.Pod("p").Obj()
	p.Spec.Tolerations = []v1.Toleration{{Key: "sla", Operator: v1.TolerationOpGt, Value: "90"}}
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{n}})
	require.NoError(t, err)
	for _, on := range []bool{false, true} {
		var args []string
		if on {
			args = []string{"--feature-gates=TaintTolerationComparisonOperators=true", "--feature-gates=StorageCapacityScoring=false"}
		}
		c, err := parsed(t, args...).load()
		require.NoError(t, err)
		profile := c.Profiles[0]
		placer, err := placement.NewPlacer(s, profile.Placement)
		require.NoError(t, err)
		require.Equal(t, on, placer.Decide(p, placement.Options{}).Placed())
		require.Equal(t, on, profile.Plugin("VolumeBinding").(*placement.Plugin).Score == nil)
	}
}

// A gate that v1.37 does not have, and one that is locked, are named.
func TestBadFeatureGates(t *testing.T) {
	for text, want := range map[string]string{
		"Gangs=true":                  `error: invalid argument "Gangs=true" for "--feature-gates" flag: unrecognized feature gate: Gangs`,
		"NodeDeclaredFeatures=false":  `error: invalid argument "NodeDeclaredFeatures=false" for "--feature-gates" flag: cannot set feature gate NodeDeclaredFeatures to false, feature is locked to true`,
		"StorageCapacityScoring=half": `error: invalid argument "StorageCapacityScoring=half" for "--feature-gates" flag: invalid value of StorageCapacityScoring=half, err: strconv.ParseBool: parsing "half": invalid syntax`,
	} {
		var out, errs bytes.Buffer
		require.Equal(t, 2, Run(context.Background(), []string{"--feature-gates=" + text}, &out, &errs))
		require.Equal(t, want+"\n", errs.String())
	}
}

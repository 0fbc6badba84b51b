package score_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/score"
)

// Two nodes of 10 cpu and 10Gi, and a pod of 1 cpu and 3Gi.
func TestBalanceOfReleases(t *testing.T) {
	nodes := []*v1.Node{testkit.Node("a").Capacity("cpu=10,memory=10Gi").Obj(), testkit.Node("b").Capacity("cpu=10,memory=10Gi").Obj()}
	running := []*v1.Pod{testkit.Pod("x").Request("cpu=5,memory=5Gi").On("a").Obj(), testkit.Pod("y").Request("cpu=8,memory=2Gi").On("b").Obj()}
	rows := testkit.NewCluster(nodes, running).WithRows()
	pod := testkit.Pod("p").Request("cpu=1,memory=3Gi").Obj()
	want := testkit.ByRelease[[]int64]{{89, 80}, {89, 80}, {69, 80}, {69, 80}}
	for _, v := range release.Versions() {
		e, err := score.CompileBalance(pod, score.BalanceArgs{Release: v})
		require.NoError(t, err)
		require.Equal(t, want.In(v), raws(2, e.On(rows).Raw), v.String())
	}
}

// A container whose image no node has, and an image volume of 523Mi on the only node.
func TestImagesOfReleases(t *testing.T) {
	node := testkit.Node("n").Image(523*mib, "gcr.io/volume:1").Obj()
	pod := imagePod("gcr.io/volume:1", 0, "gcr.io/none")
	want := testkit.ByRelease[int64]{0, 0, 51, 25}
	for _, v := range release.Versions() {
		require.Equal(t, want.In(v), score.CompileImages(pod, v).On(testkit.NewCluster([]*v1.Node{node}, nil)).Raw(0), v.String())
	}
}

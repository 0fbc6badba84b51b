package placement

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// A verdict has one bit for all requests after the 13th: nodes with equal verdicts may lack different resources, and the message
// names each.
func TestManyRequests(t *testing.T) {
	list := func(amount string) (out string) {
		for k := range 15 {
			out += fmt.Sprintf("example.com/r%02d=%s,", k, amount)
		}
		return out + "pods="
	}
	lacks := func(name, short string) *v1.Node {
		n := testkit.Node(name).Capacity(list("8") + "110").Obj()
		n.Status.Allocatable[v1.ResourceName("example.com/"+short)] = resource.MustParse("1")
		return n
	}
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("fits").Capacity(list("8") + "2").Obj(), lacks("a", "r13"), lacks("b", "r14"), lacks("c", "r14")}})
	require.NoError(t, err)
	placer, err := NewPlacer(s, DefaultProfile())
	require.NoError(t, err)
	for k := range 6 {
		pod := testkit.Pod(fmt.Sprint("p", k)).Request(list("2")[:len(list("2"))-len(",pods=")]).Obj()
		d := placer.Decide(pod, Options{})
		if k < 2 {
			require.Equal(t, "fits", d.Node)
			require.NoError(t, placer.Assume(pod, d))
			continue
		}
		require.False(t, d.Placed())
		require.Equal(t, "0/4 nodes are available: 1 Insufficient example.com/r13, 1 Too many pods, 2 Insufficient example.com/r14.", d.Failure.Text())
	}
	table, err := placer.Table(testkit.Pod("asked").Request(list("2")[:len(list("2"))-len(",pods=")]).Obj())
	require.NoError(t, err)
	var reasons [][]string
	for _, n := range table[:3] {
		require.Len(t, n.Rejections, 1)
		reasons = append(reasons, n.Rejections[0].Reasons)
	}
	require.Equal(t, [][]string{{"Insufficient example.com/r13"}, {"Insufficient example.com/r14"}, {"Insufficient example.com/r14"}}, reasons)
}

package dump

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// What a kubelet answers is read as an object of its own kind, and All yields the object with its apiVersion.
func TestKubelet(t *testing.T) {
	const head = "kind: Kubelet\nmetadata: {name: n1}\n"
	objects, err := Read([]string{"-"}, strings.NewReader("apiVersion: podberth.io/v1alpha1\n"+head+"summary: {node: {memory: {availableBytes: 5}}}\nconfiguration: {enforceNodeAllocatable: []}\n"), Options{Strict: true})
	require.NoError(t, err)
	require.EqualValues(t, 5, *objects.Kubelets[0].Summary.Node.Memory.AvailableBytes)
	require.NotNil(t, objects.Kubelets[0].Configuration.EnforceNodeAllocatable, "an empty list is not the default")
	for kind := range objects.All() {
		require.Equal(t, "podberth.io/v1alpha1, Kind=Kubelet", kind.String())
	}
	for range objects.Others() {
		t.Error("Others yields objects of the API only")
	}
	type test struct{ name, input, want string }
	testkit.Run(t, []test{
		{"another version", "apiVersion: podberth.io/v2\n" + head, `standard input: document 1 (Kubelet n1): apiVersion: Unsupported value: "podberth.io/v2": must be podberth.io/v1alpha1`},
		{"another group", "apiVersion: v1\n" + head, "standard input: Required value: no object of a kind that is read, only Kubelet"},
		{"a negative measurement", "apiVersion: podberth.io/v1alpha1\n" + head + "summary: {node: {memory: {availableBytes: -1}}}", `standard input: document 1 (Kubelet n1): summary.node.memory.availableBytes: Invalid value: -1: must be an integer that is not negative`},
	}, func(t *testing.T, c test) {
		_, err := Read([]string{"-"}, strings.NewReader(c.input), Options{})
		require.EqualError(t, err, c.want)
	})
}

package podkey

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// Pods that ask for something else have other keys; what a pod does not ask with is no part of the key.
func TestRequests(t *testing.T) {
	pods := []string{
		"container a", "container a\ncontainer b", "container a\ninit i", "container a\nsidecar i",
		"container a requests cpu=1", "container a limits cpu=1", "container a requests memory=1", "container a requests cpu=2",
		"container a requests cpu=1\ncontainer b", "container a\ncontainer b requests cpu=1",
		"init a requests cpu=1\ncontainer b", "sidecar a requests cpu=1\ncontainer b",
		"container a\noverhead cpu=1", "container a\nwhole requests cpu=1", "container a\nwhole limits cpu=1", "container a\nwhole",
	}
	seen := map[string]string{}
	for _, text := range pods {
		k := string(Requests([]byte("before"), testkit.Containers(text)))
		require.Equal(t, "before", k[:6])
		require.Empty(t, seen[k], "%q and %q", text, seen[k])
		seen[k] = text
	}
	plain := testkit.Containers("container a requests cpu=1")
	other := testkit.Containers("container b requests cpu=1\nstatus b requests cpu=2")
	other.Spec.Containers[0].Image = "app"
	require.Equal(t, Requests(nil, plain), Requests(nil, other), "names, images and the status do not count")
	bare := plain.DeepCopy()
	bare.Spec.Containers = nil
	require.Equal(t, Requests(nil, &v1.Pod{}), Requests(nil, bare))
}

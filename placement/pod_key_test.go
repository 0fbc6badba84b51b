package placement

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/queue"
)

// TestPodKey checks which pods of one template have equal keys, and which pods have none.
func TestPodKey(t *testing.T) {
	podKey := DefaultProfile().PodKey
	base := testkit.Pod("a").Labels("app=web").Request("cpu=1").Obj()
	same := func(change func(p *v1.Pod)) bool {
		p := base.DeepCopy()
		p.Name, p.UID = "b", "b"
		change(p)
		return podKey(p) == podKey(base)
	}
	require.NotEmpty(t, podKey(base))
	require.True(t, same(func(*v1.Pod) {}))
	require.True(t, same(func(p *v1.Pod) {
		p.Spec.Volumes = []v1.Volume{{Name: "kube-api-access-x", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{}}}}
	}), "every pod has a token of its own")
	never, priority := v1.PreemptNever, int32(1)
	for name, change := range map[string]func(p *v1.Pod){
		"labels":            func(p *v1.Pod) { p.Labels["app"] = "db" },
		"namespace":         func(p *v1.Pod) { p.Namespace = "other" },
		"requests":          func(p *v1.Pod) { p.Spec.Containers[0].Resources.Requests = testkit.Resources("cpu=2") },
		"host ports":        func(p *v1.Pod) { p.Spec.Containers[0].Ports = []v1.ContainerPort{{HostPort: 80}} },
		"priority":          func(p *v1.Pod) { p.Spec.Priority = &priority },
		"preemption policy": func(p *v1.Pod) { p.Spec.PreemptionPolicy = &never },
		"claims":            func(p *v1.Pod) { mounting(p, "c") },
	} {
		require.False(t, same(change), name)
	}
	own := base.DeepCopy()
	own.Spec.Volumes = []v1.Volume{{VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}}}}
	require.Empty(t, podKey(own))
	own = base.DeepCopy()
	own.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "c"}}
	require.Empty(t, podKey(own))
	require.Empty(t, podKey(nil))
	foreign := DefaultProfile()
	foreign.Filters = append(foreign.Filters, &Plugin{Name: "Foreign"})
	require.Empty(t, foreign.PodKey(base), "a plugin that does not say what it reads")

	_, err := queue.New(queue.Options{ShareFailures: true, PodKey: podKey})
	require.NoError(t, err)
}

// Each key is written once: that of a plugin which filters and scores, and that of plugins with one KeyName. Plugins without a KeyName share
// none.
func TestPodKeyHasEachKeyOnce(t *testing.T) {
	plugin := func(name, keyName, key string) *Plugin {
		return &Plugin{Name: name, KeyName: keyName, AppendKey: func(dst []byte, _ *v1.Pod) []byte { return append(dst, key...) }}
	}
	both := plugin("Both", "", "b")
	p := Profile{
		Filters: []*Plugin{both, plugin("One", "shared", "s"), plugin("Other", "", "o")},
		Scores:  []Weighted{{both, 1}, {plugin("Two", "shared", "s"), 1}, {plugin("Another", "", "a"), 1}},
	}
	pod := testkit.Pod("p").Obj()
	require.Equal(t, Profile{}.PodKey(pod)+"\x01b\x01s\x01o\x01a", p.PodKey(pod))
	p.Scores = append(p.Scores, Weighted{&Plugin{Name: "Foreign"}, 1})
	require.Empty(t, p.PodKey(pod), "a score that does not say what it reads")
}

// TestPodKeyHasEveryKey changes every field of some pods, one field at a time. Whenever the key of a plugin changes,
// that of the pod must change.
func TestPodKeyHasEveryKey(t *testing.T) {
	profile := DefaultProfile()
	plugins := append([]*Plugin(nil), profile.Filters...)
	for _, w := range profile.Scores {
		plugins = append(plugins, w.Plugin)
	}
	keys := func(pod *v1.Pod) (out []string) {
		for _, p := range plugins {
			out = append(out, string(p.AppendKey(nil, pod)))
		}
		return out
	}
	pods, differ := keyPods(), 0
	for _, name := range []string{"full", "images", "ports", "host", "claim", "controlled"} {
		base := pods[name]
		before, of := profile.PodKey(base), keys(base)
		pod := base.DeepCopy()
		try := func(path string) {
			if now := profile.PodKey(pod); now == before && now != "" {
				require.Equal(t, of, keys(pod), "%s%s changes the key of a plugin and not that of the pod", name, path)
			} else {
				differ++
			}
		}
		alter(reflect.ValueOf(&pod.ObjectMeta).Elem(), "", 0, try)
		alter(reflect.ValueOf(&pod.Spec).Elem(), ".spec", 0, try)
	}
	require.Greater(t, differ, 1000)
}

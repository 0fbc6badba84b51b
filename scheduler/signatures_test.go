package scheduler

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/internal/testkit"
)

// A pod whose placement depends on other pods has no signature.
func TestNoSignature(t *testing.T) {
	r := newRig(t, Options{Profiles: []Profile{listed()}}, three())
	type test struct {
		name   string
		change func(p *v1.Pod)
		signed bool
	}
	testkit.Run(t, []test{
		{"plain", func(*v1.Pod) {}, true},
		{"an empty affinity", func(p *v1.Pod) { p.Spec.Affinity = &v1.Affinity{} }, true},
		{"node affinity", func(p *v1.Pod) { p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{}} }, true},
		{"pod affinity", func(p *v1.Pod) { p.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{}} }, false},
		{"pod anti-affinity", func(p *v1.Pod) { p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{}} }, false},
		{"spread", func(p *v1.Pod) { p.Spec.TopologySpreadConstraints = make([]v1.TopologySpreadConstraint, 1) }, false},
		{"claims", func(p *v1.Pod) { withClaim(p, "a") }, false},
	}, func(t *testing.T, c test) {
		p := pod("p")
		c.change(p)
		require.Equal(t, c.signed, r.framework().SignPod(ctx, p) != "")
	})
}

// signer is a user's filter that writes a signature.
type signer struct {
	*probe
	sign func() ([]SignFragment, *Status)
}

func (s signer) SignPod(context.Context, *v1.Pod) ([]SignFragment, *Status) { return s.sign() }

// The cases say which plugins keep a profile from batching, and what a user's plugin can answer. A plugin that fails only
// keeps the pod out of batching.
func TestSignPod(t *testing.T) { // W13.1, W13.2
	release := make(chan struct{})
	defer close(release)
	blocked := make(chan struct{}, 1)
	type test struct {
		name   string
		sign   func() ([]SignFragment, *Status) // nil: the plugin writes no signature
		listed bool
		signed bool
		errs   int
	}
	testkit.Run(t, []test{
		{"default constraints", func() ([]SignFragment, *Status) { return nil, nil }, false, false, 0},
		{"a plugin that cannot sign", nil, true, false, 0},
		{"one that says nothing", func() ([]SignFragment, *Status) { return nil, nil }, true, true, 0},
		{"one that refuses", func() ([]SignFragment, *Status) { return nil, u() }, true, false, 0},
		{"one that fails", func() ([]SignFragment, *Status) { return nil, AsStatus(errors.New("broken")) }, true, false, 1},
		{"one that panics", func() ([]SignFragment, *Status) { panic("boom") }, true, false, 1},
		{"one that blocks", func() ([]SignFragment, *Status) { blocked <- struct{}{}; <-release; return nil, nil }, true, false, 1},
		{"an unknown code", func() ([]SignFragment, *Status) { return nil, NewStatus(42) }, true, false, 1},
		{"a value that is no JSON", func() ([]SignFragment, *Status) { return []SignFragment{{"x", func() {}}}, nil }, true, false, 1},
	}, func(t *testing.T, c test) {
		_, list := probes(1)
		var p Plugin = struct{ FilterPlugin }{list[0]}
		if c.sign != nil {
			p = signer{list[0], c.sign}
		}
		profile := Profile{}
		if c.listed {
			profile = listed()
		}
		profile.Plugins = Plugins{Filter: {Enabled: []PluginRef{{Name: "A"}}}}
		o := Options{Profiles: []Profile{profile}, PluginTimeout: time.Second, Plugins: Registry{"A": func(any, *Handle) (Plugin, error) { return p, nil }}}
		r, _ := batching(t, o)
		r.add(sized("p", "1"))
		if c.name == "one that blocks" {
			r.cutOff(blocked, func() { r.step() })
		} else {
			r.step()
			require.Equal(t, c.signed, r.framework().SignPod(ctx, sized("q", "1")) != "")
		}
		require.Equal(t, Scheduled, r.last().Outcome, r.last().Message)
		require.GreaterOrEqual(t, len(r.errs), c.errs)
	})
	t.Run("fragments", func(t *testing.T) {
		_, list := probes(1)
		value := "a"
		profile := listed()
		profile.Plugins = Plugins{Filter: {Enabled: []PluginRef{{Name: "A"}}}}
		p := signer{list[0], func() ([]SignFragment, *Status) { return []SignFragment{{"mine", value}}, nil }}
		r, _ := batching(t, Options{Profiles: []Profile{profile}, Plugins: Registry{"A": func(any, *Handle) (Plugin, error) { return p, nil }}})
		first := r.framework().SignPod(ctx, sized("p", "1"))
		require.Equal(t, first, r.framework().SignPod(ctx, sized("q", "1")), "the name does not count")
		value = "b"
		require.NotEqual(t, first, r.framework().SignPod(ctx, sized("p", "1")))
	})
	t.Run("extenders", func(t *testing.T) {
		r, _ := batching(t, Options{Profiles: []Profile{listed()}, Extenders: []Extender{nil}})
		require.Empty(t, r.framework().SignPod(ctx, sized("p", "1")))
	})
}

// The order of tolerations, of node affinity, of volumes, ports and images does not change a signature; what they say does.
func TestSignatureOrder(t *testing.T) {
	r := newRig(t, Options{Profiles: []Profile{listed()}}, three())
	made := func(turn int, change func(*v1.Pod)) string {
		twisted := func(n int, swap func(i, j int)) {
			if turn%2 == 1 {
				rand.New(rand.NewPCG(uint64(turn), 1)).Shuffle(n, swap)
			}
		}
		in := func(key string, values ...string) v1.NodeSelectorRequirement {
			twisted(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
			return v1.NodeSelectorRequirement{Key: key, Operator: v1.NodeSelectorOpIn, Values: values}
		}
		term := func(s string) v1.NodeSelectorTerm {
			t := v1.NodeSelectorTerm{
				MatchExpressions: []v1.NodeSelectorRequirement{in("a"+s, "1", "2", "3"), in("b"+s, "4", "5"), in("c", "6")},
				MatchFields:      []v1.NodeSelectorRequirement{in("metadata.name", "n1"+s, "n2", "n3"), in("metadata.name", "n4", "n5")},
			}
			twisted(3, func(i, j int) {
				t.MatchExpressions[i], t.MatchExpressions[j] = t.MatchExpressions[j], t.MatchExpressions[i]
			})
			twisted(2, func(i, j int) { t.MatchFields[i], t.MatchFields[j] = t.MatchFields[j], t.MatchFields[i] })
			return t
		}
		x := pod("p")
		a := &v1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution:  &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term("x"), term("y"), term("z")}},
			PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 3, Preference: term("x")}, {Weight: 3, Preference: term("y")}, {Weight: 5, Preference: term("y")}},
		}
		x.Spec.Affinity = &v1.Affinity{NodeAffinity: a}
		seconds := int64(7)
		x.Spec.Tolerations = []v1.Toleration{{Key: "a"}, {Key: "b", TolerationSeconds: &seconds}, {Operator: v1.TolerationOpExists}}
		for _, dir := range []string{"/a", "/b", "/c"} {
			x.Spec.Volumes = append(x.Spec.Volumes, v1.Volume{Name: dir[1:], VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: dir}}})
		}
		x.Spec.Containers = append(x.Spec.Containers, v1.Container{Image: "x", Ports: []v1.ContainerPort{{HostPort: 8080}, {HostPort: 443}, {}}}, v1.Container{Image: "y:1"})
		change(x)
		terms, likes := a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms, a.PreferredDuringSchedulingIgnoredDuringExecution
		tolerations, volumes, containers := x.Spec.Tolerations, x.Spec.Volumes, x.Spec.Containers
		twisted(len(terms), func(i, j int) { terms[i], terms[j] = terms[j], terms[i] })
		twisted(len(likes), func(i, j int) { likes[i], likes[j] = likes[j], likes[i] })
		twisted(len(tolerations), func(i, j int) { tolerations[i], tolerations[j] = tolerations[j], tolerations[i] })
		twisted(len(volumes), func(i, j int) { volumes[i], volumes[j] = volumes[j], volumes[i] })
		twisted(len(containers), func(i, j int) { containers[i], containers[j] = containers[j], containers[i] })
		before := x.DeepCopy()
		signature := r.framework().SignPod(ctx, x)
		require.NotEmpty(t, signature)
		require.Equal(t, before, x, "the pod does not change")
		return signature
	}
	plain := made(0, func(*v1.Pod) {})
	for turn := range 40 {
		require.Equal(t, plain, made(turn, func(*v1.Pod) {}))
	}
	add := func(list *[]string) { *list = append(*list, "9") }
	volume := func(name string, source v1.VolumeSource) func(*v1.Pod) {
		return func(p *v1.Pod) { p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: name, VolumeSource: source}) }
	}
	affinity := func(p *v1.Pod) *v1.NodeAffinity { return p.Spec.Affinity.NodeAffinity }
	type test struct {
		name   string
		change func(p *v1.Pod)
		equal  bool
	}
	testkit.Run(t, []test{
		{"a value", func(p *v1.Pod) {
			add(&affinity(p).RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[1].MatchExpressions[1].Values)
		}, false},
		{"a field's value", func(p *v1.Pod) {
			add(&affinity(p).RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[2].MatchFields[0].Values)
		}, false},
		{"a preferred value", func(p *v1.Pod) {
			add(&affinity(p).PreferredDuringSchedulingIgnoredDuringExecution[0].Preference.MatchExpressions[0].Values)
		}, false},
		{"a weight", func(p *v1.Pod) { affinity(p).PreferredDuringSchedulingIgnoredDuringExecution[1].Weight = 4 }, false},
		{"seconds of a toleration", func(p *v1.Pod) { *p.Spec.Tolerations[1].TolerationSeconds = 8 }, false},
		{"no seconds", func(p *v1.Pod) { p.Spec.Tolerations[1].TolerationSeconds = nil }, false},
		{"a volume", volume("d", v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/d"}}), false},
		{"a config map", volume("d", v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{}}), true},
		{"a secret", volume("d", v1.VolumeSource{Secret: &v1.SecretVolumeSource{}}), true},
		{"a port", func(p *v1.Pod) { p.Spec.Containers[1].Ports[1].HostPort = 80 }, false},
		{"a port of an init container", func(p *v1.Pod) {
			p.Spec.InitContainers = []v1.Container{{Image: "x", Ports: []v1.ContainerPort{{HostPort: 1}}}}
		}, false},
		{"a port of 0", func(p *v1.Pod) { p.Spec.Containers[2].Ports = []v1.ContainerPort{{ContainerPort: 9}} }, true},
		{"no port of 0", func(p *v1.Pod) { p.Spec.Containers[1].Ports = p.Spec.Containers[1].Ports[:2] }, true},
		{"an image", func(p *v1.Pod) { p.Spec.Containers[2].Image = "y:2" }, false},
		{"an image of an init container", func(p *v1.Pod) { p.Spec.InitContainers = []v1.Container{{Image: "z"}} }, false},
		{"an image once more", func(p *v1.Pod) { p.Spec.InitContainers = []v1.Container{{Image: "x"}} }, true},
		{"a label", func(p *v1.Pod) { p.Labels = map[string]string{"a": "b"} }, false},
		{"an annotation", func(p *v1.Pod) { p.Annotations = map[string]string{"a": "b"} }, true},
		{"a resource that is not counted", func(p *v1.Pod) { p.Spec.Containers[0].Resources.Requests["strange"] = quantity.MustParse("1") }, true},
		{"an extended resource of 0", func(p *v1.Pod) { p.Spec.Containers[0].Resources.Requests["example.com/x"] = quantity.MustParse("0") }, false},
		{"memory of 0", func(p *v1.Pod) { p.Spec.Containers[0].Resources.Requests["memory"] = quantity.MustParse("0") }, true},
		{"storage of 0", func(p *v1.Pod) {
			p.Spec.Containers[0].Resources.Requests["ephemeral-storage"] = quantity.MustParse("0")
		}, true},
		{"storage", func(p *v1.Pod) {
			p.Spec.Containers[0].Resources.Requests["ephemeral-storage"] = quantity.MustParse("1")
		}, false},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.equal, plain == made(1, c.change))
	})
}

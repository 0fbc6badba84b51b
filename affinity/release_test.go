package affinity_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

// The differences between releases, with the cases of the table of differences.
func TestReleases(t *testing.T) {
	w := newWorld(node("n1", "zone=a,h=n1")).namespace("default", "").namespace("locked", "secret=1").run("n1", pod("locked", "app=tgt"))
	type test struct {
		name, why, term string
		want            testkit.ByRelease[string]
	}
	testkit.Run(t, []test{
		{"L3.4 anti-affinity", "the target's namespace has the label", "anti h app=tgt nssel=!secret", testkit.ByRelease[string]{"n1:anti", "n1:anti", "n1:anti", "n1:ok"}},
		{"L3.4 affinity", "only the wrong rule finds the target", "aff h app=tgt nssel=!secret", testkit.ByRelease[string]{"n1:ok", "n1:ok", "n1:ok", "n1:affinity"}},
		{"L3.4 other selectors", "a label that is asked for is not in an empty set", "anti h app=tgt nssel=secret", testkit.ByRelease[string]{"n1:anti", "n1:anti", "n1:anti", "n1:anti"}},
	}, func(t *testing.T, tc test) {
		for _, v := range release.Versions() {
			require.Equal(t, tc.want.In(v), verdicts(w, count(w, pod("default", "", tc.term), affinity.PodOptions{Release: v}).Check), "%s: %s", v, tc.why)
		}
	})

	placed := func(p *v1.Pod) *v1.Pod {
		p = p.DeepCopy()
		p.UID, p.Spec.NodeName = "other", "n1"
		return p
	}
	nominated := func(p *v1.Pod) *v1.Pod {
		p = placed(p)
		p.Spec.NodeName, p.Status.NominatedNodeName = "", "n1"
		return p
	}
	me := pod("default", "app=p")
	relabelled := me.DeepCopy()
	relabelled.Labels = map[string]string{"app": "other"}
	apart, twice := pod("default", "app=p", "anti h app=q"), pod("default", "app=p", "anti h app=q", "anti h app=zzz")
	type hint struct {
		name, why     string
		pod, old, new *v1.Pod
		want          testkit.ByRelease[bool]
	}
	testkit.Run(t, []hint{
		{"L7.7", "the pod is relabelled", me, me, relabelled, testkit.ByRelease[bool]{false, false, true, true}},
		{"L7.8", "the pod that leaves kept this pod out", me, placed(pod("default", "app=q", "anti h app=p")), nil, testkit.ByRelease[bool]{false, false, true, true}},
		{"L7.9 deletion", "the pod that leaves meets one of two terms", twice, placed(pod("default", "app=q")), nil, testkit.ByRelease[bool]{false, false, false, true}},
		{"L7.9 update", "the pod meets one of two terms no more", twice, placed(pod("default", "app=q")), placed(pod("default", "app=x")), testkit.ByRelease[bool]{false, false, false, true}},
		{"L7.9 one term", "all is one", apart, placed(pod("default", "app=q")), nil, testkit.ByRelease[bool]{true, true, true, true}},
		{"L7.10", "the pod that leaves is nominated only", apart, nominated(pod("default", "app=q")), nil, testkit.ByRelease[bool]{false, false, true, true}},
	}, func(t *testing.T, tc hint) {
		for _, v := range release.Versions() {
			got, err := affinity.PodOptions{Release: v}.WouldHelp(tc.pod, object(tc.old), object(tc.new))
			require.NoError(t, err)
			require.Equal(t, tc.want.In(v), got, "%s: %s", v, tc.why)
		}
	})
}

package disruption

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/internal/testkit"
)

func TestTreat(t *testing.T) {
	make := func(owner string, change ...func(p *v1.Pod)) *v1.Pod {
		p := healthyPod("p", owner)
		for _, c := range change {
			c(p)
		}
		return p
	}
	finished := func(p *v1.Pod) { p.Status.Phase = v1.PodFailed }
	mirror := func(p *v1.Pod) { p.Annotations = map[string]string{"kubernetes.io/config.mirror": ""} }
	emptyDir := func(p *v1.Pod) {
		p.Spec.Volumes = []v1.Volume{{VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{}}}, {VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: v1.StorageMediumMemory}}}}
	}
	hostPath := func(p *v1.Pod) {
		p.Spec.Volumes = []v1.Volume{{VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{}}}}
	}
	old := func(p *v1.Pod) { p.OwnerReferences[0].APIVersion = "extensions/v1beta1" }
	gone := func(string, string) bool { return false }
	deleted := func(p *v1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: now.Add(-time.Minute)} }
	type test struct {
		name   string
		pod    *v1.Pod
		o      DrainOptions
		want   treatment
		reason string
	}
	testkit.Run(t, []test{
		{"managed", make("ReplicaSet/a"), DrainOptions{}, leave, ""},
		{"job", make("Job/a"), DrainOptions{}, leave, ""},
		{"daemon set", make("DaemonSet/a"), DrainOptions{}, refuses, daemonSetRefused},
		{"daemon set ignored", make("DaemonSet/a"), DrainOptions{IgnoreDaemonSets: true}, skip, daemonSetSkipped},
		{"daemon set finished", make("DaemonSet/a", finished), DrainOptions{}, leave, ""},
		{"daemon set gone", make("DaemonSet/nope"), DrainOptions{DaemonSetExists: gone}, refuses, `cannot delete daemonsets.apps "nope" not found`},
		{"daemon set gone by force", make("DaemonSet/nope"), DrainOptions{DaemonSetExists: gone, Force: true}, leave, ""},
		{"daemon set gone is not ignored", make("DaemonSet/nope"), DrainOptions{DaemonSetExists: gone, IgnoreDaemonSets: true}, refuses, `cannot delete daemonsets.apps "nope" not found`},
		{"daemon set of an old version", make("DaemonSet/a", old), DrainOptions{}, leave, ""},
		{"mirror", make("", mirror), DrainOptions{}, skip, ""},
		{"mirror with local storage", make("", mirror, emptyDir), DrainOptions{}, skip, ""},
		{"local storage", make("ReplicaSet/a", emptyDir), DrainOptions{}, refuses, emptyDirRefused},
		{"local storage deleted", make("ReplicaSet/a", emptyDir), DrainOptions{DeleteEmptyDirData: true}, leave, ""},
		{"local storage of a finished pod", make("ReplicaSet/a", emptyDir, finished), DrainOptions{}, leave, ""},
		{"host path is not local storage", make("ReplicaSet/a", hostPath), DrainOptions{}, leave, ""},
		{"unmanaged", make(""), DrainOptions{}, refuses, unmanagedRefused},
		{"unmanaged by force", make(""), DrainOptions{Force: true}, leave, unmanagedDeleted},
		{"unmanaged and finished", make("", finished), DrainOptions{}, leave, ""},
		{"local storage and unmanaged: the last warning", make("", emptyDir), DrainOptions{Force: true, DeleteEmptyDirData: true}, leave, unmanagedDeleted},
		{"local storage before unmanaged", make("", emptyDir), DrainOptions{}, refuses, emptyDirRefused},
		{"terminating for long", make("", deleted), DrainOptions{SkipWaitForDelete: time.Second}, skip, ""},
		{"terminating not for so long", make("ReplicaSet/a", deleted), DrainOptions{SkipWaitForDelete: time.Hour}, leave, ""},
		{"terminating for exactly so long", make("ReplicaSet/a", deleted), DrainOptions{SkipWaitForDelete: time.Minute}, leave, ""},
		{"terminating for more than a nanosecond", make("ReplicaSet/a", deleted), DrainOptions{SkipWaitForDelete: 1}, skip, ""},
		{"not terminating", make("ReplicaSet/a"), DrainOptions{SkipWaitForDelete: time.Second}, leave, ""},
		{"terminating", make("ReplicaSet/a", deleted), DrainOptions{}, leave, ""},
	}, func(t *testing.T, c test) {
		got, reason := treat(c.pod, c.o, now)
		require.Equal(t, c.want, got)
		require.Equal(t, c.reason, reason)
	})
}

func TestSelect(t *testing.T) {
	place := func(name, owner, node string) *v1.Pod {
		p := healthyPod("d/"+name, owner)
		p.Spec.NodeName = node
		return p
	}
	pods := []*v1.Pod{place("b", "DaemonSet/a", "n"), place("x", "", "n"), place("far", "", "m"), place("a", "DaemonSet/a", "n"), place("ok", "ReplicaSet/r", "n")}
	s := Select("n", pods, DrainOptions{}, now)
	require.Equal(t, [][]Treated{{{pods[4], ""}}, nil, {{pods[0], daemonSetRefused}, {pods[1], unmanagedRefused}, {pods[3], daemonSetRefused}}}, [][]Treated{s.Leaving, s.Skipped, s.Refused})
	require.Empty(t, s.Warnings)
	require.Equal(t, []string{
		"cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore): d/b, d/a",
		"cannot delete Pods that declare no controller (use --force to override): d/x",
	}, s.Errors)
	s = Select("n", pods, DrainOptions{Force: true, IgnoreDaemonSets: true}, now)
	require.Equal(t, Selection{Leaving: []Treated{{pods[1], unmanagedDeleted}, {pods[4], ""}}, Skipped: []Treated{{pods[0], daemonSetSkipped}, {pods[3], daemonSetSkipped}}, Warnings: s.Warnings}, s)
	require.Equal(t, []string{"ignoring DaemonSet-managed Pods: d/b, d/a", "deleting Pods that declare no controller: d/x"}, s.Warnings)
	s = Select("n", pods, DrainOptions{PodSelector: labels.SelectorFromSet(labels.Set{"app": "other"})}, now)
	require.Equal(t, Selection{}, s)
	pods[4].Labels = map[string]string{"app": "other"}
	s = Select("n", pods, DrainOptions{PodSelector: labels.SelectorFromSet(labels.Set{"app": "other"})}, now)
	require.Equal(t, Selection{Leaving: []Treated{{pods[4], ""}}}, s)
}

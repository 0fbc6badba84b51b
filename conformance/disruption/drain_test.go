// Package disruption_test holds podberth's budgets, eviction decisions and drains against the disruption controller, the API
// server and kubectl.
package disruption_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
	"k8s.io/kubectl/pkg/drain"

	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/eviction/disruption"
)

func init() { klog.SetLogger(logr.Discard()) }

// TestDrain sorts random pods of a node as kubectl drain does: the pods that leave, and the texts of warnings and errors.
func TestDrain(t *testing.T) {
	trial.Run(t, 800, 120, func(s *trial.Source) error {
		//nolint:staticcheck // no managed fields are needed
		client := fake.NewSimpleClientset()
		now := time.Now()
		sets := map[string]bool{}
		for _, name := range []string{"d1", "d2"} {
			if s.N(3) > 0 {
				sets[name] = true
				if err := client.Tracker().Add(&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name}}); err != nil {
					return err
				}
			}
		}
		o := disruption.DrainOptions{Force: s.Once(2), IgnoreDaemonSets: s.Once(2), DeleteEmptyDirData: s.Once(2), DaemonSetExists: func(ns, name string) bool { return ns == "n" && sets[name] }}
		h := &drain.Helper{Ctx: context.Background(), Client: client, Force: o.Force, IgnoreAllDaemonSets: o.IgnoreDaemonSets, DeleteEmptyDirData: o.DeleteEmptyDirData, GracePeriodSeconds: -1}
		if s.Once(3) {
			h.PodSelector = trial.Pick(s, "l=1", "l!=1", "l", "!l")
			selector, err := labels.Parse(h.PodSelector)
			if err != nil {
				return err
			}
			o.PodSelector = selector
		}
		if s.Once(3) {
			h.SkipWaitForDeleteTimeoutSeconds = 30
			o.SkipWaitForDelete = 30 * time.Second
		}
		s.Note("force %v, ignore daemon sets %v, delete emptyDir %v, selector %q, skip %d, daemon sets %v", o.Force, o.IgnoreDaemonSets, o.DeleteEmptyDirData, h.PodSelector, h.SkipWaitForDeleteTimeoutSeconds, sets)
		var pods []*v1.Pod
		for i := range s.N(6) {
			p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: trial.Pick(s, "n", "m"), Name: fmt.Sprint("p", i), UID: types.UID(fmt.Sprint(i))}}
			p.Spec.NodeName = "node"
			p.Status.Phase = trial.Pick(s, v1.PodRunning, v1.PodRunning, v1.PodPending, v1.PodSucceeded, v1.PodFailed)
			if s.N(2) > 0 {
				p.Labels = map[string]string{"l": trial.Pick(s, "1", "2")}
			}
			controller := s.N(8) > 0
			switch s.N(5) {
			case 1:
				p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: trial.Pick(s, "d1", "d2"), Controller: &controller}}
			case 2, 3:
				p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "r", Controller: &controller}}
			}
			if s.Once(5) {
				p.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "x"}
			}
			if s.Once(3) {
				p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
			}
			if s.Once(4) {
				at := metav1.NewTime(now.Add(-trial.Pick(s, time.Minute, time.Second, -time.Minute)))
				p.DeletionTimestamp = &at
				p.Finalizers = []string{"a/b"}
			}
			s.Note("%s/%s %s labels %v owners %v annotations %v volumes %d deleted %v", p.Namespace, p.Name, p.Status.Phase, p.Labels, p.OwnerReferences, p.Annotations, len(p.Spec.Volumes), p.DeletionTimestamp)
			pods = append(pods, p)
			if err := client.Tracker().Add(p.DeepCopy()); err != nil {
				return err
			}
		}
		// kubectl sees pods by namespace and name
		slices.SortFunc(pods, func(a, b *v1.Pod) int { return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name) })
		list, errs := h.GetPodsForDeletion("node")
		got := disruption.Select("node", pods, o, now)
		var wantErrs, want, mine []string
		for _, e := range errs {
			wantErrs = append(wantErrs, e.Error())
		}
		if fmt.Sprint(sorted(wantErrs)) != fmt.Sprint(sorted(got.Errors)) {
			return fmt.Errorf("errors:\nreal     %q\npodberth %q", wantErrs, got.Errors)
		}
		for range errs {
			s.Count("error")
		}
		if list == nil || len(errs) > 0 {
			return nil
		}
		for _, p := range list.Pods() {
			want = append(want, p.Namespace+"/"+p.Name)
		}
		for _, x := range got.Leaving {
			mine = append(mine, x.Pod.Namespace+"/"+x.Pod.Name)
			s.Count("goes")
		}
		for range got.Skipped {
			s.Count("stays")
		}
		if fmt.Sprint(want) != fmt.Sprint(mine) {
			return fmt.Errorf("to delete: real %v, podberth %v", want, mine)
		}
		if w := strings.Join(got.Warnings, "; "); fmt.Sprint(sorted(strings.Split(list.Warnings(), "; "))) != fmt.Sprint(sorted(strings.Split(w, "; "))) {
			return fmt.Errorf("warnings: real %q, podberth %q", list.Warnings(), w)
		}
		if list.Warnings() != "" {
			s.Count("warning")
		}
		return nil
	}, "error", "goes", "stays", "warning")
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

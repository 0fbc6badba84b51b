package upgrade

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/program"
)

// Pods of the default scheduler that are not finished are looked at: those that wait, and those that run and stay.
func TestWhichPods(t *testing.T) {
	type test struct {
		name   string
		node   string
		change func(p *v1.Pod)
		want   summary
	}
	testkit.Run(t, []test{
		{"waits", "", func(*v1.Pod) {}, summary{Pending: 1}},
		{"runs", "n1", func(*v1.Pod) {}, summary{Running: 1}},
		{"leaves", "n1", func(p *v1.Pod) { p.DeletionTimestamp = &metav1.Time{} }, summary{}},
		{"default scheduler", "", func(p *v1.Pod) { p.Spec.SchedulerName = v1.DefaultSchedulerName }, summary{Pending: 1}},
		{"other scheduler", "", func(p *v1.Pod) { p.Spec.SchedulerName = "other" }, summary{}},
		{"no scheduler", "", func(p *v1.Pod) { p.Spec.SchedulerName = "" }, summary{Pending: 1}},
		{"succeeded", "n1", func(p *v1.Pod) { p.Status.Phase = v1.PodSucceeded }, summary{}},
		{"failed", "", func(p *v1.Pod) { p.Status.Phase = v1.PodFailed }, summary{}},
		{"other namespace", "", func(p *v1.Pod) { p.Namespace = "other" }, summary{}},
	}, func(t *testing.T, c test) {
		p := testkit.Pod("p").On(c.node).Obj()
		p.Namespace = "a"
		c.change(p)
		m := &dump.Objects{Nodes: []*v1.Node{testkit.Node("n1").Obj()}, Pods: []*v1.Pod{p}}
		a := &upgradeReport{}
		o := options{Common: program.Common{Tables: program.Tables{Namespace: "a"}}, Bounds: program.Bounds{Steps: 1}, from: version{release.V1_36}, to: version{release.V1_37}}
		a.decisions(t.Context(), m, o, io.Discard)
		require.Equal(t, c.want, a.Summary)
	})
}

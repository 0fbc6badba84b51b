package taints_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/taints"
)

// show writes tolerations in short: key operator value effect seconds, without the prefix of Kubernetes' own keys.
func show(ts []v1.Toleration) []string {
	var out []string
	for _, t := range ts {
		s := fmt.Sprintf("%s %s %s %s", t.Key, t.Operator, t.Value, t.Effect)
		if t.TolerationSeconds != nil {
			s += fmt.Sprintf(" %d", *t.TolerationSeconds)
		}
		out = append(out, strings.Join(strings.Fields(strings.ReplaceAll(s, "node.kubernetes.io/", "")), " "))
	}
	return out
}

func TestMergeTolerations(t *testing.T) {
	type test struct {
		name string
		a, b []v1.Toleration
		want []string
		why  string
	}
	cases := []test{
		{"longer replaces shorter", tols(stay("a", 10)), tols(stay("a", 20)), []string{"a Exists NoExecute 20"}, "the longer toleration covers the shorter toleration"},
		{"shorter adds nothing", tols(stay("a", 20)), tols(stay("a", 10)), []string{"a Exists NoExecute 20"}, "covered already"},
		{"no limit covers", tols(stay("a", 20)), tols(stay("a", forever)), []string{"a Exists NoExecute"}, "for ever is longest"},
		{"equal", tols(stay("a", 20), stay("b", 1)), tols(stay("a", 20)), []string{"a Exists NoExecute 20", "b Exists NoExecute 1"}, "the first of equal tolerations stays"},
		{"exists covers equal", tols(tol("a Equal v NoSchedule")), tols(tol("a Exists _ _")), []string{"a Exists"}, "any value, any effect"},
		{"equal does not cover exists", tols(tol("a Exists _ NoSchedule")), tols(tol("a Equal v NoSchedule")), []string{"a Exists NoSchedule"}, "the wider toleration stays"},
		{"values differ", tols(tol("a Equal v _")), tols(tol("a Equal w _")), []string{"a Equal v", "a Equal w"}, "neither covers"},
		{"operator empty covers equal", tols(tol("a _ v _")), tols(tol("a Equal v _")), []string{"a v"}, "the empty operator covers Equal"},
		{"operator empty is not covered", tols(tol("a Equal v NoSchedule"), tol("a _ v NoSchedule")), tols(tol("a _ v _")), []string{"a v NoSchedule", "a v"}, "only Equal itself is covered by a value"},
		{"numbers", tols(tol("a Gt 5 NoSchedule")), tols(tol("a Gt 5 _")), []string{"a Gt 5 NoSchedule", "a Gt 5"}, "Gt and Lt cover nothing but equals"},
		{"every key", tols(tol("a Equal v _")), tols(tol("_ Equal v _")), []string{"a Equal v", "Equal v"}, "an empty key covers only with Exists"},
		{"seconds of any effect", tols(stay("a", forever)), tols(tol("a Exists _ _", 5)), []string{"a Exists 5"}, "seconds count only for effect NoExecute"},
		{"effects differ", tols(tol("a Exists _ NoSchedule")), tols(tol("a Exists _ NoExecute")), []string{"a Exists NoSchedule", "a Exists NoExecute"}, "neither covers"},
	}
	testkit.Run(t, cases, func(t *testing.T, c test) {
		require.Equal(t, c.want, show(taints.MergeTolerations(c.a, c.b)))
	})
	a := tols(stay("a", 20))
	*taints.MergeTolerations(a, nil)[0].TolerationSeconds = 5
	require.Equal(t, []string{"a Exists NoExecute 20"}, show(a), "the result shares no seconds with the input")
}

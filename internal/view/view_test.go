package view_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/internal/view"
)

// nodes is a cluster without optional interfaces.
type nodes []*v1.Node

func (n nodes) Len() int            { return len(n) }
func (n nodes) Node(i int) *v1.Node { return n[i] }

// indexed is a cluster with the optional interfaces.
type indexed struct {
	nodes
	ids, reps []int32
	ok        bool
}

func (c indexed) Classes([]string) (ids, reps []int32, ok bool) { return c.ids, c.reps, c.ok }
func (c indexed) Domains(string) ([]int32, int, int)            { return c.ids, 7, 5 }

func node(name, zone string) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	if zone != "" {
		n.Labels["zone"] = zone
	}
	return n
}

func name(n *v1.Node) string { return n.Name }

func TestDomainsWithoutIndex(t *testing.T) {
	c := nodes{node("n1", "b"), nil, node("n2", "a"), node("n3", ""), node("n4", "b")}
	ids, count, have := view.Domains(c, "zone")
	if diff := cmp.Diff([]int32{0, -1, 1, -1, 0}, ids); diff != "" || count != 2 || have != 3 {
		t.Errorf("ids (-want +got):\n%s count %d, have %d, want 2 and 3", diff, count, have)
	}
}

func TestDomainsOfTheCluster(t *testing.T) {
	ids, count, have := view.Domains(indexed{ids: []int32{4, 2}}, "zone")
	if diff := cmp.Diff([]int32{4, 2}, ids); diff != "" || count != 7 || have != 5 {
		t.Errorf("ids (-want +got):\n%s count %d, have %d, want 7 and 5", diff, count, have)
	}
}

func TestClassify(t *testing.T) {
	c := nodes{node("n1", ""), nil, node("n2", ""), node("n3", "")}
	type test struct {
		name, why string
		cluster   view.Nodes
		offered   bool
		want      []string // by slot, "" without an answer
		asked     int
	}
	testkit.Run(t, []test{
		{"no classes", "the cluster has no method Classes", c, false, []string{"", "", "", ""}, 0},
		{"reads refused", "ok is false", indexed{c, []int32{0, -1, 0, 0}, []int32{0}, false}, false, []string{"", "", "", ""}, 0},
		{"two classes", "each class is decided once", indexed{c, []int32{1, -1, 0, 1}, []int32{2, 0}, true}, true,
			[]string{"n1", "", "n2", "n1"}, 2},
		{"a class without nodes", "its number is skipped", indexed{c, []int32{1, -1, 1, 1}, []int32{-1, 0}, true}, true,
			[]string{"n1", "", "n1", "n1"}, 1},
		{"a class whose node left", "its slot is free", indexed{c, []int32{0, -1, 0, 0}, []int32{0, 1}, true}, true,
			[]string{"n1", "", "n1", "n1"}, 1},
		{"a class without a number", "the slot has no answer", indexed{c, []int32{0, -1, 1, 0}, []int32{0}, true}, true,
			[]string{"n1", "", "", "n1"}, 1},
		{"fewer ids than slots", "the slot has no answer", indexed{c, []int32{0}, []int32{0}, true}, true,
			[]string{"n1", "", "", ""}, 1},
	}, func(t *testing.T, tc test) {
		asked := 0
		answers := view.Classify(tc.cluster, nil, func(n *v1.Node) string { asked++; return name(n) })
		if answers.Offered() != tc.offered || asked != tc.asked {
			t.Errorf("offered %v, decided %d times, want %v and %d: %s", answers.Offered(), asked, tc.offered, tc.asked, tc.why)
		}
		for i, want := range tc.want {
			got := ""
			if a := answers.At(i); a != nil {
				got = *a
			}
			if got != want {
				t.Errorf("slot %d: %q, want %q: %s", i, got, want, tc.why)
			}
		}
		if len(answers.Answers()) > 0 != tc.offered {
			t.Errorf("%d answers, offered %v", len(answers.Answers()), tc.offered)
		}
		if answers.At(-1) != nil || answers.At(len(tc.want)) != nil {
			t.Error("a slot outside the cluster has an answer")
		}
	})
}

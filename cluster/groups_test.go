package cluster

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/podgroup"
)

var _ podgroup.Objects = (*Snapshot)(nil)

func groupNamed(name string) *podgroup.Group {
	return &podgroup.Group{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

func compositeNamed(name string) *podgroup.Composite {
	return &podgroup.Composite{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

func memberOf(group, name, node string) *v1.Pod {
	p := testkit.Pod(name).On(node).Obj()
	p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group}
	return p
}

func membersOf(s *Snapshot, group string) (names []string) {
	for p, i := range s.Members("default", group) {
		node := "nowhere"
		if i >= 0 {
			node = s.Node(i).Name
		}
		names = append(names, p.Name+"@"+node)
	}
	return names
}

// Groups are objects as others: Set, Remove, Rollback and Fork know them, and no kept work depends on them.
func TestGroups(t *testing.T) {
	s, err := New(Objects{PodGroups: []*podgroup.Group{groupNamed("g")}, CompositePodGroups: []*podgroup.Composite{compositeNamed("c")}})
	require.NoError(t, err)
	require.Nil(t, s.Group("default", "h"))
	require.Nil(t, s.Composite("other", "c"))
	mark, fork, version := s.Mark(), s.Fork(), s.Version()
	newer := groupNamed("g")
	require.NoError(t, s.Set(newer))
	require.NoError(t, s.Set(groupNamed("h")))
	require.NoError(t, s.Remove(compositeNamed("c")))
	require.Same(t, newer, s.Group("default", "g"))
	require.Len(t, slices.Collect(s.Groups("default")), 2)
	require.Empty(t, slices.Collect(s.Composites("default")))
	require.Len(t, slices.Collect(fork.Groups("default")), 1)
	s.Since(version, func(list []Event) {
		for _, e := range list {
			require.EqualValues(t, -3, e.Node, "no filter and no score reads groups")
		}
	})
	require.True(t, s.Rollback(mark))
	require.NotSame(t, newer, s.Group("default", "g"))
	require.Nil(t, s.Group("default", "h"))
	require.NotNil(t, s.Composite("default", "c"))
	require.Error(t, s.Remove(groupNamed("h")), "it is not there")
	require.Error(t, s.Set((*podgroup.Group)(nil)))
	require.Error(t, s.Set(compositeNamed("")))
	_, err = New(Objects{PodGroups: []*podgroup.Group{groupNamed("g"), groupNamed("g")}})
	require.ErrorIs(t, err, ErrDuplicate)
}

// The members of a group follow every change of pods: bound, assumed, orphaned, replaced by an object of another group.
func TestMembers(t *testing.T) {
	s, err := New(Objects{
		Nodes: []*v1.Node{testkit.Node("n1").Obj(), testkit.Node("n2").Obj()},
		Pods:  []*v1.Pod{memberOf("g", "a", "n1"), memberOf("g", "lost", "gone"), memberOf("h", "x", "n1"), testkit.Pod("alone").On("n1").Obj()},
	})
	require.NoError(t, err)
	require.Equal(t, []string{"a@n1", "lost@nowhere"}, membersOf(s, "g"))
	fork, mark := s.Fork(), s.Mark()
	b := memberOf("g", "b", "")
	require.NoError(t, s.Assume(b, 1))
	require.Equal(t, []string{"a@n1", "b@n2", "lost@nowhere"}, membersOf(s, "g"))
	require.NoError(t, s.Set(memberOf("h", "a", "n1")))
	require.Equal(t, []string{"b@n2", "lost@nowhere"}, membersOf(s, "g"))
	require.Equal(t, []string{"a@n1", "x@n1"}, membersOf(s, "h"))
	require.NoError(t, s.Set(testkit.Node("gone").Obj()))
	require.NoError(t, s.Remove(s.Node(0)))
	require.Equal(t, []string{"b@n2", "lost@gone"}, membersOf(s, "g"))
	require.Equal(t, []string{"a@nowhere", "x@nowhere"}, membersOf(s, "h"))
	require.NoError(t, s.Remove(b))
	require.Equal(t, []string{"lost@gone"}, membersOf(s, "g"))
	require.True(t, s.Rollback(mark))
	require.Equal(t, []string{"a@n1", "lost@nowhere"}, membersOf(s, "g"))
	require.Equal(t, []string{"a@n1", "lost@nowhere"}, membersOf(fork, "g"))
	require.Equal(t, []string{"x@n1"}, membersOf(fork, "h"))
}

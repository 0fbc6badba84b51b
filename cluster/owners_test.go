package cluster_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
)

// Objects are found by namespace and name among objects of the same name.
func TestOf(t *testing.T) {
	at := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	var objects cluster.Objects
	for _, namespace := range []string{"a", "b"} {
		objects.Services = append(objects.Services, &v1.Service{ObjectMeta: at(namespace, "x")}, &v1.Service{ObjectMeta: at(namespace, "y")})
		objects.ReplicationControllers = append(objects.ReplicationControllers, &v1.ReplicationController{ObjectMeta: at(namespace, "x")})
		objects.ReplicaSets = append(objects.ReplicaSets, &appsv1.ReplicaSet{ObjectMeta: at(namespace, "x")})
		objects.StatefulSets = append(objects.StatefulSets, &appsv1.StatefulSet{ObjectMeta: at(namespace, "x")})
	}
	s, err := cluster.New(objects)
	require.NoError(t, err)
	of := cluster.Owners{s}
	require.ElementsMatch(t, objects.Services[2:], slices.Collect(of.Services("b")))
	require.Empty(t, slices.Collect(of.Services("c")))
	require.Same(t, objects.ReplicationControllers[1], of.ReplicationController("b", "x"))
	require.Same(t, objects.ReplicaSets[1], of.ReplicaSet("b", "x"))
	require.Same(t, objects.StatefulSets[1], of.StatefulSet("b", "x"))
	for _, name := range [][2]string{{"c", "x"}, {"b", "y"}} {
		require.Nil(t, of.ReplicationController(name[0], name[1]))
		require.Nil(t, of.ReplicaSet(name[0], name[1]))
		require.Nil(t, of.StatefulSet(name[0], name[1]))
	}
}

package dump

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/testkit"
)

// Controllers and references without UIDs get UIDs that agree: that of the first reference, that of the object, or a text of
// the object's group, kind, namespace and name.
func TestWorkloads(t *testing.T) {
	o, err := readText(`
{apiVersion: v1, kind: Pod, metadata: {name: a, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, controller: true}]}, spec: {}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: from-b, controller: true}]}, spec: {}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b-2, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: another, controller: true}]}, spec: {}}
---
{apiVersion: v1, kind: Pod, metadata: {name: c, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, controller: true}]}, spec: {}}
---
{apiVersion: v1, kind: Pod, metadata: {name: c, namespace: other, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, controller: true}, {apiVersion: batch/v1, kind: Job, name: none}]}, spec: {}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-1, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: from-set, controller: true}]}, spec: {replicas: 3}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-1b, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: another-set, controller: true}]}, spec: {replicas: 3}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-2, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, controller: true}]}, spec: {replicas: 0}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {}}
---
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, uid: own}, spec: {replicas: 2}}
---
{apiVersion: v1, kind: ReplicationController, metadata: {name: old}, spec: {}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: once}, spec: {parallelism: 4}}
---
{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent}, spec: {}}
`, Options{})
	require.NoError(t, err)
	got := o.Workloads()
	n := func(n int32) *int32 { return &n }
	type line struct {
		APIVersion, Kind, Name, UID, Owner string
		Replicas                           *int32
	}
	var lines []line
	for _, w := range got {
		l := line{w.APIVersion, w.Kind, w.Namespace + "/" + w.Name, string(w.UID), "", w.Replicas}
		if w.Controller != nil {
			l.Owner = string(w.Controller.UID)
		}
		lines = append(lines, l)
	}
	require.Equal(t, []line{
		{"v1", "ReplicationController", "default/old", "v1 ReplicationController default/old", "", n(1)},
		{"apps/v1", "ReplicaSet", "default/web-1", "from-b", "from-set", n(3)},
		{"apps/v1", "ReplicaSet", "default/web-1b", "apps ReplicaSet default/web-1b", "another-set", n(3)},
		{"apps/v1", "ReplicaSet", "default/web-2", "apps ReplicaSet default/web-2", "from-set", n(0)},
		{"apps/v1", "Deployment", "default/web", "from-set", "", n(1)},
		{"apps/v1", "StatefulSet", "default/db", "own", "", n(2)},
		{"batch/v1", "Job", "default/once", "batch Job default/once", "", nil},
		{"apps/v1", "DaemonSet", "default/agent", "apps DaemonSet default/agent", "", nil},
	}, lines)
	var references []string
	for _, p := range o.Pods {
		for _, r := range p.OwnerReferences {
			references = append(references, p.Namespace+"/"+p.Name+" "+string(r.UID))
		}
	}
	require.Equal(t, []string{"default/a from-b", "default/b from-b", "default/b-2 another", "default/c own", "other/c ", "other/c "}, references, "no object of another namespace is the owner")
	require.Equal(t, []disruption.Workload(nil), new(Objects).Workloads())
}

// The cluster of a dump has the namespaces that pods name alone, and every list of the dump.
func TestCluster(t *testing.T) {
	o, err := readText(`
{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {team: a}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: shop}, spec: {}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: other}, spec: {}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b, namespace: other}, spec: {}}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: system-node-critical}, value: 2000001000}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: mine}, value: 5}
`, Options{})
	require.NoError(t, err)
	var namespaces []string
	labels := map[string]map[string]string{}
	for _, n := range o.Cluster().Namespaces {
		namespaces = append(namespaces, n.Name)
		labels[n.Name] = n.Labels
	}
	require.Equal(t, []string{"shop", "other"}, namespaces)
	require.Equal(t, map[string]string{"kubernetes.io/metadata.name": "other"}, labels["other"])
	require.Equal(t, "a", labels["shop"]["team"])
	require.Len(t, o.Namespaces, 1, "the dump has what it had")
	var classes []string
	for _, c := range o.AllPriorityClasses() {
		classes = append(classes, c.Name)
	}
	require.ElementsMatch(t, []string{"system-node-critical", "mine", "system-cluster-critical"}, classes)
	require.Len(t, o.Admission().PriorityClasses, 3)
	require.Len(t, o.Admission().Namespaces, 1)
}

// notRead are the lists that no object of a dump comes into: lines of text, and groups of pods, which dumps do not have yet.
var notRead = []string{"UnknownFields", "PodGroups", "CompositePodGroups"}

// Every kind of object that a snapshot holds comes into the cluster, and every kind into Objects.
func TestEveryKindComesIntoTheCluster(t *testing.T) {
	o := &Objects{}
	for name, k := range kinds {
		object := k.make()
		object.SetName("a")
		k.add(o, object)
		require.Equal(t, []metav1.Object{object}, k.list(o), name)
	}
	for _, of := range []any{*o, o.Cluster(), o.Admission()} {
		v := reflect.ValueOf(of)
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.Type.Kind() == reflect.Slice && !slices.Contains(notRead, field.Name) {
				require.Positive(t, v.Field(i).Len(), "%s of %T", field.Name, of)
			}
		}
	}
}

// A missing budget could save pods only from a pod that may preempt them.
func TestAbsentBudgets(t *testing.T) {
	pod := func(name, rest string) string {
		return "---\n{apiVersion: v1, kind: Pod, metadata: {name: " + name + "}, spec: {" + rest + "}}\n"
	}
	asking := pod("p", "priority: 5")
	testkit.Run(t, []struct {
		name, text string
		want       bool
	}{
		{"a lower pod before a higher", asking + pod("a", "nodeName: n1, priority: 1") + pod("b", "nodeName: n1, priority: 9"), true},
		{"a lower pod behind a higher", asking + pod("a", "nodeName: n1, priority: 9") + pod("b", "nodeName: n1, priority: 1"), true},
		{"a higher pod", asking + pod("a", "nodeName: n1, priority: 9"), false},
		{"an equal pod", asking + pod("a", "nodeName: n1, priority: 5"), false},
		{"nobody", asking, false},
		{"below 0", pod("p", "priority: -5") + pod("a", "nodeName: n1, priority: -6"), true},
	}, func(t *testing.T, c struct {
		name, text string
		want       bool
	}) {
		o, err := readText(c.text, Options{})
		require.NoError(t, err)
		o.Absent(Asks{Placed: Pending})
		require.Len(t, o.Warnings.Lines(), 1)
		require.Equal(t, c.want, strings.Contains(o.Warnings.Lines()[0], "PodDisruptionBudget"))
	})
}

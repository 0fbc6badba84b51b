package anonymise

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/tools/dump"
)

// Claims and pods that controllers make get names after the new names of their owners. Other claims and pods whose names look alike do not.
func TestNamesThatControllersGive(t *testing.T) {
	claim := func(name, namespace, owner string) string {
		if owner != "" {
			owner = ", ownerReferences: [{apiVersion: v1, kind: " + owner + ", uid: u, controller: true}]"
		}
		return "---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: " + name + ", namespace: " + namespace + owner + "}}\n"
	}
	input := `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: web, namespace: shop}, spec: {volumeClaimTemplates: [{metadata: {name: data}}, {metadata: {name: logs}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web-0, namespace: shop, ownerReferences: [{apiVersion: apps/v1, kind: Job, name: web, uid: w}, {apiVersion: apps/v1, kind: StatefulSet, name: web, uid: v, controller: true}]}, spec: {volumes: [{name: scratch, ephemeral: {volumeClaimTemplate: {}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: alone-9, namespace: shop}}
---
{apiVersion: v1, kind: Pod, metadata: {name: abc-x, namespace: shop, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: abc, uid: s, controller: true}]}}
` + claim("data-web-0", "shop", "") + claim("logs-web-12", "shop", "") + claim("data-web-x", "shop", "") + claim("data-other-0", "shop", "") + claim("data-web-1", "other", "") +
		claim("web-0-scratch", "shop", "Pod, name: web-0") + claim("web-0-none", "shop", "Pod, name: web-0") + claim("web-7", "shop", "StatefulSet, name: web") + claim("alone", "shop", "Pod, name: web-0")
	objects, err := dump.Read([]string{"-"}, strings.NewReader(input), dump.Options{})
	require.NoError(t, err)
	list, names, err := Objects(objects, nil)
	require.NoError(t, err)
	fresh := map[string]string{}
	for now, old := range names.Object {
		require.Empty(t, fresh[old], "one new name for %s", old)
		fresh[old] = now
	}
	set, volume := fresh["web"], map[string]string{}
	for now, old := range names.Volume {
		volume[old] = now
	}
	require.Regexp(t, `^x\d+$`, set)
	for old, want := range map[string]string{"web-0": set + "-0", "data-web-0": volume["data"] + "-" + set + "-0", "logs-web-12": volume["logs"] + "-" + set + "-12", "web-0-scratch": set + "-0-" + volume["scratch"]} {
		require.Equal(t, want, fresh[old], old)
	}
	plain := regexp.MustCompile(`^x\d+$`)
	for _, old := range []string{"alone-9", "abc-x", "data-web-x", "data-other-0", "data-web-1", "web-0-none", "web-7", "alone"} {
		require.Regexp(t, plain, fresh[old], old)
	}
	require.Len(t, list, len(fresh)-1-strings.Count(input, "abc, uid")+1, "every object, and the owner that is not there")
	require.Equal(t, "the pod web-0 has data-web-0", names.Back("the pod "+fresh["web-0"]+" has "+fresh["data-web-0"]))
}

// New names sort between the names that stay, where a letter can do that.
func TestBetween(t *testing.T) {
	for _, c := range [][4]string{
		{"", "", "key-", ""}, {"a", "z", "key-", ""}, {"l", "", "key-", "l"}, {"l", "z", "key-", "l"}, {"a", "b", "key-", "a"}, {"key-5", "", "key-", "k"}, {"", "key-5", "key-", "a"},
		{"kubernetes.io/a", "kubernetes.io/c", "key-", "kubernetes.io/a"}, {"kubernetes.io/a", "kubernetes.io/b", "key-", "kubernetes.io/a"}, {"z", "", "key-", "z"}, {"z~", "", "key-", ""}, {"a", "key-", "x", "a"}, {"key-", "key-~", "key-", "key-a"},
		{"key-", "", "key-", "k"}, {"", "key-~", "key-", "a"}, {"", "key-~~", "key-", ""},
	} {
		require.Equal(t, c[3], between(c[0], c[1], c[2]), "%v", c)
	}
}

// A text gets back the names that stand in its words, the longest first.
func TestBack(t *testing.T) {
	n := &Names{Node: map[string]string{"node-001": "a1"}, Object: map[string]string{"x001": "web", "x001-0": "web-0"}, Namespace: map[string]string{"ns-001": "shop"}, Key: map[string]string{"key-001": "team"}, Image: map[string]string{"registry.example/image-001:v1": "nginx:1"}, Volume: map[string]string{"vol-001": "data"}, Value: map[string]string{"v001": "red"}}
	for text, want := range map[string]string{
		"": "", "nothing": "nothing", "ns-001/x001": "shop/web", "node-001 has registry.example/image-001:v1": "a1 has nginx:1", "key-001=v001": "team=red", "vol-001-x001-5": "data-web-5", "x002": "x002", "(x001)": "(web)",
		"node-002": "node-002", "b.key-001": "b.team", "key-001/zone": "team/zone", "node-001-abcdefghijklmnopqrstuvwx": "a1-abcdefghijklmnopqrstuvwx",
	} {
		require.Equal(t, want, n.Back(text), text)
	}
}

// What is no object and no text stays away, and labels that are no map stay as they are.
func TestOddTrees(t *testing.T) {
	w := &walker{books: map[rule]*book{nsName: newBook("ns-"), nameOf: newBook("x"), labelKey: newBook("key-"), labelMap: newBook("v")}}
	require.Equal(t, 7, w.labels(7))
	x, ok := w.all("text", "spec")
	require.Nil(t, x)
	require.False(t, ok)
	x, ok = w.all([]any{"a", 7, Tree{"kind": "K"}}, "namespaces")
	require.True(t, ok)
	require.Equal(t, []any{"a", Tree{"kind": "K"}}, x)
	x, _ = w.all([]any{"a"}, "other")
	require.Empty(t, x)
	require.Equal(t, map[string]bool{"a": true}, w.books[nsName].seen)
	require.Equal(t, 7, w.each(7, strings.ToUpper))
	require.Equal(t, []any{"A"}, w.each([]any{"a", 7}, strings.ToUpper))
	require.Equal(t, []string{"x:latest", "x:1", "host:5000/x:latest", "host:5000/x:1"}, []string{tagged("x"), tagged("x:1"), tagged("host:5000/x"), tagged("host:5000/x:1")})
}

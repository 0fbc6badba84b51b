package anonymise

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/drain"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/failures"
	"github.com/podberth/podberth/tools/place"
	"github.com/podberth/podberth/tools/taints"
)

// renamed returns a dump with new names, and a function that gives a text its old names back.
func renamed(t *testing.T, file string) (text string, back func(string) string) {
	t.Helper()
	objects, err := dump.Read([]string{file}, nil, dump.Options{})
	require.NoError(t, err)
	list, names, err := Objects(objects, nil)
	require.NoError(t, err)
	var b bytes.Buffer
	for _, x := range list {
		require.NoError(t, json.NewEncoder(&b).Encode(x))
	}
	return b.String(), names.Back
}

type program func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int

// The programs give the same answers about a dump with new names: byte for byte, once the old names are back.
func TestSameAnswers(t *testing.T) {
	const shop, nodes, zones = "../../examples/testdata/cluster.yaml", "../drain/testdata/cluster.yaml", "../failures/testdata/cluster.yaml"
	type test struct {
		name, file string
		run        program
		args       func(new func(string) string) []string
	}
	testkit.Run(t, []test{
		{"place", shop, place.Run, func(func(string) string) []string { return []string{"-o", "json", "-detail"} }},
		{"place with the best victims", shop, place.Run, func(func(string) string) []string { return []string{"-o", "json", "-preemption", "optimal"} }},
		{"failures", zones, failures.Run, func(func(string) string) []string { return []string{"-o", "json", "-headroom"} }},
		{"drain", nodes, drain.Run, func(new func(string) string) []string {
			return []string{"-o", "json", "-force", "-ignore-daemonsets", "-delete-emptydir-data", "-at", "2026-03-02T08:00:00Z", new("node-a1"), new("gpu-a1")}
		}},
		{"taints", shop, taints.Run, func(new func(string) string) []string {
			return []string{"-o", "json", "-admit", "-stop", new("general-a1")}
		}},
	}, func(t *testing.T, c test) {
		text, back := renamed(t, c.file)
		names := regexp.MustCompile(`node-\d+`).FindAllString(text, -1)
		forth := func(old string) string {
			for _, n := range names {
				if back(n) == old {
					return n
				}
			}
			t.Fatalf("no node %s", old)
			return ""
		}
		var want, got, errs bytes.Buffer
		same := func(s string) string { return s }
		require.Zero(t, c.run(t.Context(), append([]string{"-f", c.file}, c.args(same)...), nil, &want, io.Discard))
		require.Zero(t, c.run(t.Context(), append([]string{"-f", "-"}, c.args(forth)...), strings.NewReader(text), &got, &errs), errs.String())
		require.Equal(t, want.String(), back(got.String()))
	})
}

// No old name is left.
func TestNothingIsLeft(t *testing.T) {
	text, _ := renamed(t, "../../examples/testdata/cluster.yaml")
	for _, old := range []string{"general-a1", "postgres", "shop", "eu-1a", "warehouse", "cart"} {
		require.NotContains(t, text, old)
	}
}

// The label that has the name of its namespace gets the new name of the namespace, as the API server sets it.
func TestNameLabelOfNamespaces(t *testing.T) {
	objects, err := dump.Read([]string{"-"}, strings.NewReader(`{"apiVersion":"v1","kind":"List","items":[
		{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop","labels":{"kubernetes.io/metadata.name":"shop"}}},
		{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"shop"},"spec":{"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
			{"topologyKey":"kubernetes.io/hostname","labelSelector":{},"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"shop"}}}]}},"containers":[{"name":"c","image":"i"}]}}]}`), dump.Options{})
	require.NoError(t, err)
	list, _, err := Objects(objects, nil)
	require.NoError(t, err)
	var b bytes.Buffer
	for _, x := range list {
		require.NoError(t, json.NewEncoder(&b).Encode(x))
	}
	renamed, err := dump.Read([]string{"-"}, &b, dump.Options{})
	require.NoError(t, err)
	name := renamed.Namespaces[0].Name
	require.NotEqual(t, "shop", name)
	want := map[string]string{"kubernetes.io/metadata.name": name}
	require.Equal(t, want, renamed.Namespaces[0].Labels)
	require.Equal(t, name, renamed.Pods[0].Namespace)
	require.Equal(t, want, renamed.Pods[0].Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].NamespaceSelector.MatchLabels)
}

// What cannot get a new name without another answer is refused.
func TestRefusals(t *testing.T) {
	const nodes = `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}}
{"apiVersion":"v1","kind":"Node","metadata":{"name":"n2"}}
`
	pod := func(name, owner string) string {
		return `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"` + name + `","ownerReferences":[{"apiVersion":"apps/v1","kind":"StatefulSet","name":"` + owner + `","uid":"u","controller":true}]}}` + "\n"
	}
	claimed := func(name, template string) string {
		return `{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"` + name + `"},"spec":{"volumeClaimTemplates":[{"metadata":{"name":"` + template + `"}}]}}` + "\n"
	}
	claim := func(name string) string {
		return `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"` + name + `"}}` + "\n"
	}
	const (
		selectors = `{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu","selectors":[{"cel":{"expression":"device.attributes[\"x.example\"].host == NAME"}}]}}]}}`
		request   = `{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"c"},"spec":` + selectors + `}`
		template  = `{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimTemplate","metadata":{"name":"c"},"spec":{"spec":` + selectors + `}}`
	)
	type test struct{ name, input, want string }
	testkit.Run(t, []test{
		{"an expression that names a node", nodes + `{"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{"name":"gpu"},"spec":{"selectors":[{"cel":{"expression":"device.attributes[\"example.com\"].host == \"n1\""}}]}}`,
			`DeviceClass gpu: selectors: the expression "device.attributes[\"example.com\"].host == \"n1\"" names "n1", which gets a new name`},
		{"an order that a controller's names give", nodes + pod("web-1", "web") + `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-1a"}}` + "\n" + pod("web-2", "web"),
			`Pod default/web-2: metadata.name: would no longer sort after "web-1a"`},
		{"a claim that two templates give", claimed("b-c", "a") + claimed("c", "a-b") + claim("a-b-c-0"), `StatefulSet default/c: metadata.name: "a-b-c-0" is a name that two controllers would give`},
		{"a pod that two sets give", pod("web-0-1", "web") + strings.ReplaceAll(pod("web-0-1", "web-0"), `"metadata":{`, `"metadata":{"namespace":"other",`), `Pod other/web-0-1: metadata.name: "web-0-1" is a name that two controllers would give`},
		{"an expression in other quotes", nodes + strings.ReplaceAll(request, "NAME", "'n2'"), `ResourceClaim default/c: selectors: the expression "device.attributes[\"x.example\"].host == 'n2'" names "n2", which gets a new name`},
		{"an expression of a template", nodes + strings.ReplaceAll(template, "NAME", `\"c\"`), `ResourceClaimTemplate default/c: selectors: the expression "device.attributes[\"x.example\"].host == \"c\"" names "c", which gets a new name`},
		{"an expression with a namespace", strings.ReplaceAll(request, "NAME", "'default'"), `ResourceClaim default/c: selectors: the expression "device.attributes[\"x.example\"].host == 'default'" names "default", which gets a new name`},
	}, func(t *testing.T, c test) {
		objects, err := dump.Read([]string{"-"}, strings.NewReader(c.input), dump.Options{})
		require.NoError(t, err)
		_, _, err = Objects(objects, nil)
		require.EqualError(t, err, c.want)
	})
	for _, input := range []string{ // one controller for both, and names that are only alike
		claimed("web", "data") + claim("data-web-0") + claim("data-web-x") + strings.ReplaceAll(claimed("web", "data")+claim("data-web-0"), `"metadata":{"name":"w`, `"metadata":{"namespace":"other","name":"w`),
		pod("web-1", "web") + strings.ReplaceAll(pod("web-1", "web"), `"metadata":{`, `"metadata":{"namespace":"other",`),
		nodes + strings.ReplaceAll(request, "NAME", "'n3'") + strings.ReplaceAll(template, "NAME", `'x.example'`),
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a-b"}}`,
	} {
		objects, err := dump.Read([]string{"-"}, strings.NewReader(input), dump.Options{})
		require.NoError(t, err)
		_, _, err = Objects(objects, nil)
		require.NoError(t, err, input)
	}
	list, _, err := Objects(&dump.Objects{}, nil)
	require.NoError(t, err)
	require.Empty(t, list)
}

// Fields of the API that hold names and texts get new names or go; the new dump is read without a warning.
func TestReadable(t *testing.T) {
	for _, file := range []string{"../../examples/testdata/cluster.yaml", "../drain/testdata/cluster.yaml", "../failures/testdata/cluster.yaml", "../lint/testdata/documents_cluster.yaml", "../pressure/testdata/pods.yaml"} {
		text, _ := renamed(t, file)
		_, err := dump.Read([]string{"-"}, strings.NewReader(text), dump.Options{Strict: true})
		require.NoError(t, err, file)
	}
}

// The selector of a claim in the pod template of a ReplicationController is a label selector, the controller's own is a map of labels.
func TestSelectorsOfReplicationControllers(t *testing.T) {
	objects, err := dump.Read([]string{"-"}, strings.NewReader(`{apiVersion: v1, kind: ReplicationController, metadata: {name: old}, spec: {selector: {app: old}, template: {metadata: {labels: {app: old}}, spec: {
  containers: [{name: c}], volumes: [{name: v, ephemeral: {volumeClaimTemplate: {metadata: {labels: {tier: gold}}, spec: {selector: {matchLabels: {tier: gold}, matchExpressions: [{key: tier, operator: In, values: [gold, iron]}]}}}}}]}}}}`), dump.Options{})
	require.NoError(t, err)
	list, names, err := Objects(objects, nil)
	require.NoError(t, err)
	text, err := json.Marshal(list[0])
	require.NoError(t, err)
	require.NotContains(t, string(text), "gold")
	var c v1.ReplicationController
	require.NoError(t, json.Unmarshal(text, &c))
	require.Equal(t, c.Spec.Template.Labels, c.Spec.Selector)
	claim := c.Spec.Template.Spec.Volumes[0].Ephemeral.VolumeClaimTemplate
	require.Equal(t, claim.Labels, claim.Spec.Selector.MatchLabels)
	require.Len(t, claim.Spec.Selector.MatchExpressions, 1)
	e := claim.Spec.Selector.MatchExpressions[0]
	require.Equal(t, "In", string(e.Operator))
	require.Equal(t, claim.Labels[e.Key], e.Values[0])
	require.Equal(t, "gold", names.Back(e.Values[0]))
	require.Equal(t, "iron", names.Back(e.Values[1]))
}

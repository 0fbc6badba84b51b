package dump

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// Text that people have in the place of YAML is refused with what to run instead.
func TestForeignText(t *testing.T) {
	type test struct{ name, why, text, want string }
	testkit.Run(t, []test{
		{"describe", "the command is named", "Name:             web-0\nNamespace:        default\nLabels:           app=web\nEvents:\n  Type     Reason\n  ----     ------\n  Warning  Failed  9s: x: y\n", "is what kubectl describe prints: kubectl get with -o yaml"},
		{"table", "of kubectl get", "NAME    READY   STATUS\nweb-0: x: y\n", "is a table that kubectl get prints"},
		{"Helm", "the chart must be rendered", "kind: Pod\nmetadata:\n  name: {{ .Values.name }}: x\n  {{- if .x }}\n", "is a template of Helm: helm template prints"},
		{"dashes", "a word processor made a dash of two hyphens", "kind: Pod\nmetadata: {name: a}\n\u2013--\nkind: Pod\nmetadata: {name: b}\n", "has dashes that are no hyphens in line 3 of the document: three hyphens (---) part documents"},
		{"operations", "a patch is no manifest", "- op: replace\n  path: /spec/replicas\n  value: 3\n", "is a patch of kustomize: kubectl kustomize"},
		{"merge", "a patch is no manifest", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: w}\nspec: {template: {spec: {containers: [{name: c, $patch: delete}]}}}\n", "is a patch of kustomize: kubectl kustomize"},
		{"part", "a document without what the API server wants, beside the whole object", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: w}\nspec: {replicas: 1, selector: {matchLabels: {a: b}}}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: w}\nspec: {replicas: 3}\n",
			"document 2: without spec.selector, beside Deployment default/w at standard input: document 1, it is a patch of kustomize: kubectl kustomize"},
		{"part first", "the part is named, not the whole object", "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: w}\nspec: {replicas: 1}\n---\napiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: w}\nspec: {replicas: 3, selector: {matchLabels: {a: b}}}\n",
			"document 1: without spec.selector, beside StatefulSet default/w at standard input: document 2, it is a patch"},
		{"twins", "two whole objects of one name are no patch", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: w}\nspec: {replicas: 1}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: w}\nspec: {replicas: 3}\n", "metadata.name: Duplicate value"},
		{"old class without metadata", "the note of the conversion and the place of the name are said", "apiVersion: resource.k8s.io/v1alpha3\nkind: DeviceClass\nname: c\n",
			"metadata.name: Required value: every object has a name; the field name stands outside of metadata (DeviceClass is of resource.k8s.io/v1alpha3, read as resource.k8s.io/v1)"},
		{"kustomization", "nothing else is there", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n", "only Kustomization.kustomize.config.k8s.io: kubectl kustomize"},
		{"list", "the error about objects stays", "- a\n- b\n", "must be an object with apiVersion and kind"},
		{"other", "the YAML error stays", "kind: Pod: x\n", "mapping values are not allowed"},
	}, func(t *testing.T, c test) {
		_, err := Read([]string{"-"}, strings.NewReader(c.text), Options{})
		require.ErrorContains(t, err, c.want, c.why)
	})
}

// Objects of older versions of the group of devices are read as those of v1, with a note.
func TestOldDevices(t *testing.T) {
	const slice = "kind: ResourceSlice, metadata: {name: s}, spec: {driver: gpu, nodeName: n1, pool: {name: n1, generation: 1, resourceSliceCount: 1}, devices: [{name: d, "
	const template = "kind: ResourceClaimTemplate, metadata: {name: t}, spec: {spec: {devices: {requests: [{name: r, "
	read := func(text string) *Objects {
		o, err := Read([]string{"-"}, strings.NewReader(text), Options{Strict: true})
		require.NoError(t, err)
		return o
	}
	want := read("{apiVersion: resource.k8s.io/v1, " + slice + "attributes: {type: {string: gpu}}, capacity: {memory: {value: 80Gi}}}]}}\n---\n{apiVersion: resource.k8s.io/v1, " + template + "exactly: {deviceClassName: gpu}}]}}}}")
	for _, version := range []string{"v1beta1", "v1beta2"} {
		device, request := "basic: {attributes: {type: {string: gpu}}, capacity: {memory: {value: 80Gi}}}}]}}", "deviceClassName: gpu}]}}}}"
		if version == "v1beta2" {
			device, request = "attributes: {type: {string: gpu}}, capacity: {memory: {value: 80Gi}}}]}}", "exactly: {deviceClassName: gpu}}]}}}}"
		}
		got := read("{apiVersion: resource.k8s.io/" + version + ", " + slice + device + "\n---\n{apiVersion: resource.k8s.io/" + version + ", " + template + request)
		require.Equal(t, want.ResourceSlices, got.ResourceSlices, version)
		require.Equal(t, want.ResourceClaimTemplates, got.ResourceClaimTemplates, version)
		require.Len(t, got.Warnings.Texts(), 2, version)
	}
	_, err := Read([]string{"-"}, strings.NewReader("{apiVersion: resource.k8s.io/v1alpha2, kind: ResourceClaim, metadata: {name: c}}"), Options{})
	require.ErrorContains(t, err, `apiVersion: Unsupported value: "resource.k8s.io/v1alpha2": must be resource.k8s.io/v1`)
}

// A ConfigMap holds the configuration in the one value that has its kind.
func TestInConfigMap(t *testing.T) {
	const group, kind = "kubescheduler.config.k8s.io", "KubeSchedulerConfiguration"
	const value = "apiVersion: kubescheduler.config.k8s.io/v1\n    kind: KubeSchedulerConfiguration\n"
	const head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata:\n"
	got, err := InConfigMap([]byte(head+"  other: x\n  a: |\n    "+value), group, kind)
	require.NoError(t, err)
	require.Equal(t, "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n", string(got))
	got, err = InConfigMap([]byte("kind: Policy"), group, kind)
	require.NoError(t, err)
	require.Equal(t, "kind: Policy", string(got))
	_, err = InConfigMap([]byte(head+"  a: x\n"), group, kind)
	require.EqualError(t, err, "ConfigMap m: data: Required value: no value is a KubeSchedulerConfiguration")
	_, err = InConfigMap([]byte(head+"  a: |\n    "+value+"  b: |\n    "+value), group, kind)
	require.ErrorContains(t, err, "a, b are each a KubeSchedulerConfiguration")
}

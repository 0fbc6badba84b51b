package pressure

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The answer of /configz and a ConfigMap are read as the configuration that they hold.
func TestWrappedConfigurations(t *testing.T) {
	for name, text := range map[string]string{
		"plain":     "{kind: KubeletConfiguration, apiVersion: kubelet.config.k8s.io/v1beta1, evictionHard: {memory.available: 100Mi}}",
		"configz":   `{"kubeletconfig":{"evictionHard":{"memory.available":"100Mi"}}}`,
		"ConfigMap": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata:\n  kubelet: |\n    kind: KubeletConfiguration\n    apiVersion: kubelet.config.k8s.io/v1beta1\n    evictionHard: {memory.available: 100Mi}\n",
	} {
		text, err := kubeletText([]byte(text))
		require.NoError(t, err, name)
		require.Contains(t, string(text), "100Mi", name)
		require.Contains(t, string(text), kubeletKind, name)
		require.NotContains(t, string(text), "ConfigMap", name)
	}
	_, err := kubeletText([]byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {a: b}\n"))
	require.EqualError(t, err, "ConfigMap m: data: Required value: no value is a KubeletConfiguration")
}

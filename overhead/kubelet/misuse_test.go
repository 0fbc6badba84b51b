package kubelet

import (
	"testing"

	"github.com/podberth/podberth/internal/testkit"
)

// Nil, zero and extreme arguments give an error or the zero answer, except for nil objects of an admission.
func TestMisuse(t *testing.T) {
	testkit.Misuse(t, map[string]any{
		"Admission":   func() Admission { return Admission{} },
		"OOMOrder":    OOMOrder,
		"OOMScoreAdj": OOMScoreAdj,
		"PodCgroup":   PodCgroup,
		"QoS":         QoS,
		"Sandbox":     Sandbox,
	}, map[string]string{"Admission.Admit": "pods and nodes must not be nil"})
}

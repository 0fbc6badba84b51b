package rules

import (
	"testing"

	"github.com/stretchr/testify/require"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

// What decides when an extender is asked comes from its configuration, each field from its own.
func TestOf(t *testing.T) {
	x := &configv1.Extender{FilterVerb: "f", PreemptVerb: "p", PrioritizeVerb: "s", BindVerb: "b", Weight: 3, Ignorable: true,
		ManagedResources: []configv1.ExtenderManagedResource{{Name: "example.com/x", IgnoredByScheduler: true}}}
	require.Equal(t, Extender{FilterVerb: "f", PreemptVerb: "p", PrioritizeVerb: "s", BindVerb: "b", Weight: 3, Ignorable: true,
		ManagedResources: []ManagedResource{{Name: "example.com/x", IgnoredByScheduler: true}}}, Of(x))
	require.Equal(t, Extender{}, Of(&configv1.Extender{}))
}
